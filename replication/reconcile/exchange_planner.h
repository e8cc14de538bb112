// The planner: the side of an adaptive exchange that plans and sends power
// sums.

#ifndef ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_PLANNER_H_
#define ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_PLANNER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "replication/reconcile/exchange_header.h"
#include "replication/reconcile/exchange_parities.h"
#include "replication/reconcile/exchange_side.h"
#include "replication/reconcile/exchange_sketch.h"

namespace rocksync {

class ExchangePlanner final : public ExchangeSide {
 public:
  explicit ExchangePlanner(const ExchangeContext& context);

  // Opens the exchange. Sets `*follows` to what the first payload holds, and
  // returns the probe if it holds one; otherwise a message is queued.
  std::string Open(Follows* follows);
  // Sends a filter at once: the other side has many times more elements.
  void StartLopsided();
  // Starts with `expected` differences, which are more than a probe is made
  // for.
  void StartAsExpected(double expected);
  // Takes the body of a kEstimate.
  absl::Status ReceiveEstimate(std::string_view parities);

  // Returns whether a payload can be the answer to a probe.
  static bool IsAnswer(std::string_view payload);

 private:
  absl::Status OnMessage(ExchangeKind kind, std::string_view body) override;
  absl::Status OnFilter(const FilterHead& head) override;
  absl::Status ReceiveAnswer(bool partial, std::string_view body);
  void EstimateKeys(std::string_view mine, std::string_view theirs);
  // Decides by the report's estimated_differences and sends the first message.
  void Plan(double error, bool may_send_parities);
  // Takes how many of its elements the answerer found missing.
  void NoteFound(uint64_t found);

  // Coupled parities: sends the first, sends more, or takes the outcome.
  void StartParities(double surplus);
  // Starts parities of keys, if they cost less than `other_bits`.
  bool StartKeyParities(double error, double other_bits);
  absl::Status SendMoreKeyParities(uint64_t differing, bool decoded);
  void NoteKeysFound(const ParityOutcome& outcome);
  void GiveUpParities(double differences);
  absl::Status SendMoreParities(std::string_view body);
  absl::Status ReceiveExplained(std::string_view body);

  // Sends a sketch for about `d` differences, known up to a share
  // `uncertainty`.
  void SendSketch(double d, double uncertainty);
  // Return about how many of our (their) elements are missing on the other side
  // and no filter has found yet.
  double LeftHere() const;
  double LeftThere() const;
  int Slack(double d) const;
  int WideSlack(double d) const;
  bool PlansRetry(double d) const;
  double peer_size() const { return static_cast<double>(peer_count_); }

  std::unique_ptr<SketchSender> probe_;
  std::unique_ptr<SketchSender> sketch_;
  SketchSender* current_sketch_ = nullptr;
  std::unique_ptr<ParitySender> parities_;
  std::unique_ptr<KeyParitySender> key_parities_;
  double key_surplus_ = 0;
  // About how many keys both sides hold with different elements.
  double overwritten_ = 0;
  double only_mine_ = 0;    // guess: of ours, missing at the peer
  double only_theirs_ = 0;  // guess: of the peer's, missing here
  double sent_rate_ = 1;    // false positive rate of our filter
  uint64_t found_there_ = 0;
  std::vector<uint32_t> found_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_PLANNER_H_
