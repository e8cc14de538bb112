#include "replication/statistics/peer_table.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace rocksync {
namespace {

// Adds the figures of one peer that was known in two ways.
void Join(const StreamStats& other, StreamStats* stream) {
  stream->open += other.open;
  stream->opened += other.opened;
  stream->pairs_sent += other.pairs_sent;
  stream->pairs_received += other.pairs_received;
  stream->pairs_applied += other.pairs_applied;
  stream->duplicates += other.duplicates;
  stream->bytes_sent += other.bytes_sent;
  stream->bytes_received += other.bytes_received;
  stream->gaps += other.gaps;
  stream->pairs_given_up += other.pairs_given_up;
}

}  // namespace

bool PeerEntry::MayBe(uint64_t replica_id) const {
  const uint64_t known = stats.replica_id;
  return replica_id == 0 || known == 0 || known == replica_id;
}

bool PeerEntry::IsOther() const {
  return !stats.configured &&
         std::all_of(
             connections.begin(), connections.end(),
             [](const auto& connection) { return connection.expired(); });
}

void PeerEntry::AddConnection(const std::weak_ptr<const void>& connection) {
  std::erase_if(connections, [&](const auto& other) {
    return other.expired() || other.lock() == connection.lock();
  });
  connections.push_back(connection);
}

void PeerEntry::NoteReached() {
  if (std::exchange(not_reached, false)) SetError("", false);
}

void PeerTable::SetConfigured(const std::vector<std::string>& addresses) {
  std::vector<PeerEntry> others = std::exchange(entries_, {});
  for (const std::string& address : addresses) {
    if (Known(address, 0) != nullptr) continue;
    const auto found = std::find_if(
        others.begin(), others.end(),
        [&](const PeerEntry& entry) { return entry.stats.address == address; });
    if (found == others.end()) {
      Add(address, 0)->stats.configured = true;
    } else {
      found->stats.configured = true;
      found->leaving = false;
      entries_.push_back(std::move(*found));
      others.erase(found);
    }
  }
  for (PeerEntry& entry : others) {
    if (std::exchange(entry.stats.configured, false)) entry.leaving = true;
    if (!entry.HasLeft()) entries_.push_back(std::move(entry));
  }
}

PeerEntry* PeerTable::Known(const std::string& address, uint64_t replica_id) {
  auto found = std::find_if(
      entries_.begin(), entries_.end(), [&](const PeerEntry& entry) {
        return entry.stats.address == address && entry.MayBe(replica_id);
      });
  if (found == entries_.end() && replica_id != 0) {
    found = std::find_if(entries_.begin(), entries_.end(),
                         [&](const PeerEntry& entry) {
                           return entry.stats.replica_id == replica_id;
                         });
  }
  if (found == entries_.end()) return nullptr;
  found->used = ++uses_;
  return &*found;
}

PeerEntry* PeerTable::Add(const std::string& address, uint64_t replica_id) {
  while (std::count_if(entries_.begin(), entries_.end(),
                       [](const PeerEntry& entry) {
                         return entry.IsOther();
                       }) >= static_cast<ptrdiff_t>(kMaxOthers)) {
    entries_.erase(std::min_element(entries_.begin(), entries_.end(),
                                    [](const PeerEntry& a, const PeerEntry& b) {
                                      return std::pair(!a.IsOther(), a.used) <
                                             std::pair(!b.IsOther(), b.used);
                                    }));
  }
  PeerEntry entry;
  entry.stats.address = address;
  entry.stats.replica_id = replica_id;
  entry.used = ++uses_;
  return &entries_.emplace_back(std::move(entry));
}

PeerEntry* PeerTable::Find(const std::string& address, uint64_t replica_id) {
  PeerEntry* const known = Known(address, replica_id);
  return known != nullptr ? known : Add(address, replica_id);
}

PeerEntry* PeerTable::FindForLine(const std::string& address,
                                  uint64_t replica_id) {
  PeerEntry* const known = Known(address, replica_id);
  if (known != nullptr) return known;
  const bool has_moved = std::any_of(
      entries_.begin(), entries_.end(),
      [&](const PeerEntry& entry) { return entry.stats.address == address; });
  return has_moved ? &replaced_ : Add(address, replica_id);
}

bool PeerTable::IsConfigured(const std::string& address) const {
  return std::any_of(
      entries_.begin(), entries_.end(), [&](const PeerEntry& entry) {
        return entry.stats.configured && entry.stats.address == address;
      });
}

// Clears the entry of an address at which another replica is now: nothing that
// was proven or counted of the earlier one holds of this one.
void PeerTable::BeginAnew(PeerEntry* entry) {
  PeerStats anew;
  anew.address = entry->stats.address;
  anew.configured = entry->stats.configured;
  entry->stats = std::move(anew);
  entry->connections.clear();
  entry->not_reached = false;
}

// Adds what was counted of the replica under another name.
void PeerTable::Absorb(PeerEntry other, PeerEntry* entry) {
  if (!other.IsOther()) entry->NoteReached();
  entry->connections.insert(entry->connections.end(), other.connections.begin(),
                            other.connections.end());
  PeerStats* const peer = &entry->stats;
  PeerStats* const known = &other.stats;
  peer->sessions += known->sessions;
  peer->sessions_failed += known->sessions_failed;
  Join(known->stream, &peer->stream);
  peer->digests_equal_as_of_ms =
      std::max(peer->digests_equal_as_of_ms, known->digests_equal_as_of_ms);
  if (known->last_proven_equal_ms > peer->last_proven_equal_ms) {
    peer->last_proven_equal_ms = known->last_proven_equal_ms;
    peer->equal_as_of_ms = known->equal_as_of_ms;
    // The error is of a session after the one that failed at this address.
    entry->SetError(known->last_error, known->waits_for_index_build);
    entry->not_reached = other.not_reached;
    peer->last = std::move(known->last);
    peer->last.peer = peer->address;
  }
}

PeerEntry PeerTable::TakeOut(PeerEntry* entry) {
  PeerEntry taken = std::move(*entry);
  entries_.erase(entries_.begin() + (entry - entries_.data()));
  return taken;
}

template <typename Which>
PeerEntry* PeerTable::FindOf(uint64_t replica_id, const Which& which) {
  const auto found = std::find_if(
      entries_.begin(), entries_.end(), [&](const PeerEntry& entry) {
        return entry.stats.replica_id == replica_id && which(entry);
      });
  return found == entries_.end() ? nullptr : &*found;
}

PeerEntry* PeerTable::SetReplicaAt(const std::string& address,
                                   uint64_t replica_id) {
  const auto configured = [](const PeerEntry& entry) {
    return entry.stats.configured;
  };
  // The replica may have dialed this one before it was known whose address this
  // is, or was met at another one.
  std::optional<PeerEntry> known;
  PeerEntry* const other = FindOf(replica_id, [&](const PeerEntry& entry) {
    return !entry.stats.configured && entry.stats.address != address;
  });
  if (other != nullptr) known = TakeOut(other);
  PeerEntry* entry = Find(address, 0);
  if (!entry->MayBe(replica_id)) BeginAnew(entry);
  // The address is another name of a configured peer, at which a session was
  // asked for.
  if (!entry->stats.configured && FindOf(replica_id, configured) != nullptr) {
    PeerEntry alias = TakeOut(entry);
    entry = FindOf(replica_id, configured);
    Absorb(std::move(alias), entry);
  }
  if (known.has_value()) Absorb(*std::move(known), entry);
  entry->leaving = false;
  entry->stats.replica_id = replica_id;
  return entry;
}

}  // namespace rocksync
