#include "tests/bench/heal/heal_cases.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <system_error>

#include "rocksync/clone.h"
#include "rocksync/replicated_db.h"
#include "rocksync/replicator.h"
#include "tests/bench/heal/replica.h"
#include "tests/bench/heal/serving_process.h"
#include "tests/bench/reconcile/process_memory.h"
#include "tests/support/trial_transport.h"

namespace rocksync::bench {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kVersionBytes = 8;

uint64_t Share(double share, uint64_t of) {
  return static_cast<uint64_t>(share * static_cast<double>(of));
}

Pairs Both(const HealCase& heal) {
  return {.count = heal.pairs - Share(heal.missing, heal.pairs),
          .value_bytes = heal.value_bytes};
}
Pairs Missing(const HealCase& heal) {
  const uint64_t both = Both(heal).count;
  return {.first = both,
          .count = heal.pairs - both,
          .value_bytes = heal.value_bytes};
}
// What only the one behind holds.
Pairs Own(const HealCase& heal) {
  return {.first = heal.pairs,
          .count = Share(heal.own, heal.pairs),
          .value_bytes = heal.value_bytes};
}
Pairs Overwritten(const HealCase& heal) {
  return {.count = Share(heal.overwritten, heal.pairs),
          .value_bytes = heal.value_bytes,
          .generation = 1};
}

// A replica of its own in `to`, with what the one in `from` holds. They have
// met once: what is measured is a replica that was away, and no copy that is
// new.
bool CopyReplica(const std::string& certificates, const std::string& from,
                 const std::string& to) {
  std::error_code error;
  fs::copy(from, to, fs::copy_options::recursive, error);
  if (error) {
    std::fprintf(stderr, "%s\n", error.message().c_str());
    return false;
  }
  std::unique_ptr<ReplicatedDB> one;
  std::unique_ptr<ReplicatedDB> other;
  std::unique_ptr<Replicator> dialing;
  std::unique_ptr<Replicator> listening;
  const bool met = OpenReplica(from, &one) && OpenReplica(to, &other) &&
                   Check(other->WaitForIndexBuild(600'000)) &&
                   StartReplicator(certificates, one.get(), &dialing) &&
                   StartReplicator(certificates, other.get(), &listening) &&
                   Check(dialing->SyncNow(listening->listen_address()));
  dialing.reset();
  listening.reset();
  return met && Check(one->Close()) && Check(other->Close());
}

// A whole replica in directory/whole, and one that lacks something of it in
// directory/behind.
bool MakeReplicas(const HealCase& heal, const std::string& directory) {
  const std::string whole = directory + "/whole";
  std::unique_ptr<ReplicatedDB> db;
  if (!OpenReplica(whole, &db) || !Write(db.get(), Both(heal)) ||
      !Settle(db.get()) || !Check(db->Close())) {
    return false;
  }
  db.reset();
  const bool is_new = Both(heal).count == 0;
  const std::string behind = directory + "/behind";
  if (!is_new && !CopyReplica(directory + "/certificates", whole, behind)) {
    return false;
  }
  if (heal.own > 0) {
    if (!OpenReplica(behind, &db) || !Write(db.get(), Own(heal)) ||
        !Settle(db.get()) || !Check(db->Close())) {
      return false;
    }
    db.reset();
  }
  return OpenReplica(whole, &db) && Write(db.get(), Missing(heal)) &&
         Write(db.get(), Overwritten(heal)) && Settle(db.get()) &&
         Check(db->Close());
}

// Peak of a process above what it took at construction.
class MemoryAboveIdle {
 public:
  explicit MemoryAboveIdle(pid_t pid) : pid_(pid) {
    ResetPeak(pid_);
    idle_mib_ = MemoryMib("VmRSS", pid_);
  }
  uint64_t bytes() const {
    const double mib = MemoryMib("VmHWM", pid_) - idle_mib_;
    return static_cast<uint64_t>(std::max(mib, 0.0) * (1 << 20));
  }

 private:
  const pid_t pid_;
  double idle_mib_ = 0;
};

// The replica in directory/`name` with the whole one.
bool Sync(const HealCase& heal, const std::string& directory,
          const std::string& name, Measured* measured) {
  using Clock = std::chrono::steady_clock;
  const std::string certificates = directory + "/certificates";
  ServingProcess whole;
  std::unique_ptr<ReplicatedDB> db;
  std::unique_ptr<Replicator> replicator;
  if (!whole.Start(directory + "/whole", certificates) ||
      !OpenReplica(directory + "/" + name, &db) ||
      !StartReplicator(certificates, db.get(), &replicator)) {
    return false;
  }
  std::string address = whole.address();
  std::unique_ptr<DelayingRelay> relay;
  if (heal.link) {
    relay = NewDelayingRelay(address, *heal.link);
    if (relay == nullptr) return false;
    address = relay->address();
  }
  const MemoryAboveIdle here(getpid());
  const MemoryAboveIdle there(whole.pid());
  const Clock::time_point start = Clock::now();
  if (!Check(replicator->SyncNow(address))) return false;
  measured->seconds =
      std::chrono::duration<double>(Clock::now() - start).count();
  measured->bytes = replicator->stats().bytes_total;
  measured->memory_bytes = std::max(here.bytes(), there.bytes());
  return true;
}

// Of the replica in directory/behind. Leaves what it was in directory/copy,
// which is another replica, as it lies elsewhere.
bool MeasureResync(const HealCase& heal, const std::string& directory,
                   Measured* measured) {
  const std::string behind = directory + "/behind";
  std::unique_ptr<ReplicatedDB> db;
  if (!OpenReplica(behind, &db)) return false;
  const uint64_t id = db->Identity().replica_id;
  if (!Check(db->Close())) return false;
  ServingProcess whole;
  ResyncOptions resync;
  resync.copy_from_share = 0;
  const std::string certificates = directory + "/certificates";
  if (!CopyReplica(certificates, behind, directory + "/copy") ||
      !whole.Start(directory + "/whole", certificates) ||
      !Check(NewTrialTransport(certificates, id, &resync.copy.transport))) {
    return false;
  }
  resync.copy.source = whole.address();
  using Clock = std::chrono::steady_clock;
  const MemoryAboveIdle here(getpid());
  const MemoryAboveIdle there(whole.pid());
  const Clock::time_point start = Clock::now();
  ResyncResult result;
  if (!Check(ReplicatedDB::Resync({}, ReplicationOptions(), behind,
                                  {{rocksdb::kDefaultColumnFamilyName, {}}},
                                  resync, &result))) {
    return false;
  }
  measured->seconds =
      std::chrono::duration<double>(Clock::now() - start).count();
  measured->bytes = result.copy.bytes_received;
  measured->memory_bytes = std::max(here.bytes(), there.bytes());
  if (!result.copy.proven_equal) {
    std::fprintf(stderr, "%s\n", result.copy.session_error.c_str());
  }
  return result.copy.proven_equal;
}

bool Measure(const HealCase& heal, const std::string& directory,
             Measured* measured) {
  measured->name = heal.name;
  measured->pairs =
      Missing(heal).count + Own(heal).count + Overwritten(heal).count;
  measured->value_bytes = heal.value_bytes;
  measured->bytes_needed =
      measured->pairs * (kKeyBytes + heal.value_bytes + kVersionBytes);
  if (!MakeReplicas(heal, directory)) return false;
  if (heal.resync) {
    Measured session;
    if (!MeasureResync(heal, directory, measured) ||
        !Sync(heal, directory, "copy", &session)) {
      return false;
    }
    measured->anchor_seconds = session.seconds;
    return true;
  }
  if (!Sync(heal, directory, "behind", measured)) return false;
  if (heal.link) {
    measured->anchor_seconds = static_cast<double>(measured->bytes_needed) /
                               heal.link->bytes_per_second;
    return true;
  }
  Pairs written = heal.overwritten > 0 ? Overwritten(heal) : Missing(heal);
  written.count += Own(heal).count;  // which follow on them
  measured->anchor_seconds =
      SecondsOfPlainWrites(directory + "/plain", Both(heal), written);
  return measured->anchor_seconds >= 0;
}

}  // namespace

std::vector<HealCase> HealCases(double scale) {
  constexpr LinkOptions kLongLink{.one_way = std::chrono::milliseconds(50),
                                  .bytes_per_second = 125e6};
  std::vector<HealCase> cases = {
      {.name = "heal_10",
       .pairs = 1'000'000,
       .value_bytes = 100,
       .missing = .1},
      {.name = "heal_30",
       .pairs = 1'000'000,
       .value_bytes = 100,
       .missing = .3},
      {.name = "heal_60",
       .pairs = 1'000'000,
       .value_bytes = 100,
       .missing = .6},
      {.name = "heal_both",
       .pairs = 1'000'000,
       .value_bytes = 100,
       .missing = .15,
       .own = .15},
      {.name = "heal_all",
       .pairs = 1'000'000,
       .value_bytes = 100,
       .missing = 1},
      {.name = "heal_all_large",
       .pairs = 30'000,
       .value_bytes = 10'000,
       .missing = 1},
      {.name = "heal_overwritten",
       .pairs = 1'000'000,
       .value_bytes = 100,
       .overwritten = .01},
      {.name = "resync_10",
       .pairs = 1'000'000,
       .value_bytes = 100,
       .missing = .1,
       .resync = true},
      {.name = "resync_30",
       .pairs = 1'000'000,
       .value_bytes = 100,
       .missing = .3,
       .resync = true},
      {.name = "resync_60",
       .pairs = 1'000'000,
       .value_bytes = 100,
       .missing = .6,
       .resync = true},
      {.name = "heal_link",
       .pairs = 60'000,
       .value_bytes = 10'000,
       .missing = .8,
       .link = kLongLink},
      {.name = "heal_link_over",
       .pairs = 60'000,
       .value_bytes = 10'000,
       .overwritten = .8,
       .link = kLongLink},
  };
  for (HealCase& heal : cases) {
    heal.pairs = std::max<uint64_t>(1, Share(scale, heal.pairs));
  }
  return cases;
}

std::optional<Measured> RunHeal(const HealCase& heal,
                                const std::string& directory) {
  return MeasureIn(directory, [&](Measured* measured) {
    return Measure(heal, directory, measured);
  });
}

}  // namespace rocksync::bench
