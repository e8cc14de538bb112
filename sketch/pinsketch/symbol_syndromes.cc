#include "sketch/pinsketch/symbol_syndromes.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

#include "sketch/pinsketch/root_finding.h"

namespace rocksync {
namespace {

uint32_t Power(const Field& field, uint32_t base, uint32_t exponent) {
  uint32_t power = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) power = field.Multiply(power, base);
    base = field.Square(base);
  }
  return power;
}

// Returns the shortest linear recurrence of the syndromes (Massey,
// "Shift-register synthesis and BCH decoding", 1969), as a multiple of the
// product of (1 - x locator), lowest coefficient first. It is empty if it is
// longer than half of them, or not as long as it should be.
Polynomial ShortestRecurrence(const Field& field,
                              std::span<const uint32_t> syndromes) {
  const size_t n = syndromes.size();
  // Reversed, so that a discrepancy is one dot product.
  const Polynomial reversed(syndromes.rbegin(), syndromes.rend());
  Polynomial current = {1};
  Polynomial previous = {1};
  uint32_t previous_discrepancy = 1;
  size_t length = 0;
  size_t gap = 1;  // steps since `previous` was current
  for (size_t k = 1; k <= n; ++k, ++gap) {
    const uint32_t discrepancy = field.Dot(current.data(), &reversed[n - k],
                                           std::min(current.size(), k));
    if (discrepancy == 0) continue;
    const bool longer = 2 * length < k;
    Polynomial saved;
    if (longer) saved = current;
    if (current.size() < previous.size() + gap) {
      current.resize(previous.size() + gap, 0);
    }
    field.Scale(previous_discrepancy, current.data(), current.size());
    field.AddScaled(discrepancy, previous.data(), current.data() + gap,
                    previous.size());
    if (!longer) continue;
    length = k - length;
    if (length > n / 2) return {};
    previous = std::move(saved);
    previous_discrepancy = discrepancy;
    gap = 0;
  }
  while (current.back() == 0) current.pop_back();
  if (current.size() != length + 1) return {};
  return current;
}

uint32_t Evaluate(const Field& field, const Polynomial& f, uint32_t x) {
  uint32_t value = 0;
  for (size_t i = f.size(); i-- > 0;) value = field.Multiply(value, x) ^ f[i];
  return value;
}

// Finds the values at the locators (Forney, "On decoding BCH codes", 1965):
// with W(x) = S(x) R(x) mod x^deg R, the value at locator a is a W(1/a) /
// R'(1/a).
class ValueFinder {
 public:
  ValueFinder(const Field& field, std::span<const uint32_t> syndromes,
              const Polynomial& recurrence)
      : field_(field), derivative_(recurrence.size() - 1, 0) {
    const size_t degree = recurrence.size() - 1;
    for (size_t i = 0; i < degree; ++i) {
      uint32_t sum = 0;
      for (size_t j = 0; j <= i; ++j) {
        sum ^= field_.Multiply(recurrence[j], syndromes[i - j]);
      }
      evaluator_.push_back(sum);
    }
    for (size_t i = 0; i < degree; i += 2) derivative_[i] = recurrence[i + 1];
  }

  uint32_t At(uint32_t locator) const {
    const uint32_t x = field_.Inverse(locator);
    const uint32_t divisor = Evaluate(field_, derivative_, x);
    if (divisor == 0) return 0;  // not a simple root: not a locator
    return field_.Multiply(
        field_.Multiply(locator, Evaluate(field_, evaluator_, x)),
        field_.Inverse(divisor));
  }

 private:
  const Field& field_;
  Polynomial evaluator_;
  Polynomial derivative_;
};

Polynomial Times(const Field& field, const Polynomial& a, const Polynomial& b) {
  Polynomial product(a.size() + b.size() - 1, 0);
  for (size_t i = 0; i < b.size(); ++i) {
    field.AddScaled(b[i], a.data(), &product[i], a.size());
  }
  return product;
}

// Returns the product of (1 - x locator) over all places.
Polynomial ProductOfPlaces(const Field& field,
                           std::span<const uint32_t> places) {
  Polynomial product = {1};
  for (const uint32_t place : places) {
    product.push_back(0);
    for (size_t i = product.size(); i-- > 1;) {
      product[i] ^= field.Multiply(product[i - 1], place + 1);
    }
  }
  return product;
}

// Finds the locators of differences at places that are not among the `known`.
// Times the product of these, the syndromes become 0 from its degree on but for
// what other places add: what is left are syndromes of those alone, times
// factors. Sets `*product` to the product of (1 - x locator).
bool FindOthers(const Field& field, std::span<const uint32_t> syndromes,
                const Polynomial& known, Polynomial* product,
                std::vector<uint32_t>* locators) {
  *product = {1};
  const size_t degree = known.size() - 1;
  const Polynomial reversed(known.rbegin(), known.rend());
  std::vector<uint32_t> rest;
  for (size_t i = degree; i < syndromes.size(); ++i) {
    rest.push_back(
        field.Dot(reversed.data(), &syndromes[i - degree], known.size()));
  }
  if (std::all_of(rest.begin(), rest.end(),
                  [](uint32_t syndrome) { return syndrome == 0; })) {
    return true;
  }
  *product = ShortestRecurrence(field, rest);
  if (product->size() < 2) return false;
  // The recurrence is a multiple of the product of (1 - x a); reversed, of (x -
  // a).
  Polynomial locator(product->rbegin(), product->rend());
  field.Scale(field.Inverse(locator.back()), locator.data(), locator.size());
  return FindRoots(field, locator, locators);
}

