// The StreamHost of a replica (stream/stream_host.h): gives a stream the
// database, the buffer of changes, and the connection.

#ifndef ROCKSYNC_REPLICATION_PEERING_REPLICA_STREAM_HOST_H_
#define ROCKSYNC_REPLICATION_PEERING_REPLICA_STREAM_HOST_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "replication/peering/link.h"
#include "replication/peering/monotonic_ms.h"
#include "replication/peering/replicator_context.h"
#include "replication/session/storage_view.h"
#include "replication/statistics/stats_counters.h"
#include "replication/store/write/change_buffer.h"
#include "replication/stream/spread.h"
#include "replication/stream/stream_dues.h"
#include "replication/stream/stream_host.h"
#include "rocksdb/status.h"

namespace rocksync {

// Implements StreamHost, which says which thread may call what.
class ReplicaStreamHost final : public StreamHost {
 public:
  // Reads what is appended to the replica's buffer from now on. `repair`
  // requests an exact session with this peer soon. `ended` returns true once
  // the stream is to end; it is called from any thread. `replica`, `link` and
  // what the functions use must outlive the host.
  ReplicaStreamHost(ReplicatorContext* replica, Link* link,
                    std::function<void()> repair, std::function<bool()> ended);
  // Destroys the line first: until then it asks for the lag.
  ~ReplicaStreamHost() override { line_.reset(); }

  // Notes that the stream is open. Called before the threads start.
  void Open(StreamFacts facts, std::unique_ptr<StreamCounters> line);

  // Sleeps until there is a change that was not taken (unless
  // `ignore_changes`), Wake was called, or it is `due_ms`. On the sending
  // half's thread only.
  void Wait(uint64_t due_ms, bool ignore_changes);
  // Notes that a step of the sending half is over.
  void EndStep();
  // Returns how far the peer is behind at this moment. From any thread; does
  // not wait for a step of the sending half.
  StreamLag Lag() const;
  // Returns an error of the sending half as the application sees it.
  rocksdb::Status WhySendingEnds(const absl::Status& status) const;

  StreamCounters* line() const { return line_.get(); }

  // StreamHost.
  const StreamFacts& facts() const override { return facts_; }
  uint64_t NowMs() const override { return MonotonicMs(); }
  absl::Status Take(size_t max_bytes, ChangeBatch* taken) override;
  absl::Status MakeDurable(uint64_t number) override;
  absl::Status MakeAllDurable() override;
  absl::Status Pay(size_t bytes) override;
  absl::Status Send(std::string_view message) override;
  bool TermsHold() const override { return !link_->stale(); }
  uint32_t FamilyCount() const override { return link_->view()->FamilyCount(); }
  ElementHash HashOf(const Pair& pair) const override {
    return link_->view()->HashOf(pair);
  }
  absl::Status ReadPair(uint32_t family, std::string_view key,
                        Pair* pair) const override {
    return link_->view()->ReadPair(family, key, pair);
  }
  absl::Status Apply(std::vector<Pair>* pairs,
                     std::vector<ApplyOutcome>* outcomes) override;
  void BeginRepair() override { repair_(); }
  void Wake() override { reader_.Interrupt(); }
  void WithDues(absl::FunctionRef<void(StreamDues*)> use) override;
  void WithSpread(absl::FunctionRef<void(Spread*)> use) override;
  std::vector<Neighbour> Neighbours(uint64_t* number) const override;
  bool SetNeighbours(std::vector<Neighbour> neighbours) override;
  bool AskForMissing(uint64_t now_ms) override;
  void NoteSent(uint64_t pairs) override { line_->AddSent(pairs, 0); }
  void NoteGivenUp(uint64_t changes) override { line_->AddGap(changes); }
  void NoteReceived(uint64_t pairs, uint64_t applied, uint64_t duplicates,
                    uint64_t held_back) override {
    line_->AddReceivedPairs(pairs, applied, duplicates, held_back);
  }

 private:
  const ChangeBuffer::Reader::Taken& TakeFromBuffer(size_t max_bytes);
  Connection* connection() const { return link_->connection(); }
  absl::Status Failed(const rocksdb::Status& status);

  ReplicatorContext* const replica_;
  Link* const link_;
  const std::function<void()> repair_;
  const std::function<bool()> ended_;
  ChangeBuffer* const buffer_;
  ChangeBuffer::Reader reader_;
  StreamFacts facts_;
  std::unique_ptr<StreamCounters> line_;

  // Used by the thread that sends:
  uint64_t wire_sent_ = 0;  // bytes sent by the connection, counted so far
  rocksdb::Status failed_;

  mutable std::mutex mutex_;  // taken before the buffer's mutex
  StreamDues dues_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_REPLICA_STREAM_HOST_H_
