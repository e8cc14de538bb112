#include "tests/crash/promises.h"

#include <algorithm>
#include <sstream>

#include "tests/crash/history.h"
#include "tests/crash/operation.h"

namespace rocksync::crash {
namespace {

// A deletion of it, or of something later, may have been collected.
bool Holds(const Scan& disk, uint64_t collected, uint32_t key,
           const Version& version) {
  const auto entry =
      disk.versions.find({kFamilyNames[FamilyOf(key)], KeyName(key)});
  if (entry != disk.versions.end()) return entry->second >= version;
  return version.time <= std::max(disk.gc.stable_time, collected);
}

}  // namespace

uint64_t StableTimeInList(const GcState& gc) {
  return gc.stable_epoch == gc.epoch ? gc.stable_time : 0;
}

void Promises::Note(size_t replica, const std::string& line) {
  std::istringstream in(line);
  std::string what;
  in >> what;
  if (what == "said") {
    Said now;
    in >> now.epoch >> now.stable_time >> now.collected >> now.acknowledged >>
        now.reading >> now.incarnation;
    Say(replica, now);
  } else if (what == "came") {
    uint32_t key = 0;
    Version version;
    uint64_t writer = 0;
    in >> key >> version.time >> version.replica >> writer;
    Come(key, version, writer);
  }
}

void Promises::Say(size_t replica, const Said& now) {
  Said* const said = &said_[replica];
  const bool same_list = now.epoch == said->epoch;
  if (now.epoch < said->epoch || now.incarnation < said->incarnation ||
      (same_list && now.stable_time < said->stable_time)) {
    wrong_.push_back(
        "replica " + std::to_string(replica) +
        " takes back what it said of epoch, stable time or incarnation");
  }
  const uint64_t acknowledged = same_list ? said->acknowledged : 0;
  const uint64_t collected = std::max(said->collected, now.collected);
  *said = now;
  said->collected = collected;
  said->acknowledged = std::max(said->acknowledged, acknowledged);
}

void Promises::Come(uint32_t key, const Version& version, uint64_t writer) {
  Version* const left = &left_[{version.replica, key}];
  *left = std::max(*left, version);
  ++came_from_[version.replica];
  if (writer == 0) return;
  const auto [before, first] = writers_.emplace(version, writer);
  if (!first && before->second != writer) {
    wrong_.push_back("one version was issued to write " +
                     std::to_string(writer) + " and to write " +
                     std::to_string(before->second));
  }
}

std::vector<std::string> Promises::Check(size_t replica,
                                         const Scan& disk) const {
  const Said& said = said_[replica];
  std::vector<std::string> wrong;
  const auto complain = [&wrong](const std::string& what) {
    if (wrong.size() < kMaxComplaints) wrong.push_back(what);
  };
  const GcState& kept = disk.gc;
  if (disk.incarnation < said.incarnation) {
    complain("an incarnation that it said it was in is lost");
  }
  if (disk.lease < said.reading) complain("the lease for what it read is lost");
  if (kept.epoch < said.epoch) complain("a member list is lost");
  if (kept.epoch == said.epoch && StableTimeInList(kept) < said.stable_time) {
    complain("a stable time is lost");
  }
  const Member* const me = kept.Find(disk.replica_id);
  if (me != nullptr && kept.epoch == said.epoch &&
      me->acknowledged < said.acknowledged) {
    complain("what it acknowledged is lost");
  }
  for (const auto& [which, version] : left_) {
    const auto& [origin, key] = which;
    if (origin == disk.replica_id &&
        !Holds(disk, said.collected, key, version)) {
      complain(KeyName(key) + " left its origin, which lost it");
    }
    if (kept.epoch == said.epoch && kept.Find(origin) != nullptr &&
        version.time <= said.acknowledged &&
        !Holds(disk, said.collected, key, version)) {
      complain(KeyName(key) + " is not held, though acknowledged");
    }
  }
  return wrong;
}

uint64_t Promises::epoch() const {
  uint64_t newest = 0;
  for (const Said& said : said_) newest = std::max(newest, said.epoch);
  return newest;
}

uint64_t Promises::came_from(uint64_t replica_id) const {
  const auto it = came_from_.find(replica_id);
  return it == came_from_.end() ? 0 : it->second;
}

}  // namespace rocksync::crash
