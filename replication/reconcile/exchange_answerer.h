// The answerer: the side of an adaptive exchange that decodes and answers.

#ifndef ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_ANSWERER_H_
#define ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_ANSWERER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "replication/reconcile/exchange_parities.h"
#include "replication/reconcile/exchange_side.h"
#include "replication/reconcile/exchange_sketch.h"

namespace rocksync {

class ExchangeAnswerer final : public ExchangeSide {
 public:
  explicit ExchangeAnswerer(const ExchangeContext& context);

  // Takes the first payload without its header: the power sums of the probe
  // and, if round trips matter, the initiator's estimate behind them.
  absl::Status ReceiveProbe(std::string_view payload,
                            std::string_view* parities);
  // Returns true if the probe did not decode and the initiator's estimate is
  // here: this side should plan then.
  bool gave_up_probe() const { return gave_up_probe_; }

  void SendEstimate();

 private:
  absl::Status OnMessage(ExchangeKind kind, std::string_view body) override;
  absl::Status OnFilter(const FilterHead& head) override;

  // Takes coupled parities, tries to decode them, and answers.
  absl::Status ReceiveParities(ExchangeKind kind, std::string_view body);
  absl::Status ReceiveKeyParities(std::string_view body);
  // Takes power sums and answers.
  absl::Status ReceiveSums(std::string_view bytes);
  void GiveUpProbe();
  void EndSketch();
  // Returns about how many differences are hidden so far.
  double ExpectedLeft();

  std::unique_ptr<SketchDecoder> current_sketch_;
  std::unique_ptr<ParityReceiver> parities_;
  std::unique_ptr<KeyParityReceiver> key_parities_;
  bool gave_up_probe_ = false;
  bool probing_ =
      false;  // current_sketch_ is the probe's, no estimate was sent yet
  uint32_t passes_ = 0;
  uint64_t decoded_ = 0;  // differences
  std::vector<uint32_t> found_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_ANSWERER_H_
