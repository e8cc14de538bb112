#include "sketch/parities/coupled_decoder.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "sketch/element/bit_stream.h"
#include "sketch/parities/coupled_kernels.h"

namespace rocksync {
namespace {

// The most sweeps; what is undecided then stays so.
constexpr uint32_t kMaxSweeps = 120;
// A window is skipped if its beliefs and those of its neighbours have changed
// by less than this share of what missing elements could change them by.
constexpr float kAtRest = 0.1f;
// The belief in an element that is as likely missing as not; never 0.
constexpr float kUndecided = 1e-3f;
// The most reliability of a cell's parity.
constexpr double kMaxReliable = 0.999999;

}  // namespace

CoupledDecoder::CoupledDecoder(const CoupledMembers& members,
                               const CoupledKeys& keys,
                               const CoupledShape& shape)
    : ordinals_(members.size()),
      shape_(shape),
      begin_(shape.windows + 1, 0),
      odd_(2 * shape.total_cells(), 0),
      own_(2 * shape.total_cells(), 0) {
  Place(members, keys);
}

// Sorts the elements by window in two passes: one counts, one places.
void CoupledDecoder::Place(const CoupledMembers& members,
                           const CoupledKeys& keys) {
  for (size_t i = 0; i < members.size(); ++i) {
    if (!members.HasCells(i)) continue;
    ++begin_[PlaceCoupled(members.Placed(i), keys, shape_).window + 1];
  }
  for (uint32_t w = 0; w < shape_.windows; ++w) begin_[w + 1] += begin_[w];
  const size_t count = begin_.back();
  ordinal_.resize(count);
  second_half_.resize(count);
  missing_.resize(count, 0);
  for (auto& cells : cell_) cells.resize(count);
  std::vector<uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (size_t i = 0; i < members.size(); ++i) {
    if (!members.HasCells(i)) continue;
    const CoupledPlace place = PlaceCoupled(members.Placed(i), keys, shape_);
    const uint8_t counts = members.Counts(i) ? 1 : 0;
    const uint32_t at = next[place.window]++;
    ordinal_[at] = static_cast<uint32_t>(i);
    second_half_[at] = place.second_half;
    for (uint32_t j = 0; j < kCoupledCells; ++j) {
      cell_[j][at] = place.cell[j];
      const uint64_t row =
          (uint64_t{place.window} + j) * 2 + (place.second_half >> j & 1);
      own_[row * shape_.cells + place.cell[j]] ^= counts;
    }
  }
}

bool CoupledDecoder::TakeCells(std::string_view bits) {
  if (bits.size() != CoupledBytes(shape_.total_cells())) return false;
  BitReader reader(bits);
  for (uint32_t segment = 0; segment < shape_.segments(); ++segment) {
    const uint64_t first = uint64_t{segment} * 2 * shape_.cells;
    const uint64_t second = first + shape_.cells;
    for (uint32_t cell = 0; cell < shape_.cells; ++cell) {
      uint64_t bit = 0;
      if (!reader.Get(1, &bit)) return false;
      odd_[first + cell] =
          static_cast<uint8_t>(bit) ^ own_[first + cell] ^ own_[second + cell];
    }
  }
  return reader.AtEnd();
}

bool CoupledDecoder::ReceiveSplits(uint32_t to, std::string_view bits) {
  if (to <= split_ || to > shape_.cells) return false;
  const uint64_t count = to - split_;
  if (bits.size() != CoupledBytes(count * shape_.segments())) return false;
  BitReader reader(bits);
  for (uint32_t segment = 0; segment < shape_.segments(); ++segment) {
    const uint64_t first = uint64_t{segment} * 2 * shape_.cells;
    const uint64_t second = first + shape_.cells;
    for (uint32_t cell = split_; cell < to; ++cell) {
      uint64_t bit = 0;
      if (!reader.Get(1, &bit)) return false;
      const uint8_t odd = static_cast<uint8_t>(bit) ^ own_[second + cell];
      odd_[second + cell] = odd;
      odd_[first + cell] ^= odd;
    }
  }
  if (!reader.AtEnd()) return false;
  for (uint32_t j = 0; j < kCoupledCells; ++j) {
    for (size_t i = 0; i < cell_[j].size(); ++i) {
      const uint32_t cell = cell_[j][i];
      if ((second_half_[i] >> j & 1) != 0 && cell >= split_ && cell < to) {
        cell_[j][i] = static_cast<uint16_t>(cell + shape_.cells);
      }
    }
  }
  split_ = to;
  return true;
}

double CoupledDecoder::EstimateDifferences() const {
  const uint64_t odd =
      static_cast<uint64_t>(std::count(odd_.begin(), odd_.end(), 1));
  // A cell that gets Poisson(x) elements is odd with probability
  // (1 - e^-2x) / 2. Segments at the ends get fewer.
  const auto expected_odd = [&](double differences) {
    double sum = 0;
    for (uint32_t s = 0; s < shape_.segments(); ++s) {
      const uint32_t first = s < kCoupledCells ? 0 : s - kCoupledCells + 1;
      const uint32_t last = std::min(s, shape_.windows - 1);
      const double elements = differences * (last - first + 1) / shape_.windows;
      const double mean = elements / shape_.cells;
      sum += -std::expm1(-2 * mean) / 2 * (shape_.cells - split_) -
             std::expm1(-mean) * split_;
    }
    return sum;
  };
  double low = 0;
  double high = 2 * static_cast<double>(shape_.total_cells());
  if (expected_odd(high) <= static_cast<double>(odd)) return INFINITY;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (expected_odd(middle) < static_cast<double>(odd) ? low : high) = middle;
  }
  return high;
}

