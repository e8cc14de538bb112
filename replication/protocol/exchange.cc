#include "replication/protocol/exchange.h"

#include <cassert>

#include "replication/protocol/exchange_bloom.h"

namespace rocksync {

std::unique_ptr<Exchange> NewExchange(Role role, const ExchangeOptions& options,
                                      const MappingSeed& seed,
                                      std::span<const ElementHash> mine,
                                      uint64_t peer_count) {
  assert(mine.size() <= size_t{1} << 24);
  return NewBloomExchange(role, options, seed, mine, peer_count);
}

}  // namespace rocksync
