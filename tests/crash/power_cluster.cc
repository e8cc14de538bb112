#include "tests/crash/power_cluster.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "tests/crash/journal.h"

namespace rocksync::crash {

PowerCluster::PowerCluster(const Settings& settings, uint32_t replicas)
    : settings_(settings), promises_(replicas) {
  for (uint32_t i = 0; i < replicas; ++i) {
    sides_.emplace_back(i);
    sides_[i].directory = settings.directory + "/power" +
                          std::to_string(replicas) + "_" + std::to_string(i);
  }
}

void PowerCluster::Listen(size_t replica, const std::string& line) {
  Side* const side = &sides_[replica];
  side->files.Note(line);
  promises_.Note(replica, line);
  if (StartsWith(line, "begin ")) {
    if (const auto operation = DecodeOperation(line.substr(6))) {
      side->history.Began(*operation);
    }
  } else if (StartsWith(line, "done ")) {
    side->history.Acknowledged(std::stoull(line.substr(5)));
  } else if (StartsWith(line, "replica ")) {
    side->id = std::stoull(line.substr(8));
  } else if (StartsWith(line, "listen ")) {
    side->address = line.substr(7);
    side->listens = true;
  } else if (StartsWith(line, "said ")) {
    ++side->said;
  } else if (line == "session") {
    ++side->sessions;
  } else if (line == "quiet") {
    side->quiet = true;
  } else if (line == "equal") {
    side->equal = true;
  } else if (StartsWith(line, "failed ")) {
    side->failure = line;
  }
}

bool PowerCluster::Wait(const std::function<bool()>& enough,
                        const std::string& what, Kill* kill) {
  std::vector<Process*> children;
  for (const Side& side : sides_) {
    if (side.child != nullptr) children.push_back(side.child.get());
  }
  if (Process::ReadUntil(children, enough, kPatience)) return true;
  kill->wrong.push_back("waited in vain for " + what);
  for (const Side& side : sides_) {
    if (!side.failure.empty()) kill->wrong.push_back(side.failure);
  }
  return false;
}

bool PowerCluster::Start(size_t replica, uint32_t number, Kill* kill) {
  Side* const side = &sides_[replica];
  const bool first_incarnation = side->address.empty();
  side->listens = false;
  side->quiet = false;
  side->equal = false;
  side->sessions = 0;
  side->said = 0;
  std::vector<std::string> arguments = {
      "child",
      "--directory",
      side->directory,
      "--seed",
      std::to_string(settings_.seed),
      "--kill",
      std::to_string(number),
      "--replica",
      std::to_string(replica),
      "--plant",
      settings_.fault,
      "--tell-syncs",
      "--tell-peers",
      "--listen",
      first_incarnation ? "127.0.0.1:0" : side->address,
      "--certificates",
      settings_.directory + "/certificates"};
  for (size_t peer = 0; peer < replica; ++peer) {
    arguments.push_back("--peer");
    arguments.push_back(sides_[peer].address);
  }
  side->child = std::make_unique<Process>(
      arguments,
      [this, replica](const std::string& line) { Listen(replica, line); });
  return Wait([side] { return side->listens; }, "a listener", kill);
}

bool PowerCluster::StartMissing(uint32_t number, Kill* kill) {
  for (size_t i = 0; i < sides_.size(); ++i) {
    if (sides_[i].child == nullptr && !Start(i, number, kill)) return false;
  }
  return true;
}

// Of all, the first time, and now and then a newer one of the same. Not before
// the first end: what a list makes replicas sync hides what else is not synced.
void PowerCluster::SetMembers(Dice* dice) {
  if (!settled_) return;
  const uint64_t epoch = promises_.epoch();
  if (epoch > 0 && dice->Below(8) != 0) return;
  std::string request = "members " + std::to_string(epoch + 1);
  for (const Side& side : sides_) request += " " + std::to_string(side.id);
  // On one that has the newest list.
  for (size_t i = 0; i < sides_.size(); ++i) {
    if (promises_.epoch(i) == epoch) return sides_[i].child->Tell(request);
  }
}

// Until the lease that it had before has run out.
bool PowerCluster::StayAwayForLong(size_t victim, Dice* dice) const {
  if (sides_[victim].child != nullptr || dice->Below(4) != 0) return false;
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  return true;
}

// `at_once`: as soon as it has spoken twice. Else, half of the time: just when
// a pair that it wrote has come to another.
bool PowerCluster::Aim(size_t victim, bool at_once, Dice* dice, Kill* kill) {
  Side* const side = &sides_[victim];
  if (at_once) {
    kill->moment = "at once";
    return Wait([side] { return side->said > 1; }, "words", kill);
  }
  if (dice->Below(2) == 0) {
    const uint64_t came = promises_.came_from(side->id);
    const uint64_t more = 1 + dice->Below(200);
    kill->moment = std::to_string(more) + " pairs sent";
    return Wait([&] { return promises_.came_from(side->id) >= came + more; },
                "pairs to be sent", kill);
  }
  const uint64_t from = side->sessions;
  const uint64_t more = 1 + dice->Below(12);
  const std::chrono::microseconds delay = dice->Delay(20'000);
  kill->moment = std::to_string(more) + " steps + " +
                 std::to_string(delay.count()) + " us";
  if (!Wait([&] { return side->sessions >= from + more; }, "sessions to go on",
            kill)) {
    return false;
  }
  std::this_thread::sleep_for(delay);
  return true;
}

Kill PowerCluster::KillOnce(uint32_t number, bool settle) {
  Kill kill;
  kill.number = number;
  kill.machine = "heal-power";
  Dice dice(settings_.seed, number);
  const auto all = static_cast<uint32_t>((size_t{1} << sides_.size()) - 1);
  const uint32_t victims = 1 + dice.Below(all);
  size_t first = 0;
  while ((victims >> first & 1) == 0) ++first;
  for (const Side& side : sides_) {
    kill.acknowledged -= side.history.acknowledged();
    kill.synced -= side.history.acknowledged_synced();
  }

  const bool was_away = StayAwayForLong(first, &dice);
  if (!StartMissing(number, &kill)) return kill;
  SetMembers(&dice);
  if (!Aim(first, was_away, &dice, &kill)) return kill;
  for (size_t i = 0; i < sides_.size(); ++i) {
    if ((victims >> i & 1) == 0) continue;
    const bool keeps_power = dice.Below(4) == 0;
    kill.moment +=
        ", " + std::to_string(i) + (keeps_power ? " killed" : " lost ");
    KillAndCheck(i, keeps_power, &dice, &kill);
  }
  kill.moment += " of " + std::to_string(sides_.size());
  if (kill.wrong.empty() && settle) {
    kill.moment += ", settled";
    if (StartMissing(number + (uint32_t{1} << 20), &kill)) Settle(&dice, &kill);
  }
  kill.Complain("said", promises_.wrong());
  for (const Side& side : sides_) {
    kill.acknowledged += side.history.acknowledged();
    kill.synced += side.history.acknowledged_synced();
  }
  return kill;
}

void PowerCluster::KillAndCheck(size_t replica, bool keeps_power, Dice* dice,
                                Kill* kill) {
  Side* const side = &sides_[replica];
  if (!side->child->Kill() || !side->failure.empty()) {
    kill->wrong.push_back("the child ended by itself; " + side->failure);
  }
  side->child.reset();
  if (!keeps_power) {
    kill->moment += std::to_string(side->files.CutFiles(dice)) + " bytes";
  }
  const Scan scan = ScanReplica(side->directory);
  kill->Complain(side->directory, scan.wrong);
  if (scan.being_read) {
    kill->wrong.push_back(side->directory + ": is to be read again");
  }
  kill->Complain(side->directory,
                 side->history.Check(
                     scan.pairs, keeps_power ? Loss::kNone : Loss::kUnsynced));
  kill->Complain(side->directory, promises_.Check(replica, scan));
  side->history.Restart(scan.pairs);
  kill->pairs = scan.pairs.size();
  kill->tombstones = scan.tombstones;
}

bool PowerCluster::SettleOne(size_t replica, Kill* kill) {
  Side* const side = &sides_[replica];
  side->equal = false;
  side->child->Tell("settle");
  return Wait([side] { return side->equal; }, "equality", kill);
}

void PowerCluster::Settle(Dice* dice, Kill* kill) {
  for (Side& side : sides_) side.child->Tell("quiet");
  if (!Wait(
          [this] {
            return std::all_of(sides_.begin(), sides_.end(),
                               [](const Side& side) { return side.quiet; });
          },
          "quiet", kill)) {
    return;
  }
  // Twice: the first round brings everything to replica 0.
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 1; i < sides_.size(); ++i) {
      if (!SettleOne(i, kill)) return;
    }
  }
  Compare(dice, kill);
  settled_ = true;
}

// What was proven equal survives the power, and with it all that was
// acknowledged.
void PowerCluster::Compare(Dice* dice, Kill* kill) {
  std::vector<Scan> scans;
  for (Side& side : sides_) {
    side.child->Kill();
    side.child.reset();
    side.files.CutFiles(dice);
    scans.push_back(ScanReplica(side.directory));
    kill->Complain(side.directory, scans.back().wrong);
    kill->Complain(side.directory,
                   promises_.Check(scans.size() - 1, scans.back()));
  }
  for (const Scan& scan : scans) {
    kill->Complain("proven equal, but",
                   Differences(scans[0].pairs, scan.pairs));
    for (Side& side : sides_) {
      kill->Complain("healed", side.history.Check(scan.pairs, Loss::kNone));
    }
  }
  for (Side& side : sides_) side.history.Restart(scans[0].pairs);
  kill->pairs = scans[0].pairs.size();
  kill->tombstones = scans[0].tombstones;
}

}  // namespace rocksync::crash