// Multiplies what the elements of a window tell the cells of its segments.
void CoupledDecoder::Contribute(uint32_t window) {
  for (uint32_t j = 0; j < kCoupledCells; ++j) {
    float* const row =
        &contribution_[(size_t{window} * kCoupledCells + j) * stride()];
    std::fill(row, row + stride(), 1.0f);
    const uint16_t* const cells = cell_[j].data();
    const float* const beliefs = belief_[j].data();
    for (uint32_t i = begin_[window]; i < begin_[window + 1]; ++i) {
      row[cells[i]] *= beliefs[i];
    }
  }
}

// Multiplies what all elements tell the cells of a segment.
void CoupledDecoder::Collect(uint32_t segment) {
  const float* rows[kCoupledCells];
  size_t row_count = 0;
  for (uint32_t j = 0; j < kCoupledCells; ++j) {
    if (segment < j || segment - j >= shape_.windows) continue;
    const size_t window = segment - j;
    rows[row_count++] = &contribution_[(window * kCoupledCells + j) * stride()];
  }
  const size_t at = size_t{segment} * stride();
  MultiplyRows(&parity_[at], rows, row_count, stride(), &product_[at]);
}

bool CoupledDecoder::Moves(uint32_t window) const {
  const uint32_t reach = kCoupledCells - 1;
  const uint32_t from = window > reach ? window - reach : 0;
  const uint32_t to = std::min(window + reach, shape_.windows - 1);
  for (uint32_t w = from; w <= to; ++w) {
    if (moved_[w] > kAtRest) return true;
  }
  return false;
}

void CoupledDecoder::Update(uint32_t window, float prior) {
  const uint32_t begin = begin_[window];
  CoupledWindow view;
  view.size = begin_[window + 1] - begin;
  std::array<const float*, kCoupledCells> product{};
  for (uint32_t j = 0; j < kCoupledCells; ++j) {
    view.cell[j] = cell_[j].data() + begin;
    view.belief[j] = belief_[j].data() + begin;
    product[j] = &product_[(size_t{window} + j) * stride()];
  }
  if (!doubtful_.empty()) view.doubtful = doubtful_.data() + begin;
  const BeliefUpdate update =
      UpdateBeliefs(view, product, prior, missing_.data() + begin);
  const float scale =
      kCoupledCells * (prior * static_cast<float>(view.size) + 1e-3f);
  moved_[window] = update.change / scale;
  doubt_[window] = update.doubt;
  // Neighbours see the new beliefs at once, so that what is learnt at an end
  // travels through all windows within one sweep.
  Contribute(window);
  for (uint32_t j = 0; j < kCoupledCells; ++j) Collect(window + j);
}

