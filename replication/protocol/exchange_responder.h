// The side of an adaptive exchange that decodes and answers.

#ifndef ROCKSYNC_REPLICATION_PROTOCOL_EXCHANGE_RESPONDER_H_
#define ROCKSYNC_REPLICATION_PROTOCOL_EXCHANGE_RESPONDER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "replication/protocol/exchange_finish.h"
#include "replication/protocol/exchange_side.h"

namespace rocksync {

class ExchangeResponder final : public ExchangeSide {
 public:
  ExchangeResponder(const ExchangeOptions& options, const MappingSeed& seed,
                    std::span<const ElementHash> mine, uint64_t peer_count);

 private:
  absl::Status OnMessage(ExchangeKind kind, std::string_view body) override;
  absl::Status OnFilter(const FilterHead& head) override;
  absl::Status TakePreamble(std::string_view* payload) override;

  // Takes power sums and answers.
  absl::Status TakeSums(std::string_view bytes);
  void SendEstimate();
  void EndFinish();
  // Differences probably hidden so far.
  double ExpectedLeft();

  std::unique_ptr<FinishDecoder> finish_;
  bool probing_ = false;  // finish_ is the probe, and no estimate is out yet
  uint32_t passes_ = 0;
  uint64_t decoded_ = 0;  // differences
  std::vector<uint32_t> found_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PROTOCOL_EXCHANGE_RESPONDER_H_
