// One session's state. Its code is split by what a session does: session.cc has
// the turns and decides what may come when; session_opening.cc the hello;
// session_answers.cc what is said to a summary, and session_received.cc what an
// answer means; session_rounds.cc works off a leaf batch.

#ifndef ROCKSYNC_REPLICATION_PROTOCOL_SESSION_IMPL_H_
#define ROCKSYNC_REPLICATION_PROTOCOL_SESSION_IMPL_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "replication/protocol/exchange.h"
#include "replication/protocol/leaf_batch.h"
#include "replication/protocol/location.h"
#include "replication/protocol/messages.h"
#include "replication/protocol/round_work.h"
#include "replication/protocol/session.h"
#include "replication/protocol/storage_view.h"
#include "replication/protocol/turn.h"
#include "sketch/digest.h"

namespace rocksync {

// An exchange takes no more.
inline constexpr uint64_t kMaxExchangeElements = uint64_t{1} << 24;

class SessionImpl final : public Session {
 public:
  SessionImpl(Role role, const SessionOptions& options, const SessionSeed& seed,
              const SessionContext& context);

  bool NextMessage(std::string* out) override;
  absl::Status Receive(std::string_view message) override;
  bool done() const override {
    return stage_ == Stage::kOver && (!turn_ || turn_->empty());
  }
  absl::Status status() const override { return status_; }
  const SessionReport& report() const override { return report_; }

 private:
  enum class Stage : uint8_t {
    kOpening,     // nothing has been said
    kAnswering,   // the peer summarised, this side answers in its turn
    kAwaiting,    // this side summarised, the peer answers in its turn
    kExchanging,  // an exchange runs, over a batch or over the leaves
    kShipping,    // pairs go both ways, or are listed
    kChoosing,    // the side that has the turn opens the next batch
    kOver,
  };
  // What a summary is of.
  enum class Scope : uint8_t {
    kHello,  // the whole set, at the beginning
    kTotal,  // the whole set, after batches
    kBatch,  // the leaves of the batch, which may be all of them
  };

  // Turns.
  absl::Status BuildTurn();
  void CloseTurn();
  absl::Status EndPeerTurn(MessageType last, bool idle);
  void CountBytes(std::string_view message);
  void Fail(const absl::Status& status);
  void Finish(EndReason reason, std::string_view text = "");

  // Opening.
  absl::Status TakeSnapshot();
  absl::Status Open();
  absl::Status ReceiveHello(std::string_view body, uint8_t flags);

  // Summaries and answers.
  absl::Status Answer();
  absl::Status AnswerHello();
  absl::Status AnswerTotal();
  absl::Status AnswerBatch();
  absl::Status AnswerRound();
  absl::Status Differ();
  void Locate();
  absl::Status Summarise(Scope scope);
  absl::Status ReceiveEqual(std::string_view body);
  absl::Status ReceiveAbandon();
  absl::Status ReceiveDiffers(std::string_view body);
  absl::Status ReceiveLocate(std::string_view body, uint8_t flags);
  absl::Status ReceiveBatch(std::string_view body);
  absl::Status ReceiveSummary(std::string_view body, uint8_t flags);
  absl::Status ReceiveEnd(std::string_view body);
  absl::Status SayEqual();
  absl::Status Prove();
  absl::Status MakeDurable();
  bool Expired() const;

  // Spans and rounds.
  absl::Status Choose();
  void Propose();
  absl::Status LoadBatch();
  void CloseBatch(const Digest& merged);
  bool whole() const { return !locating_; }
  Digest BatchDigest() const {
    return batch_ ? batch_->merged() : location_->Sum(leaves_);
  }
  void BeginExchange(Role role, std::span<const ElementHash> mine,
                     uint64_t peer_count, bool over_leaves);
  absl::Status ReceivePayload(std::string_view body);
  void RunExchange();
  void TakeResult();
  void FinishExchange(std::vector<uint32_t> missing_there, bool exact);
  std::unique_ptr<RoundWork> NewWork(std::vector<uint32_t> missing_there,
                                     bool exact);
  std::unique_ptr<RoundWork> NewListing(std::vector<uint32_t> candidates);
  absl::Status Ship();
  void EndRound();

  // Dispatch.
  absl::Status ReceiveMessage(MessageType type, uint8_t flags,
                              std::string_view body);
  absl::Status ReceiveInStage(MessageType type, uint8_t flags,
                              std::string_view body);

  const Role role_;
  SessionOptions options_;
  ExchangeOptions exchange_options_;
  const SessionSeed seed_;
  const SessionContext context_;
  SessionReport report_;
  absl::Status status_;

  Stage stage_ = Stage::kOpening;
  bool my_turn_;
  std::optional<Turn> turn_;
  size_t peer_turn_bytes_ = 0;
  bool passed_ = false;  // this side had nothing to say in its last turn

  uint64_t started_ms_ = 0;
  std::unique_ptr<StorageSnapshot> snapshot_;
  std::optional<Location> location_;
  bool locating_ = false;                 // batch by batch
  bool abandoned_ = false;                // some batch differs for good
  std::optional<uint64_t> synced_pairs_;  // received before the last Sync
  uint32_t locations_ = 0;
  uint64_t peer_total_ = 0;

  Scope scope_ = Scope::kHello;
  Digest peer_digest_;  // what the peer summarised
  bool peer_unsettled_ = false;
  std::vector<uint32_t> leaves_;    // of the batch that is open
  std::optional<LeafBatch> batch_;  // loaded once it is known to differ
  uint64_t peer_count_ = 0;         // of the peer in the batch
  bool unsettled_ = false;          // this side, in this batch
  uint32_t batch_rounds_ = 0;
  uint32_t idle_rounds_ = 0;

  std::unique_ptr<Exchange> exchange_;
  bool exchange_over_leaves_ = false;
  uint64_t exchanges_ = 0;
  double expected_left_ = 0;  // differences the last exchange may have hidden
  std::unique_ptr<RoundWork> work_;
  bool keys_only_ = false;  // comparing only, some keys
  bool enough_ = false;     // the task wants to know no more
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PROTOCOL_SESSION_IMPL_H_
