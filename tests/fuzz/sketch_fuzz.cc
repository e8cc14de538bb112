// Arbitrary bytes as power sums: what decodes has just these sums, in every
// instruction set.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "sketch/pinsketch/field.h"
#include "sketch/pinsketch/power_sums.h"
#include "sketch/pinsketch/syndrome_decoder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 5) return 0;
  const int bits = 4 + data[0] % 29;
  const rocksync::Field portable(bits, rocksync::CpuLevel::kPortable);
  const rocksync::Field best(bits);
  std::vector<uint32_t> sums;
  for (size_t i = 1; i + 4 <= size && sums.size() < 64; i += 4) {
    uint32_t sum = 0;
    for (size_t k = 0; k < 4; ++k) sum = sum << 8 | data[i + k];
    sums.push_back(sum & portable.mask());
  }
  std::vector<uint32_t> one;
  std::vector<uint32_t> two;
  const bool decoded = rocksync::DecodePowerSums(portable, sums, &one);
  if (decoded != rocksync::DecodePowerSums(best, sums, &two)) std::abort();
  if (!decoded) return 0;
  std::sort(one.begin(), one.end());
  std::sort(two.begin(), two.end());
  if (one != two || one.size() > sums.size()) std::abort();
  if (std::adjacent_find(one.begin(), one.end()) != one.end()) std::abort();
  const rocksync::ElementRange all = {0, one.size()};
  std::vector<uint32_t> again;
  rocksync::OddPowerSums(bits, 0, static_cast<uint32_t>(sums.size()), one,
                         {&all, 1}, &again);
  if (again != sums) std::abort();
  return 0;
}
