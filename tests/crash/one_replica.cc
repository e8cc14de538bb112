#include "tests/crash/one_replica.h"

#include <filesystem>
#include <iterator>
#include <thread>
#include <vector>

#include "rocksdb/utilities/backup_engine.h"
#include "tests/crash/journal.h"
#include "tests/crash/reopening.h"
#include "tests/crash/replica.h"

namespace rocksync::crash {

OneReplica::OneReplica(const Settings& settings, Loss loss)
    : settings_(settings),
      loss_(loss),
      directory_(settings.directory +
                 (loss == Loss::kNone ? "/one" : "/power")) {}

void OneReplica::Listen(const std::string& line) {
  files_.Note(line);
  if (StartsWith(line, "begin ")) {
    if (const auto operation = DecodeOperation(line.substr(6))) {
      history_.Began(*operation);
    }
  } else if (StartsWith(line, "done ")) {
    history_.Acknowledged(std::stoull(line.substr(5)));
    ++done_;
  } else if (StartsWith(line, "begin-phase ")) {
    phase_begun_ = std::stoi(line.substr(12));
  } else if (StartsWith(line, "end-phase ")) {
    phase_ended_ = std::stoi(line.substr(10));
  } else if (StartsWith(line, "failed ")) {
    failure_ = line;
  }
}

// An adoption needs a plain database.
void OneReplica::Prepare(Phase phase, Kill* kill) {
  done_ = 0;
  phase_begun_ = 0;
  phase_ended_ = 0;
  if (phase != Phase::kAdoption || !std::filesystem::exists(directory_)) {
    return;
  }
  const rocksdb::Status status =
      ReplicatedDB::Detach(DatabaseOptions(), directory_, Families());
  if (!status.ok() && !status.IsNotFound()) {
    kill->wrong.push_back("detach: " + status.ToString());
  }
}

void OneReplica::Aim(Phase phase, Dice* dice, Process* child, Kill* kill) {
  const uint64_t writes = 20 + dice->Below(800);
  const int begun =
      phase == Phase::kAdoption ? 1 : 1 + static_cast<int>(dice->Below(4));
  const std::chrono::microseconds delay =
      dice->Delay(phase == Phase::kOpen ? 80'000 : 15'000);
  kill->moment = Name(phase);
  bool ready = true;
  if (phase == Phase::kLoad || phase == Phase::kClose) {
    ready = Process::ReadUntil(
        {child}, [&] { return done_ >= writes; }, kPatience);
    kill->moment += " after " + std::to_string(writes) + " writes";
  }
  if (phase == Phase::kClose) child->Tell("close");
  if (phase != Phase::kLoad && phase != Phase::kOpen) {
    const int n = phase == Phase::kClose ? 1 : begun;
    ready = ready && Process::ReadUntil(
                         {child}, [&] { return phase_begun_ >= n; }, kPatience);
    kill->moment += " " + std::to_string(n);
  }
  if (!ready) {
    kill->wrong.push_back("the child did not come to the moment; " + failure_);
  }
  kill->moment += " + " + std::to_string(delay.count()) + " us";
  std::this_thread::sleep_for(delay);
}

Kill OneReplica::KillOnce(uint32_t number) {
  Kill kill;
  kill.number = number;
  kill.machine = loss_ == Loss::kNone ? "one" : "power";
  Dice dice(settings_.seed, number);
  Phase phase = kPhases[dice.Below(std::size(kPhases))];
  // Files that are copied elsewhere do not tell of themselves.
  if (loss_ == Loss::kUnsynced &&
      (phase == Phase::kCheckpoint || phase == Phase::kBackup)) {
    phase = Phase::kLoad;
  }
  Prepare(phase, &kill);
  const uint64_t acknowledged = history_.acknowledged();
  const uint64_t synced = history_.acknowledged_synced();

  std::vector<std::string> arguments = {"child",
                                        "--directory",
                                        directory_,
                                        "--seed",
                                        std::to_string(settings_.seed),
                                        "--kill",
                                        std::to_string(number),
                                        "--phase",
                                        std::to_string(static_cast<int>(phase)),
                                        "--plant",
                                        settings_.fault};
  if (loss_ == Loss::kUnsynced) arguments.push_back("--tell-syncs");
  Process child(arguments, [this](const std::string& line) { Listen(line); });
  Aim(phase, &dice, &child, &kill);
  if (!child.Kill() || !failure_.empty()) {
    kill.wrong.push_back("the child ended by itself; " + failure_);
  }
  kill.acknowledged = history_.acknowledged() - acknowledged;
  kill.synced = history_.acknowledged_synced() - synced;
  if (loss_ == Loss::kUnsynced) {
    kill.moment +=
        ", " + std::to_string(files_.CutFiles(&dice)) + " bytes lost";
  }
  if (kill.wrong.empty()) CheckData(phase, &dice, &kill);
  if (phase == Phase::kCheckpoint) CheckCheckpoint(&kill);
  if (phase == Phase::kBackup) CheckBackup(&kill);
  return kill;
}

void OneReplica::CheckData(Phase phase, Dice* dice, Kill* kill) {
  // Killed before there was a database.
  if (!std::filesystem::exists(directory_ + "/CURRENT")) return;
  Scan scan = ScanReplica(directory_);
  kill->Complain("after the kill", scan.wrong);
  kill->Complain("after the kill", history_.Check(scan.pairs, loss_));
  if (scan.being_read || !scan.has_index || dice->Below(2) == 0) {
    const Pairs before = std::move(scan.pairs);
    kill->Complain("reopened", CheckByOpening(directory_, false, &scan));
    if (scan.pairs != before) {
      kill->wrong.push_back("reopened: opening changed pairs");
    }
    kill->moment += ", reopened";
  }
  kill->pairs = scan.pairs.size();
  kill->tombstones = scan.tombstones;
  history_.Restart(scan.pairs);
}

// The last one that was finished, and none that was not.
void OneReplica::CheckCheckpoint(Kill* kill) {
  if (phase_ended_ > 0) {
    Scan scan;
    kill->Complain("checkpoint",
                   CheckByOpening(CheckpointDirectory(directory_, phase_ended_),
                                  true, &scan));
  }
  for (int n = 1; n <= phase_begun_; ++n) {
    const std::string made = CheckpointDirectory(directory_, n);
    std::filesystem::remove_all(made);
    std::filesystem::remove_all(made + ".tmp");
  }
}

void OneReplica::CheckBackup(Kill* kill) {
  const std::string restored = directory_ + ".restored";
  rocksdb::BackupEngine* opened = nullptr;
  rocksdb::Status status = rocksdb::BackupEngine::Open(
      rocksdb::Env::Default(),
      rocksdb::BackupEngineOptions(BackupDirectory(directory_)), &opened);
  const std::unique_ptr<rocksdb::BackupEngine> backups(opened);
  if (status.ok() && phase_ended_ > 0) {
    status = backups->RestoreDBFromLatestBackup(restored, restored);
    if (status.ok()) {
      Scan scan;
      kill->Complain("backup", CheckByOpening(restored, true, &scan));
    }
  }
  if (!status.ok()) kill->wrong.push_back("backup: " + status.ToString());
  std::filesystem::remove_all(restored);
  std::filesystem::remove_all(BackupDirectory(directory_));
}

}  // namespace rocksync::crash
