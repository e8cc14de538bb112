#include "sketch/pinsketch/ranking.h"

#include <cstddef>

namespace rocksync {

uint64_t IdCheck(uint32_t group, uint32_t id) {
  uint64_t x = uint64_t{group} << 32 | id;
  x = (x ^ x >> 31) * 0x7fb5d329728ea185u;
  x = (x ^ x >> 27) * 0x81dadef4bc2dd44du;
  return x ^ x >> 33;
}

ResolvedGroup ResolveGroup(uint32_t group, std::span<const uint32_t> ids,
                           std::span<const uint32_t> difference) {
  ResolvedGroup result;
  const auto name = [&](uint32_t id) {
    result.ranks_there.push_back(result.count_there++);
    result.check += IdCheck(group, id);
  };
  size_t d = 0;
  for (size_t begin = 0; begin < ids.size();) {
    const uint32_t id = ids[begin];
    size_t end = begin + 1;
    while (end < ids.size() && ids[end] == id) ++end;
    const bool odd = (end - begin) % 2 == 1;
    for (; d < difference.size() && difference[d] < id; ++d) {
      name(difference[d]);
    }
    const bool differs = d < difference.size() && difference[d] == id;
    if (differs) ++d;
    if (odd && !differs) {
      ++result.count_there;
    } else if (odd && end - begin == 1) {
      result.lacked_there.push_back(static_cast<uint32_t>(begin));
    } else if (!odd && differs) {
      name(id);
    }
    begin = end;
  }
  for (; d < difference.size(); ++d) name(difference[d]);
  return result;
}

uint32_t CountRanked(std::span<const uint32_t> ids) {
  uint32_t count = 0;
  bool odd = false;
  for (size_t i = 0; i < ids.size(); ++i) {
    odd = i == 0 || ids[i] != ids[i - 1] || !odd;
    const bool last = i + 1 == ids.size() || ids[i + 1] != ids[i];
    count += last && odd;
  }
  return count;
}

std::vector<RankedId> FindRanks(std::span<const uint32_t> ids,
                                std::span<const uint32_t> ranks) {
  std::vector<RankedId> found;
  found.reserve(ranks.size());
  uint32_t rank = 0;
  for (size_t begin = 0; begin < ids.size() && found.size() < ranks.size();) {
    size_t end = begin + 1;
    while (end < ids.size() && ids[end] == ids[begin]) ++end;
    if ((end - begin) % 2 == 1) {
      if (rank == ranks[found.size()]) {
        found.push_back({.id = ids[begin], .index = std::nullopt});
        if (end - begin == 1) found.back().index = static_cast<uint32_t>(begin);
      }
      ++rank;
    }
    begin = end;
  }
  return found;
}

}  // namespace rocksync
