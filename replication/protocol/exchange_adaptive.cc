#include "replication/protocol/exchange_adaptive.h"

#include "replication/protocol/exchange_initiator.h"
#include "replication/protocol/exchange_responder.h"

namespace rocksync {

std::unique_ptr<Exchange> NewAdaptiveExchange(Role role,
                                              const ExchangeOptions& options,
                                              const MappingSeed& seed,
                                              std::span<const ElementHash> mine,
                                              uint64_t peer_count) {
  if (role == Role::kInitiator) {
    return std::make_unique<ExchangeInitiator>(options, seed, mine, peer_count);
  }
  return std::make_unique<ExchangeResponder>(options, seed, mine, peer_count);
}

}  // namespace rocksync
