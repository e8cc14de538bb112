#include "sketch/root_finding.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include "sketch/quadratic_equations.h"

namespace rocksync {
namespace {

void Trim(Polynomial* f) {
  while (!f->empty() && f->back() == 0) f->pop_back();
}

// `f` reduced modulo the monic `g`; the quotient's coefficients stay in the
// upper part of `f` if `quotient` is wanted.
void Divide(const Field& field, const Polynomial& g, Polynomial* f,
            Polynomial* quotient) {
  const size_t degree = g.size() - 1;
  for (size_t top = f->size(); top-- > degree;) {
    const uint32_t factor = (*f)[top];
    if (factor != 0) {
      field.AddScaled(factor, g.data(), f->data() + top - degree, degree);
    }
  }
  if (f->size() > degree) {
    if (quotient != nullptr) quotient->assign(f->begin() + degree, f->end());
    f->resize(degree);
  }
  Trim(f);
}

void MakeMonic(const Field& field, Polynomial* f) {
  const uint32_t lead = f->back();
  if (lead == 1) return;
  const uint32_t inverse = field.Inverse(lead);
  Polynomial scaled(f->size(), 0);
  field.AddScaled(inverse, f->data(), scaled.data(), f->size());
  f->swap(scaled);
}

// Monic greatest common divisor of the monic `a` and any `b`.
Polynomial GreatestCommonDivisor(const Field& field, Polynomial a,
                                 Polynomial b) {
  while (!b.empty()) {
    MakeMonic(field, &b);
    Divide(field, b, &a, nullptr);
    std::swap(a, b);
  }
  return a;
}

// Squaring modulo a fixed polynomial: the square has even powers only, and the
// residues of those above the modulus are computed once.
class SquareModulo {
 public:
  SquareModulo(const Field& field, const Polynomial& f)
      : field_(field), degree_(f.size() - 1) {
    // The residue of x^k, from k = degree on.
    Polynomial residue(f.begin(), f.end() - 1);
    for (size_t k = degree_; k <= 2 * degree_ - 2; ++k) {
      if (k % 2 == 0) {
        residues_.insert(residues_.end(), residue.begin(), residue.end());
      }
      const uint32_t top = residue.back();
      for (size_t i = degree_ - 1; i > 0; --i) residue[i] = residue[i - 1];
      residue[0] = 0;
      if (top != 0) field.AddScaled(top, f.data(), residue.data(), degree_);
    }
  }

  // `a` has exactly `degree` coefficients, and so has the result.
  Polynomial Square(const Polynomial& a) const {
    Polynomial result(degree_, 0);
    size_t i = 0;
    for (; 2 * i < degree_; ++i) result[2 * i] = field_.Square(a[i]);
    const uint32_t* residue = residues_.data();
    for (; i < degree_; ++i, residue += degree_) {
      if (a[i] == 0) continue;
      field_.AddScaled(field_.Square(a[i]), residue, result.data(), degree_);
    }
    return result;
  }

 private:
  const Field& field_;
  const size_t degree_;
  std::vector<uint32_t> residues_;  // rows of degree_
};

// The powers x^(2^i) modulo a polynomial: rows of as many coefficients as its
// degree.
struct Powers {
  size_t degree = 0;
  std::vector<uint32_t> coefficients;
  size_t size() const { return coefficients.size() / degree; }
  const uint32_t* row(size_t i) const { return &coefficients[i * degree]; }
};

// Modulo a divisor of what they were modulo so far.
Powers Reduce(const Field& field, const Powers& powers, const Polynomial& f) {
  Powers reduced;
  reduced.degree = f.size() - 1;
  reduced.coefficients.resize(powers.size() * reduced.degree);
  std::vector<uint32_t> row(powers.degree);
  for (size_t i = 0; i < powers.size(); ++i) {
    std::copy_n(powers.row(i), powers.degree, row.begin());
    for (size_t top = powers.degree; top-- > reduced.degree;) {
      if (row[top] == 0) continue;
      field.AddScaled(row[top], f.data(), &row[top - reduced.degree],
                      reduced.degree);
    }
    std::copy_n(row.begin(), reduced.degree,
                &reduced.coefficients[i * reduced.degree]);
  }
  return reduced;
}

class Splitter {
 public:
  Splitter(const Field& field, std::vector<uint32_t>* roots)
      : field_(field), quadratic_(field), roots_(roots) {}

  // False if f, of degree 1 or 2, has no distinct roots.
  bool Solve(const Polynomial& f) {
    if (f.size() == 2) {
      roots_->push_back(f[0]);
      return true;
    }
    const std::optional<uint32_t> root = quadratic_.Solve(f[1], f[0]);
    if (!root) return false;
    roots_->push_back(*root);
    roots_->push_back(*root ^ f[1]);
    return true;
  }

  // f has a degree of 3 at least and distinct roots, and `powers` are modulo
  // f. All traces of basis elements below `basis` are constant on the roots of
  // f, so they cannot split it.
  void Split(const Polynomial& f, const Powers& powers, int basis) {
    for (; basis < field_.bits(); ++basis) {
      Polynomial trace(powers.degree, 0);
      uint32_t beta = uint32_t{1} << basis;
      for (size_t i = 0; i < powers.size(); ++i) {
        field_.AddScaled(beta, powers.row(i), trace.data(), powers.degree);
        beta = field_.Square(beta);
      }
      Trim(&trace);
      if (trace.size() <= 1) continue;
      const Polynomial factor =
          GreatestCommonDivisor(field_, f, std::move(trace));
      if (factor.size() == 1 || factor.size() == f.size()) continue;
      Polynomial rest = f;
      Polynomial quotient;
      Divide(field_, factor, &rest, &quotient);
      SplitPart(factor, powers, basis + 1);
      SplitPart(quotient, powers, basis + 1);
      return;
    }
    // Distinct roots differ in the trace of some basis element.
    assert(false);
  }

 private:
  void SplitPart(const Polynomial& f, const Powers& powers, int basis) {
    if (f.size() <= 3) {
      Solve(f);
    } else {
      Split(f, Reduce(field_, powers, f), basis);
    }
  }

  const Field& field_;
  const QuadraticEquations quadratic_;
  std::vector<uint32_t>* const roots_;
};

}  // namespace

bool FindRoots(const Field& field, const Polynomial& f,
               std::vector<uint32_t>* roots) {
  assert(f.size() >= 2 && f.back() == 1);
  roots->clear();
  const size_t degree = f.size() - 1;
  Splitter splitter(field, roots);
  if (degree <= 2) return splitter.Solve(f);
  const SquareModulo square(field, f);
  Powers powers;
  powers.degree = degree;
  powers.coefficients.reserve(static_cast<size_t>(field.bits()) * degree);
  Polynomial power(degree, 0);
  power[1] = 1;
  const Polynomial x = power;
  for (int i = 0; i < field.bits(); ++i) {
    powers.coefficients.insert(powers.coefficients.end(), power.begin(),
                               power.end());
    power = square.Square(power);
  }
  // f divides x^(2^w) - x just if it has only distinct roots in the field.
  if (power != x) return false;
  splitter.Split(f, powers, 0);
  return roots->size() == degree;
}

}  // namespace rocksync
