#include "sketch/pinsketch/root_finding.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace rocksync {
namespace {

void Trim(Polynomial* f) {
  while (!f->empty() && f->back() == 0) f->pop_back();
}

// Reduces `f` modulo the monic `g`. Sets `*quotient`, if wanted, to the
// quotient, whose coefficients are left in the upper part of `f`.
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

// Reduces a multiple of `f` modulo `g`, without an inverse, which takes as long
// as ten such steps.
void PseudoReduce(const Field& field, const Polynomial& g, Polynomial* f) {
  const size_t degree = g.size() - 1;
  for (size_t top = f->size(); top-- > degree;) {
    const uint32_t factor = (*f)[top];
    if (factor == 0) continue;
    field.Scale(g.back(), f->data(), top);
    field.AddScaled(factor, g.data(), f->data() + top - degree, degree);
  }
  if (f->size() > degree) f->resize(degree);
  Trim(f);
}

// Returns the monic greatest common divisor; `a` is not 0.
Polynomial GreatestCommonDivisor(const Field& field, Polynomial a,
                                 Polynomial b) {
  while (!b.empty()) {
    PseudoReduce(field, b, &a);
    std::swap(a, b);
  }
  field.Scale(field.Inverse(a.back()), a.data(), a.size());
  return a;
}

// Returns the residues of x^k modulo the monic `f`, for k = first, first + step
// and so on below `end`: rows of as many coefficients as the degree of `f`,
// which is at most `first`.
std::vector<uint32_t> Residues(const Field& field, const Polynomial& f,
                               size_t first, size_t step, size_t end) {
  const size_t degree = f.size() - 1;
  std::vector<uint32_t> rows;
  // Growing by doubling would take three times the memory for a moment.
  if (end > first) rows.reserve(((end - first - 1) / step + 1) * degree);
  Polynomial residue(f.begin(), f.end() - 1);  // of x^degree
  for (size_t k = degree; k < end; ++k) {
    if (k >= first && (k - first) % step == 0) {
      rows.insert(rows.end(), residue.begin(), residue.end());
    }
    const uint32_t top = residue.back();
    std::copy_backward(residue.begin(), residue.end() - 1, residue.end());
    residue[0] = 0;
    if (top != 0) field.AddScaled(top, f.data(), residue.data(), degree);
  }
  return rows;
}

// Squares modulo a fixed polynomial: a square has even powers only, and the
// residues of those above the modulus are computed once.
class SquareModulo {
 public:
  SquareModulo(const Field& field, const Polynomial& f)
      : field_(field),
        degree_(f.size() - 1),
        low_((degree_ + 1) / 2),
        residues_(Residues(field, f, 2 * low_, 2, 2 * degree_ - 1)) {}

  // Returns the square of `a`; both have exactly `degree` coefficients.
  Polynomial Square(const Polynomial& a) const {
    Polynomial result(degree_, 0);
    Polynomial squares(degree_);
    for (size_t i = 0; i < degree_; ++i) squares[i] = field_.Square(a[i]);
    for (size_t i = 0; i < low_; ++i) result[2 * i] = squares[i];
    field_.AddProducts(&squares[low_], residues_.data(), degree_,
                       degree_ - low_, result.data(), degree_);
    return result;
  }

 private:
  const Field& field_;
  const size_t degree_;
  const size_t low_;  // coefficients whose squares stay below the modulus
  const std::vector<uint32_t> residues_;
};

// The powers x^(2^i) modulo a polynomial: rows of as many coefficients as its
// degree.
struct Powers {
  size_t degree = 0;
  std::vector<uint32_t> coefficients;
  size_t size() const { return coefficients.size() / degree; }
  const uint32_t* row(size_t i) const { return &coefficients[i * degree]; }
};

// Reduces powers modulo a divisor of the polynomial they are modulo so far.
Powers Reduce(const Field& field, const Powers& powers, const Polynomial& f) {
  Powers reduced;
  reduced.degree = f.size() - 1;
  reduced.coefficients.resize(powers.size() * reduced.degree);
  const std::vector<uint32_t> residues =
      Residues(field, f, reduced.degree, 1, powers.degree);
  for (size_t i = 0; i < powers.size(); ++i) {
    uint32_t* const row = &reduced.coefficients[i * reduced.degree];
    std::copy_n(powers.row(i), reduced.degree, row);
    field.AddProducts(powers.row(i) + reduced.degree, residues.data(),
                      reduced.degree, powers.degree - reduced.degree, row,
                      reduced.degree);
  }
  return reduced;
}

// Computes x^(2^i) modulo f, for all i below the field's bits. Returns false if
// f has other roots than distinct ones in the field: otherwise it divides
// x^(2^w) - x.
bool PowersOfX(const Field& field, const Polynomial& f, Powers* powers) {
  // `square` is freed before the splitting begins, which takes memory of its
  // own.
  const SquareModulo square(field, f);
  powers->degree = f.size() - 1;
  powers->coefficients.reserve(static_cast<size_t>(field.bits()) *
                               powers->degree);
  Polynomial power(powers->degree, 0);
  power[1] = 1;
  const Polynomial x = power;
  for (int i = 0; i < field.bits(); ++i) {
    powers->coefficients.insert(powers->coefficients.end(), power.begin(),
                                power.end());
    power = square.Square(power);
  }
  return power == x;
}

class Splitter {
 public:
  Splitter(const Field& field, std::vector<uint32_t>* roots)
      : field_(field), roots_(roots) {}

  // Splits f, which has a degree of 2 at least and distinct roots; `powers` are
  // modulo f. All traces of basis elements below `basis` are constant on the
  // roots of f, so they cannot split it.
  void Split(const Polynomial& f, const Powers& powers, int basis) {
    for (; basis < field_.bits(); ++basis) {
      std::vector<uint32_t> conjugates = {uint32_t{1} << basis};
      while (conjugates.size() < powers.size()) {
        conjugates.push_back(field_.Square(conjugates.back()));
      }
      Polynomial trace(powers.degree, 0);
      field_.AddProducts(conjugates.data(), powers.row(0), powers.degree,
                         powers.size(), trace.data(), powers.degree);
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
    if (f.size() == 2) {
      roots_->push_back(f[0]);
    } else {
      Split(f, Reduce(field_, powers, f), basis);
    }
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
  Powers powers;
  if (!PowersOfX(field, f, &powers)) return false;
  Splitter(field, roots).Split(f, powers, 0);
  return roots->size() == degree;
}

}  // namespace rocksync