void CoupledDecoder::Doubt(std::span<const uint32_t> doubtful) {
  doubtful_.clear();
  if (doubtful.empty()) return;
  std::vector<bool> among(ordinals_, false);
  for (const uint32_t ordinal : doubtful) among[ordinal] = true;
  doubtful_.reserve(ordinal_.size());
  for (const uint32_t ordinal : ordinal_) {
    doubtful_.push_back(among[ordinal] ? 1 : 0);
  }
}

CoupledDecoder::Outcome CoupledDecoder::Decode(
    double missing, double surplus, std::span<const uint32_t> doubtful) {
  Outcome outcome;
  Doubt(doubtful);
  const double count = static_cast<double>(ordinal_.size());
  if (ordinal_.empty()) {
    outcome.unexplained_cells = CountUnexplained();
    return outcome;
  }
  const double sure = missing - static_cast<double>(doubtful.size()) / 2;
  const double open = count - static_cast<double>(doubtful.size());
  const double p = std::clamp(sure / std::max(open, 1.0), 1e-7, 0.5);
  const float prior = static_cast<float>(p / (1 - p));
  const double total = static_cast<double>(stride()) * shape_.segments();
  const float reliability = static_cast<float>(
      std::min(kMaxReliable, std::exp(-2 * surplus * kCoupledCells / total)));
  contribution_.resize(size_t{shape_.windows} * kCoupledCells * stride());
  product_.resize(size_t{shape_.segments()} * stride());
  parity_.resize(size_t{shape_.segments()} * stride());
  for (uint32_t s = 0; s < shape_.segments(); ++s) {
    const uint8_t* const odd = &odd_[size_t{s} * 2 * shape_.cells];
    float* const parity = &parity_[size_t{s} * stride()];
    for (uint32_t i = 0; i < stride(); ++i) {
      parity[i] = odd[i] != 0 ? -reliability : reliability;
    }
  }
  moved_.assign(shape_.windows, INFINITY);
  doubt_.assign(shape_.windows, 0);
  for (auto& beliefs : belief_) {
    beliefs.assign(ordinal_.size(), (1 - prior) / (1 + prior));
    for (size_t i = 0; i < doubtful_.size(); ++i) {
      if (doubtful_[i] != 0) beliefs[i] = kUndecided;
    }
  }
  for (uint32_t w = 0; w < shape_.windows; ++w) Contribute(w);
  for (uint32_t s = 0; s < shape_.segments(); ++s) Collect(s);

  bool moves = true;
  while (moves && outcome.sweeps < kMaxSweeps) {
    moves = false;
    const bool back = outcome.sweeps++ % 2 == 1;
    for (uint32_t i = 0; i < shape_.windows; ++i) {
      const uint32_t window = back ? shape_.windows - 1 - i : i;
      if (!Moves(window)) continue;
      moves = true;
      Update(window, prior);
    }
  }
  for (size_t i = 0; i < ordinal_.size(); ++i) {
    if (missing_[i] != 0) outcome.missing.push_back(ordinal_[i]);
  }
  std::sort(outcome.missing.begin(), outcome.missing.end());
  outcome.unexplained_cells = CountUnexplained();
  for (const float doubt : doubt_) outcome.expected_errors += doubt;
  return outcome;
}

uint64_t CoupledDecoder::CountUnexplained() const {
  std::vector<uint8_t> left = odd_;
  for (uint32_t w = 0; w < shape_.windows; ++w) {
    for (uint32_t i = begin_[w]; i < begin_[w + 1]; ++i) {
      if (missing_[i] == 0) continue;
      for (uint32_t j = 0; j < kCoupledCells; ++j) {
        left[(size_t{w} + j) * 2 * shape_.cells + cell_[j][i]] ^= 1;
      }
    }
  }
  return static_cast<uint64_t>(std::count(left.begin(), left.end(), 1));
}

}  // namespace rocksync