// Places of one block, see BlockedSyndromes.
constexpr size_t kBlock = 256;

// Returns a row for each exponent below `exponents`, which holds that power of
// 0, step, 2 step, ..., `n` of them. 0^0 is 1.
std::vector<uint32_t> PowerRows(const Field& field, uint32_t step, size_t n,
                                uint32_t exponents) {
  std::vector<uint32_t> bases(n);
  for (size_t i = 0; i < n; ++i) bases[i] = static_cast<uint32_t>(i) * step;
  std::vector<uint32_t> rows(n * exponents, 1);
  for (uint32_t e = 1; e < exponents; ++e) {
    uint32_t* const row = &rows[e * n];
    std::copy_n(row - n, n, row);
    field.MultiplyEach(bases.data(), row, n);
  }
  return rows;
}

// Returns the syndromes first .. first + count - 1 of one long group. A place h
// + l, with h a multiple of kBlock and l below it, is h ^ l; and (h ^ l)^j is
// the sum of h^(j - i) * l^i over the i whose bits are among those of j: in
// characteristic 2 the other binomials are even (Lucas). So the powers l^i are
// the same for every block, and a symbol takes one product a syndrome that need
// not be reduced.
std::vector<uint32_t> BlockedSyndromes(const Field& field,
                                       std::span<const uint32_t> symbols,
                                       uint32_t first, uint32_t count) {
  const uint32_t end = first + count;
  // The places begin with 1.
  const size_t blocks = symbols.size() / kBlock + 1;
  std::vector<uint32_t> placed(blocks * kBlock, 0);
  std::copy(symbols.begin(), symbols.end(), placed.begin() + 1);
  const std::vector<uint32_t> low = PowerRows(field, 1, kBlock, end);
  std::vector<uint32_t> sums(end * blocks);
  for (size_t block = 0; block < blocks; ++block) {
    for (uint32_t i = 0; i < end; ++i) {
      sums[i * blocks + block] =
          field.Dot(&low[i * kBlock], &placed[block * kBlock], kBlock);
    }
  }
  const std::vector<uint32_t> high = PowerRows(field, kBlock, blocks, end);
  std::vector<uint32_t> syndromes(count, 0);
  for (uint32_t j = first; j < end; ++j) {
    // All i whose bits are among those of j, down to 0.
    for (uint32_t i = j;; i = (i - 1) & j) {
      syndromes[j - first] ^=
          field.Dot(&high[(j - i) * blocks], &sums[i * blocks], blocks);
      if (i == 0) break;
    }
  }
  return syndromes;
}

}  // namespace

std::vector<uint32_t> SymbolSyndromes(const Field& field,
                                      std::span<const uint32_t> symbols,
                                      size_t group_places, uint32_t first,
                                      uint32_t count) {
  assert(group_places <= field.mask());
  const size_t groups = symbols.size() / group_places;
  if (groups == 1 && group_places > kBlock) {
    return BlockedSyndromes(field, symbols, first, count);
  }
  std::vector<uint32_t> places(group_places);
  std::iota(places.begin(), places.end(), 1);
  std::vector<uint32_t> powers(group_places);
  for (size_t i = 0; i < group_places; ++i) {
    powers[i] = Power(field, places[i], first);
  }
  std::vector<uint32_t> syndromes(groups * count);
  for (uint32_t j = 0; j < count; ++j) {
    for (size_t group = 0; group < groups; ++group) {
      syndromes[group * count + j] = field.Dot(
          powers.data(), &symbols[group * group_places], group_places);
    }
    field.MultiplyEach(places.data(), powers.data(), group_places);
  }
  return syndromes;
}

bool DecodeSymbols(const Field& field, std::span<const uint32_t> syndromes,
                   size_t places, std::vector<SymbolDifference>* differences) {
  return DecodeSymbols(field, syndromes, places, {}, differences);
}

bool DecodeSymbols(const Field& field, std::span<const uint32_t> syndromes,
                   size_t places, std::span<const uint32_t> doubtful,
                   std::vector<SymbolDifference>* differences) {
  differences->clear();
  if (syndromes.size() < doubtful.size()) return false;
  const Polynomial known = ProductOfPlaces(field, doubtful);
  Polynomial unknown;
  std::vector<uint32_t> locators;
  if (!FindOthers(field, syndromes, known, &unknown, &locators)) return false;
  for (const uint32_t locator : locators) {
    if (locator == 0 || locator > places) return false;
    if (std::binary_search(doubtful.begin(), doubtful.end(), locator - 1)) {
      return false;
    }
  }
  const ValueFinder values(field, syndromes, Times(field, known, unknown));
  for (const uint32_t locator : locators) {
    const uint32_t value = values.At(locator);
    if (value == 0) return false;
    differences->push_back({locator - 1, value});
  }
  for (const uint32_t place : doubtful) {
    differences->push_back({place, values.At(place + 1)});
  }
  std::sort(differences->begin(), differences->end(),
            [](const SymbolDifference& a, const SymbolDifference& b) {
              return a.place < b.place;
            });
  return true;
}

}  // namespace rocksync
