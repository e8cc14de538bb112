#include "tests/simulation/memory_stream.h"

#include <utility>

#include "replication/base/status.h"

namespace rocksync {

MemoryStream::MemoryStream(Context context, StreamFacts facts)
    : context_(std::move(context)),
      facts_(std::move(facts)),
      reader_(context_.buffer, context_.buffer_bytes),
      outgoing_(this),
      incoming_(this) {}

MemoryStream::~MemoryStream() { context_.streams->Leave(facts_.peer_id, this); }

bool MemoryStream::Enter(uint64_t self) {
  const uint64_t peer = facts_.peer_id;
  return context_.streams->Enter({peer, facts_.theirs.zone},
                                 facts_.dialed ? self < peer : peer < self,
                                 this);
}

uint64_t MemoryStream::NextStepMs() const {
  const bool more = reader_.backlog().changes > 0 && outgoing_.Window() > 0;
  return more ? NowMs() : outgoing_.NextDueMs();
}

absl::Status MemoryStream::Take(size_t max_bytes, ChangeBatch* taken) {
  const ChangeBuffer::Reader::Taken& read = reader_.Take(max_bytes);
  taken->lost = read.lost;
  taken->last = read.last;
  taken->changes.clear();
  for (const Change& change : read.changes) {
    taken->changes.push_back({change.family_id, change.key, change.version,
                              change.tombstone, change.value, change.source,
                              change.left_out});
  }
  return absl::OkStatus();
}

absl::Status MemoryStream::MakeDurable(uint64_t number) {
  if (!context_.syncs) return absl::OkStatus();
  return ToAbsl(context_.streams->sync()->Cover(
      number, [this] { return context_.buffer->end(); },
      [this] { return ToRocksDb(context_.view->Sync()); }));
}

absl::Status MemoryStream::MakeAllDurable() {
  return context_.syncs ? context_.view->Sync() : absl::OkStatus();
}

void MemoryStream::AskFor(const std::vector<ShortHash>& hashes) {
  std::vector<ShortHash>& to_ask_for = dues_.lists.to_ask_for;
  to_ask_for.insert(to_ask_for.end(), hashes.begin(), hashes.end());
  Wake();
}

}  // namespace rocksync
