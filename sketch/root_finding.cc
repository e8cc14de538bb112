#include "sketch/root_finding.h"

#include <algorithm>
#include <cassert>
#include <utility>

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

class Splitter {
 public:
  Splitter(const Field& field, std::vector<uint32_t>* roots)
      : field_(field), roots_(roots) {}

  // `powers[i]` is x^(2^i) mod f. All traces of basis elements below `basis`
  // are constant on the roots of f, so they cannot split it.
  void Split(const Polynomial& f, const std::vector<Polynomial>& powers,
             int basis) {
    const size_t degree = f.size() - 1;
    if (degree == 1) {
      roots_->push_back(f[0]);
      return;
    }
    for (; basis < field_.bits(); ++basis) {
      Polynomial trace(degree, 0);
      uint32_t beta = uint32_t{1} << basis;
      for (const Polynomial& power : powers) {
        field_.AddScaled(beta, power.data(), trace.data(), power.size());
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
  void SplitPart(const Polynomial& f, const std::vector<Polynomial>& powers,
                 int basis) {
    if (f.size() == 2) {
      roots_->push_back(f[0]);
      return;
    }
    std::vector<Polynomial> reduced = powers;
    for (Polynomial& power : reduced) Divide(field_, f, &power, nullptr);
    Split(f, reduced, basis);
  }

  const Field& field_;
  std::vector<uint32_t>* const roots_;
};

}  // namespace

bool FindRoots(const Field& field, const Polynomial& f,
               std::vector<uint32_t>* roots) {
  assert(f.size() >= 2 && f.back() == 1);
  roots->clear();
  const size_t degree = f.size() - 1;
  if (degree == 1) {
    roots->push_back(f[0]);
    return true;
  }
  const SquareModulo square(field, f);
  std::vector<Polynomial> powers;
  powers.reserve(field.bits());
  Polynomial power(degree, 0);
  power[1] = 1;
  const Polynomial x = power;
  for (int i = 0; i < field.bits(); ++i) {
    Polynomial next = square.Square(power);
    powers.push_back(std::move(power));
    power = std::move(next);
  }
  // f divides x^(2^w) - x just if it has only distinct roots in the field.
  if (power != x) return false;
  Splitter(field, roots).Split(f, powers, 0);
  return roots->size() == degree;
}

}  // namespace rocksync
