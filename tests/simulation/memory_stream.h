// One side of a simulated stream: the production code of its two halves, over
// storage in memory, a buffer of changes and the streams of its replica, which
// are the production's, too. Threads are events of the simulation.

#ifndef ROCKSYNC_TESTS_SIMULATION_MEMORY_STREAM_H_
#define ROCKSYNC_TESTS_SIMULATION_MEMORY_STREAM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "replication/peering/streams.h"
#include "replication/store/write/change_buffer.h"
#include "replication/stream/incoming_changes.h"
#include "replication/stream/outgoing_changes.h"
#include "replication/stream/stream_host.h"
#include "tests/simulation/memory_storage.h"

namespace rocksync {

class MemoryStream final : public StreamHost, public OpenStream {
 public:
  // All must outlive it.
  struct Context {
    MemoryStorage* storage = nullptr;
    StorageView* view = nullptr;  // by what the set-up agreed upon
    ChangeBuffer* buffer = nullptr;
    Streams* streams = nullptr;
    size_t buffer_bytes = 0;  // of the buffer
    bool syncs = true;        // what travels; false: a planted fault
    std::function<uint64_t()> now_ms;
    std::function<bool()> terms_hold;
    // An error: the connection has broken.
    std::function<absl::Status(std::string_view)> send;
    std::function<void()> repair;
    std::function<void()> wake;
    std::function<void()> close;
  };
  // Takes what the buffer is told from now on.
  MemoryStream(Context context, StreamFacts facts);
  ~MemoryStream() override;

  // The peer has answered, or asked.
  void SetTheirs(const StreamOpen& theirs) { facts_.theirs = theirs; }
  // The stream is one of the replica's from now on. False: another one is to be
  // kept.
  bool Enter(uint64_t self);

  void Begin() { outgoing_.Begin(); }
  absl::Status Step() { return outgoing_.Step(); }
  absl::Status Receive(std::string_view message) {
    return incoming_.Receive(message);
  }
  // When Step is to be called again, if it is not woken before.
  uint64_t NextStepMs() const;

  // StreamHost.
  const StreamFacts& facts() const override { return facts_; }
  uint64_t NowMs() const override { return context_.now_ms(); }
  absl::Status Take(size_t max_bytes, ChangeBatch* taken) override;
  absl::Status MakeDurable(uint64_t number) override;
  absl::Status MakeAllDurable() override;
  absl::Status Send(std::string_view message) override {
    return context_.send(message);
  }
  bool TermsHold() const override { return context_.terms_hold(); }
  uint32_t FamilyCount() const override { return context_.view->FamilyCount(); }
  ElementHash HashOf(const Pair& pair) const override {
    return context_.view->HashOf(pair);
  }
  absl::Status ReadPair(uint32_t family, std::string_view key,
                        Pair* pair) const override {
    return context_.storage->ReadPair(family, key, pair);
  }
  absl::Status Apply(std::vector<Pair>* pairs,
                     std::vector<ApplyOutcome>* outcomes) override {
    return context_.view->Apply(*pairs, nullptr, outcomes);
  }
  void BeginRepair() override { context_.repair(); }
  void WithDues(absl::FunctionRef<void(StreamDues*)> use) override {
    use(&dues_);
  }
  void WithSpread(absl::FunctionRef<void(Spread*)> use) override {
    context_.streams->With(use);
  }
  std::vector<Neighbour> Neighbours(uint64_t* number) const override {
    return context_.streams->neighbours(number);
  }
  bool SetNeighbours(std::vector<Neighbour> neighbours) override {
    return context_.streams->SetNeighbours(facts_.peer_id,
                                           std::move(neighbours));
  }
  bool AskForMissing(uint64_t now_ms) override {
    return context_.streams->AskForMissing(now_ms);
  }

  // Of both.
  void Wake() override { context_.wake(); }

  // OpenStream.
  void Close() override { context_.close(); }
  void AskFor(const std::vector<ShortHash>& hashes) override;

 private:
  const Context context_;
  StreamFacts facts_;
  ChangeBuffer::Reader reader_;
  StreamDues dues_;
  OutgoingChanges outgoing_;
  IncomingChanges incoming_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SIMULATION_MEMORY_STREAM_H_
