#include "tests/simulation/store/oracle.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "replication/session/acceptance.h"
#include "replication/store/store_access.h"

namespace rocksync::store_simulation {
namespace {

constexpr size_t kMaxViolations = 20;

bool EndsWith(const std::string& value, const std::string& tail) {
  return value.size() >= tail.size() &&
         value.compare(value.size() - tail.size(), tail.size(), tail) == 0;
}

// What sessions see of a key.
bool Counts(const Held& held, uint64_t stable_time) {
  return held.has_entry && !held.quarantined &&
         !IsCollected(held.tombstone, held.version, stable_time);
}

std::string Describe(const Held& held) {
  if (!held.has_entry) return held.value ? "a pair without entry" : "nothing";
  return absl::StrCat(held.quarantined ? "quarantined " : "",
                      Name(held.version), held.tombstone ? " deleted" : "",
                      held.value ? " = " + *held.value : "");
}

const Held& At(const Holdings& holdings, const Key& key) {
  static const Held nothing;
  const auto it = holdings.find(key);
  return it == holdings.end() ? nothing : it->second;
}

// Calls `see(key, one, other)` for each key that the two do not hold alike.
template <typename See>
void Compare(const Holdings& one, uint64_t one_stable_time,
             const Holdings& other, uint64_t other_stable_time, See see) {
  std::set<Key> keys;
  for (const auto& [key, held] : one) keys.insert(key);
  for (const auto& [key, held] : other) keys.insert(key);
  const uint64_t stable_time = std::max(one_stable_time, other_stable_time);
  for (const Key& key : keys) {
    const Held& a = At(one, key);
    const Held& b = At(other, key);
    if (!Counts(a, stable_time) && !Counts(b, stable_time) && !a.value &&
        !b.value) {
      continue;
    }
    if (!(a == b)) see(key, a, b);
  }
}

// What a process leaves behind that does not lose power.
Versions Survives(const Durable& durable) {
  Versions all = durable.floor;
  Raise(durable.pending, &all);
  return all;
}

}  // namespace

void Raise(const Versions& versions, Versions* floor) {
  for (const auto& [key, version] : versions) {
    Version& least = (*floor)[key];
    least = std::max(least, version);
  }
}

std::string Name(const Version& version) {
  return absl::StrCat(WallMs(version), ".", version.time & 0xffff, ":",
                      absl::Hex(version.replica >> 48));
}

void Oracle::Broke(std::string what) {
  if (violations_.size() < kMaxViolations) {
    violations_.push_back(std::move(what));
  }
}

void Oracle::Wrote(const Holdings& holdings, const std::string& who,
                   bool shares_id) {
  std::map<Version, Key> versions;
  for (const auto& [key, held] : holdings) {
    if (!held.has_entry || held.quarantined) {
      return Broke(
          absl::StrCat(who, " wrote ", Name(key), " and has ", Describe(held)));
    }
    written_[key].emplace(held.version, held.value);
    versions.emplace(held.version, key);
  }
  for (const auto& [version, key] : versions) {
    Version& last = last_issued_[version.replica];
    if (!shares_id && !(last < version)) {
      Broke(absl::StrCat(who, " issued ", Name(version), " for ", Name(key),
                         " after ", Name(last)));
    }
    last = std::max(last, version);
  }
}

void Oracle::MayHaveWritten(const Key& key, std::optional<std::string> tail) {
  maybe_[key].push_back(std::move(tail));
}

void Oracle::MadeUnversioned(const Key& key, const std::string& value) {
  written_[key].emplace(Version{}, value);
}

bool Oracle::WasWritten(const Key& key, const Held& held) {
  auto& versions = written_[key];
  const auto [begin, end] = versions.equal_range(held.version);
  for (auto it = begin; it != end; ++it) {
    if (it->second == held.value) return true;
  }
  // What a damaged pair counts as, damage and all, if nobody knew better.
  if (held.version == Version{} && excused_.count(key) > 0) return true;
  for (const std::optional<std::string>& tail : maybe_[key]) {
    const bool is_it = tail.has_value() == held.value.has_value() &&
                       (!tail || EndsWith(*held.value, *tail));
    if (is_it && begin == end) {
      versions.emplace(held.version, held.value);
      return true;
    }
  }
  return false;
}

// A deletion that did away with `version` may be collected: in this epoch, or
// in an earlier one, in which somebody got further.
bool Oracle::WasSwept(const Key& key, const Version& version,
                      uint64_t stable_time) const {
  const auto versions = written_.find(key);
  if (versions == written_.end()) return false;
  return std::any_of(versions->second.lower_bound(version),
                     versions->second.end(), [&](const auto& written) {
                       return IsCollected(!written.second.has_value(),
                                          written.first,
                                          std::max(stable_time, furthest_));
                     });
}

void Oracle::CheckFloor(const std::string& who, const Holdings& holdings,
                        uint64_t stable_time, const Durable& durable) {
  for (const auto& [key, version] : Survives(durable)) {
    const Held& held = At(holdings, key);
    if (held.has_entry && !(held.version < version)) continue;
    if (durable.damaged.count(key) > 0 || excused_.count(key) > 0) continue;
    if (!held.has_entry && !held.value && WasSwept(key, version, stable_time)) {
      continue;
    }
    Broke(absl::StrCat(who, " has lost ", Name(version), " of ", Name(key),
                       ", which was durable, and has ", Describe(held)));
  }
}

void Oracle::Holds(const std::string& who, const Holdings& holdings,
                   const std::set<Key>& damaged) {
  for (const auto& [key, held] : holdings) {
    if (held.quarantined && damaged.empty()) {
      Broke(absl::StrCat(who, " quarantined pairs ", Name(key)));
    }
    if (held.quarantined || damaged.count(key) > 0) continue;
    if (!WasWritten(key, held)) {
      Broke(absl::StrCat(who, " has ", Describe(held), " for ", Name(key),
                         ", which nobody wrote"));
    }
  }
}

void Oracle::Opened(Machine* machine, Durable* durable) {
  const std::string who = machine->name();
  const ReplicaIdentity identity = machine->db()->Identity();
  const GcState now = machine->gc();
  if (durable->replica_id != 0 && identity.replica_id != durable->replica_id) {
    Broke(absl::StrCat(who, " has another identity than before"));
  }
  if (identity.incarnation <= durable->incarnation) {
    Broke(absl::StrCat(who, " is opened as incarnation ", identity.incarnation,
                       " and was ", durable->incarnation));
  }
  const uint64_t first_clock =
      StoreAccess::IncarnationOf(machine->db()).first_clock;
  if (first_clock < durable->clock) {
    Broke(absl::StrCat(who, "'s clock starts from ", first_clock >> 16,
                       " and said ", durable->clock >> 16));
  }
  if (now.epoch < durable->epoch) {
    Broke(absl::StrCat(who, " has gone back to the member list of epoch ",
                       now.epoch, " from ", durable->epoch));
  }
  // One of an earlier epoch than the list's may fall back to a peer's (Agree).
  if (now.stable_epoch == now.epoch &&
      now.stable_epoch == durable->stable_epoch &&
      now.stable_time < durable->stable_time) {
    Broke(absl::StrCat(who, " has gone back to the stable time ",
                       now.stable_time >> 16, " from ",
                       durable->stable_time >> 16));
  }
  const Member* const me = now.Find(identity.replica_id);
  if (me != nullptr && now.epoch == durable->epoch &&
      me->acknowledged < durable->acknowledged) {
    Broke(absl::StrCat(who, " no longer acknowledges what it acknowledged"));
  }
  Reached(now.stable_time);
  durable->replica_id = identity.replica_id;
  durable->incarnation = identity.incarnation;

  if (machine->reads_fail()) return;
  Holdings holdings;
  std::vector<std::string> wrong;
  const rocksdb::Status status = machine->Read(&holdings, &wrong);
  if (!status.ok()) {
    if (!machine->disk()->killed()) {
      Broke(absl::StrCat(who, " cannot be read: ", status.ToString()));
    }
    return;
  }
  if (durable->damaged.empty()) {
    for (const std::string& what : wrong) Broke(who + ": " + what);
  }
  Holds(who, holdings, durable->damaged);
  CheckFloor(who, holdings, now.stable_time, *durable);
}

void Oracle::Proved(const std::string& who, const Holdings& one,
                    uint64_t one_stable_time, const Holdings& other,
                    uint64_t other_stable_time, const std::set<Key>& except) {
  Compare(one, one_stable_time, other, other_stable_time,
          [&](const Key& key, const Held& a, const Held& b) {
            if (except.count(key) > 0) return;
            Broke(absl::StrCat(who, " are proven equal, but for ", Name(key),
                               " one has ", Describe(a), ", the other ",
                               Describe(b)));
          });
}

bool Oracle::Equal(const std::vector<Holdings>& all,
                   const std::vector<uint64_t>& stable_times) {
  for (size_t i = 1; i < all.size(); ++i) {
    bool equal = true;
    Compare(all[0], stable_times[0], all[i], stable_times[i],
            [&](const Key&, const Held&, const Held&) { equal = false; });
    if (!equal) return false;
  }
  return true;
}

void Oracle::ExpectEqual(const std::vector<Machine*>& machines,
                         const std::vector<const Durable*>& disks) {
  Holdings first;
  for (const Machine* each : machines) {
    auto* const machine = const_cast<Machine*>(each);
    Holdings holdings;
    std::vector<std::string> wrong;
    const rocksdb::Status status = machine->Read(&holdings, &wrong);
    if (!status.ok()) {
      Broke(absl::StrCat(machine->name(),
                         " cannot be read: ", status.ToString()));
      return;
    }
    for (const std::string& what : wrong) Broke(machine->name() + ": " + what);
    const uint64_t stable_time = machine->gc().stable_time;
    Holds(machine->name(), holdings, {});
    for (const Durable* disk : disks) {
      CheckFloor(machine->name(), holdings, stable_time, *disk);
    }
    if (machine == machines[0]) {
      first = holdings;
      continue;
    }
    Compare(first, machines[0]->gc().stable_time, holdings, stable_time,
            [&](const Key& key, const Held& a, const Held& b) {
              Broke(absl::StrCat(machines[0]->name(), " has ", Describe(a),
                                 " for ", Name(key), ", ", machine->name(),
                                 " has ", Describe(b)));
            });
  }
}

}  // namespace rocksync::store_simulation
