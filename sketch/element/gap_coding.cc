#include "sketch/element/gap_coding.h"

#include "sketch/element/mapping.h"

namespace rocksync {
namespace {

int RiceParameter(uint64_t count, uint64_t range) {
  int k = 0;
  while (k < 40 && (Uint128{count} << (k + 1 + 16)) <= Uint128{range} * 45426) {
    ++k;
  }
  return k;
}

}  // namespace

void PutPositions(std::span<const uint64_t> positions, uint64_t range,
                  BitWriter* out) {
  const int k = RiceParameter(positions.size(), range);
  uint64_t next = 0;
  for (const uint64_t position : positions) {
    const uint64_t gap = position - next;
    next = position + 1;
    uint64_t ones = gap >> k;
    for (; ones >= 32; ones -= 32) out->Put(0xffffffff, 32);
    out->Put((uint64_t{1} << ones) - 1, static_cast<int>(ones) + 1);
    out->Put(gap & ((uint64_t{1} << k) - 1), k);
  }
}

bool GetPositions(uint64_t count, uint64_t range, BitReader* in,
                  std::vector<uint64_t>* positions) {
  positions->clear();
  if (count > range) return false;
  const int k = RiceParameter(count, range);
  uint64_t next = 0;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t gap = 0;
    uint64_t bit = 0;
    while (true) {
      if (!in->Get(1, &bit)) return false;
      if (bit == 0) break;
      gap += uint64_t{1} << k;
      if (gap >= range) return false;
    }
    uint64_t low = 0;
    if (!in->Get(k, &low)) return false;
    gap += low;
    if (gap >= range - next) return false;
    positions->push_back(next + gap);
    next += gap + 1;
  }
  return true;
}

}  // namespace rocksync
