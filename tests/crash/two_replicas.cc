#include "tests/crash/two_replicas.h"

#include <functional>
#include <thread>
#include <utility>

#include "tests/crash/journal.h"

namespace rocksync::crash {

TwoReplicas::TwoReplicas(const Settings& settings) : settings_(settings) {
  sides_[0].directory = settings.directory + "/heal0";
  sides_[1].directory = settings.directory + "/heal1";
}

void TwoReplicas::Listen(Side* side, const std::string& line) {
  if (StartsWith(line, "begin ")) {
    if (const auto operation = DecodeOperation(line.substr(6))) {
      side->history.Began(*operation);
    }
  } else if (StartsWith(line, "done ")) {
    side->history.Acknowledged(std::stoull(line.substr(5)));
  } else if (StartsWith(line, "listen ")) {
    side->address = line.substr(7);
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

std::vector<Process*> TwoReplicas::Children() const {
  std::vector<Process*> children;
  for (const Side& side : sides_) {
    if (side.child != nullptr) children.push_back(side.child.get());
  }
  return children;
}

bool TwoReplicas::Wait(const std::function<bool()>& enough,
                       const std::string& what, Kill* kill) {
  if (Process::ReadUntil(Children(), enough, kPatience)) return true;
  kill->wrong.push_back("waited in vain for " + what + "; " +
                        sides_[0].failure + " " + sides_[1].failure);
  return false;
}

bool TwoReplicas::Start(uint32_t replica, uint32_t number, Kill* kill) {
  Side* const side = &sides_[replica];
  const bool first_incarnation = side->address.empty();
  side->quiet = false;
  side->equal = false;
  side->sessions = 0;
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
      "--listen",
      first_incarnation ? "127.0.0.1:0" : side->address,
      "--certificates",
      settings_.directory + "/certificates"};
  if (replica == 1) {
    arguments.push_back("--peer");
    arguments.push_back(sides_[0].address);
  }
  side->child = std::make_unique<Process>(
      arguments, [this, side](const std::string& line) { Listen(side, line); });
  return Wait([side] { return !side->address.empty(); }, "a listener", kill);
}

bool TwoReplicas::StartMissing(uint32_t number, Kill* kill) {
  for (uint32_t replica = 0; replica < sides_.size(); ++replica) {
    if (sides_[replica].child == nullptr && !Start(replica, number, kill)) {
      return false;
    }
  }
  return true;
}

Kill TwoReplicas::KillOnce(uint32_t number, bool settle) {
  Kill kill;
  kill.number = number;
  kill.machine = "heal";
  Dice dice(settings_.seed, number);
  const uint32_t victim = dice.Below(3);  // 2: both
  Side* const watched = &sides_[victim % 2];
  const uint64_t sessions = 1 + dice.Below(12);
  const std::chrono::microseconds delay = dice.Delay(20'000);
  uint64_t acknowledged = 0;
  uint64_t synced = 0;
  for (const Side& side : sides_) {
    acknowledged += side.history.acknowledged();
    synced += side.history.acknowledged_synced();
  }

  if (!StartMissing(number, &kill)) return kill;
  const uint64_t from = watched->sessions;
  if (!Wait([&] { return watched->sessions >= from + sessions; },
            "sessions to go on", &kill)) {
    return kill;
  }
  std::this_thread::sleep_for(delay);
  kill.moment = victim == 2 ? "both" : "replica " + std::to_string(victim);
  kill.moment += " after " + std::to_string(sessions) + " steps + " +
                 std::to_string(delay.count()) + " us";
  if (victim != 1) KillAndCheck(&sides_[0], &kill);
  if (victim != 0) KillAndCheck(&sides_[1], &kill);
  if (kill.wrong.empty() && (settle || dice.Below(3) == 0)) {
    kill.moment += ", settled";
    if (StartMissing(number + (uint32_t{1} << 20), &kill)) Settle(&kill);
  }
  for (const Side& side : sides_) {
    kill.acknowledged += side.history.acknowledged();
    kill.synced += side.history.acknowledged_synced();
  }
  kill.acknowledged -= acknowledged;
  kill.synced -= synced;
  return kill;
}

void TwoReplicas::KillAndCheck(Side* side, Kill* kill) {
  if (!side->child->Kill() || !side->failure.empty()) {
    kill->wrong.push_back("the child ended by itself; " + side->failure);
  }
  side->child.reset();
  const Scan scan = ScanReplica(side->directory);
  kill->Complain(side->directory, scan.wrong);
  if (scan.being_read) {
    kill->wrong.push_back(side->directory + ": is to be read again");
  }
  kill->Complain(side->directory, side->history.Check(scan.pairs, Loss::kNone));
  side->history.Restart(scan.pairs);
  kill->pairs = scan.pairs.size();
  kill->tombstones = scan.tombstones;
}

void TwoReplicas::Settle(Kill* kill) {
  // One after the other: equal as of the last session is equal for good only
  // if nobody writes any more.
  sides_[0].child->Tell("settle");
  if (!Wait([this] { return sides_[0].quiet; }, "quiet", kill)) return;
  sides_[1].child->Tell("settle");
  if (!Wait([this] { return sides_[1].equal; }, "equality", kill)) return;
  Compare(kill);
}

void TwoReplicas::Compare(Kill* kill) {
  std::array<Scan, 2> scans;
  for (size_t i = 0; i < sides_.size(); ++i) {
    sides_[i].child->Kill();
    sides_[i].child.reset();
    scans[i] = ScanReplica(sides_[i].directory);
    kill->Complain(sides_[i].directory, scans[i].wrong);
  }
  kill->Complain("proven equal, but",
                 Differences(scans[0].pairs, scans[1].pairs));
  if (scans[0].digest != scans[1].digest) {
    kill->wrong.push_back("proven equal, but the indexes differ");
  }
  // What each side acknowledged is now on both.
  for (Side& side : sides_) {
    for (const Scan& scan : scans) {
      kill->Complain("healed", side.history.Check(scan.pairs, Loss::kNone));
    }
    side.history.Restart(scans[0].pairs);
  }
  kill->pairs = scans[0].pairs.size();
  kill->tombstones = scans[0].tombstones;
}

}  // namespace rocksync::crash
