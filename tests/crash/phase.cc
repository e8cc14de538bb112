#include "tests/crash/phase.h"

#include <chrono>
#include <memory>
#include <thread>

#include "replication/store/store_access.h"
#include "rocksdb/utilities/backup_engine.h"
#include "rocksdb/utilities/checkpoint.h"
#include "tests/crash/journal.h"

namespace rocksync::crash {
namespace {

void Flush(Replica* replica) {
  MustBeOk(replica->db()->Flush(rocksdb::FlushOptions(), replica->families()),
           "flush");
}

void Compact(Replica* replica) {
  for (rocksdb::ColumnFamilyHandle* family : replica->families()) {
    MustBeOk(replica->db()->CompactRange(rocksdb::CompactRangeOptions(), family,
                                         nullptr, nullptr),
             "compact");
  }
}

void TakeSnapshot(Replica* replica) {
  const auto view = StoreAccess::NewView(replica->db());
  const auto snapshot = view->TakeSnapshot([] { return false; });
  if (!snapshot.ok()) Fail(std::string(snapshot.status().message()));
}

void TakeCheckpoint(const std::string& directory, int n, Replica* replica) {
  rocksdb::Checkpoint* opened = nullptr;
  MustBeOk(rocksdb::Checkpoint::Create(replica->db(), &opened), "checkpoint");
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(opened);
  MustBeOk(checkpoint->CreateCheckpoint(CheckpointDirectory(directory, n)),
           "checkpoint");
}

void TakeBackup(const std::string& directory, Replica* replica) {
  rocksdb::BackupEngine* opened = nullptr;
  MustBeOk(
      rocksdb::BackupEngine::Open(
          rocksdb::Env::Default(),
          rocksdb::BackupEngineOptions(BackupDirectory(directory)), &opened),
      "open backups");
  const std::unique_ptr<rocksdb::BackupEngine> backups(opened);
  MustBeOk(backups->CreateNewBackup(replica->db()), "back up");
}

bool DoOnce(Phase phase, const std::string& directory, int n,
            Replica* replica) {
  switch (phase) {
    case Phase::kFlush:
      Flush(replica);
      return true;
    case Phase::kCompact:
      Compact(replica);
      return true;
    case Phase::kSnapshot:
      TakeSnapshot(replica);
      return true;
    case Phase::kCheckpoint:
      TakeCheckpoint(directory, n, replica);
      return true;
    case Phase::kBackup:
      TakeBackup(directory, replica);
      return true;
    case Phase::kAdoption:
      MustBeOk(replica->db()->WaitForIndexBuild(60000), "adopt");
      return false;
    default:
      return false;
  }
}

}  // namespace

std::string Name(Phase phase) {
  switch (phase) {
    case Phase::kLoad:
      return "load";
    case Phase::kOpen:
      return "open";
    case Phase::kFlush:
      return "flush";
    case Phase::kCompact:
      return "compact";
    case Phase::kSnapshot:
      return "snapshot";
    case Phase::kCheckpoint:
      return "checkpoint";
    case Phase::kBackup:
      return "backup";
    case Phase::kAdoption:
      return "adoption";
    case Phase::kClose:
      return "close";
  }
  return "";
}

void RunPhase(Phase phase, const std::string& directory, Replica* replica,
              const std::atomic<bool>& stop) {
  for (int n = 1; !stop; ++n) {
    Say("begin-phase " + std::to_string(n));
    if (!DoOnce(phase, directory, n, replica)) return;
    Say("end-phase " + std::to_string(n));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace rocksync::crash
