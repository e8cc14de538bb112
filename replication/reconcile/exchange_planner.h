// The side of an adaptive exchange that plans and sends power sums.

#ifndef ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_PLANNER_H_
#define ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_PLANNER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "replication/reconcile/exchange_finish.h"
#include "replication/reconcile/exchange_header.h"
#include "replication/reconcile/exchange_parities.h"
#include "replication/reconcile/exchange_side.h"

namespace rocksync {

class ExchangePlanner final : public ExchangeSide {
 public:
  explicit ExchangePlanner(const ExchangeContext& context);

  // Opens the exchange: says what the first payload holds and returns the
  // probe, if that is it; else a message is queued.
  std::string Open(Follows* follows);
  // The other side has many times more elements: filters at once.
  void StartLopsided();
  // So many differences are expected: more than a probe is made for.
  void StartAsExpected(double expected);
  // The body of a kEstimate.
  absl::Status ReceiveEstimate(std::string_view parities);

  // Whether a payload can be the answer to a probe.
  static bool IsAnswer(std::string_view payload);

 private:
  absl::Status OnMessage(ExchangeKind kind, std::string_view body) override;
  absl::Status OnFilter(const FilterHead& head) override;
  absl::Status ReceiveAnswer(bool partial, std::string_view body);
  void EstimateKeys(std::string_view mine, std::string_view theirs);
  // Decides by the report's estimated_differences, and sends what is first.
  void Plan(double error, bool may_send_parities);
  // The responder has told how many of its elements it found missing.
  void NoteFound(uint64_t found);

  // Coupled parities: sends the first, more, or takes the outcome.
  void StartParities(double surplus);
  // Parities of keys: the same, if they cost less than `other_bits`.
  bool StartKeyParities(double error, double other_bits);
  absl::Status SendMoreKeyParities(uint64_t differing, bool decoded);
  void NoteKeysFound(const ParityOutcome& outcome);
  void GiveUpParities(double differences);
  absl::Status SendMoreParities(std::string_view body);
  absl::Status ReceiveExplained(std::string_view body);

  // The finish for about `d` differences, known up to a share `uncertainty`.
  void StartFinish(double d, double uncertainty);
  // Elements of ours (theirs) that may be missing on the other side and that
  // no filter has found yet.
  double LeftHere() const;
  double LeftThere() const;
  int Slack(double d) const;
  int WideSlack(double d) const;
  bool PlansRetry(double d) const;
  double peer_size() const { return static_cast<double>(peer_count_); }

  std::unique_ptr<FinishSender> probe_;
  std::unique_ptr<FinishSender> sketch_;
  FinishSender* finish_ = nullptr;
  std::unique_ptr<ParitySender> parities_;
  std::unique_ptr<KeyParitySender> key_parities_;
  double key_surplus_ = 0;
  // Keys that both sides hold with different elements, about.
  double overwritten_ = 0;
  double missing_here_ = 0;   // guesses: of ours over there,
  double missing_there_ = 0;  // of theirs over here
  double sent_rate_ = 1;      // of our filter
  uint64_t found_there_ = 0;
  std::vector<uint32_t> found_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_PLANNER_H_
