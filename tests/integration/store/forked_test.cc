// A child of fork has a copy of the database, and shares its files: whatever
// it does there, the parent's goes on and loses nothing.

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "replication/session/storage_view.h"
#include "replication/store/store_access.h"
#include "rocksdb/utilities/checkpoint.h"
#include "rocksdb/write_batch.h"
#include "tests/integration/store/store_fixture.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyHandle;
using rocksdb::Status;

class ForkedTest : public StoreTest {
 protected:
  // The number of the first of `calls`' ends that is not a refusal, from 1 on;
  // 0: each was refused. Called in the child.
  static int FirstNotRefused(const std::vector<Status>& ends) {
    for (size_t i = 0; i < ends.size(); ++i) {
      const bool refused =
          (ends[i].IsNotSupported() || ends[i].IsAborted()) &&
          ends[i].ToString().find("process") != std::string::npos;
      if (!refused) return static_cast<int>(i) + 1;
    }
    return 0;
  }

  // RocksDB asks for the files of the database, and has it flushed first.
  Status Checkpoint() {
    rocksdb::Checkpoint* raw = nullptr;
    const Status made = rocksdb::Checkpoint::Create(db_.get(), &raw);
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
    return made.ok() ? checkpoint->CreateCheckpoint(Dir("checkpoint"), 0)
                     : made;
  }

  int InChild() {
    const rocksdb::WriteOptions plain;
    rocksdb::WriteBatch batch;
    batch.Put("batch", "child").PermitUncheckedError();
    batch.Put("batch2", "child").PermitUncheckedError();
    ColumnFamilyHandle* made = nullptr;
    ColumnFamilyHandle* const family = db_->DefaultColumnFamily();
    const std::vector<Status> ends = {
        db_->Put(plain, "child", "v"),
        db_->Delete(plain, "k"),
        db_->Write(plain, &batch),
        db_->DeleteRange(plain, family, "a", "z"),
        db_->Update(plain, family, "k",
                    [](std::optional<std::string>* value) {
                      value->emplace("child");
                      return Status::OK();
                    }),
        db_->Flush({}, family),
        db_->CompactRange({}, family, nullptr, nullptr),
        db_->FlushWAL(true),
        db_->SyncWAL(),
        db_->SetOptions(family, {{"write_buffer_size", "1000000"}}),
        db_->SetDBOptions({{"max_open_files", "100"}}),
        db_->PauseBackgroundWork(),
        db_->ContinueBackgroundWork(),
        db_->LockWAL(),
        db_->UnlockWAL(),
        db_->Resume(),
        db_->DisableFileDeletions(),
        db_->EnableFileDeletions(),
        Checkpoint(),
        db_->CreateColumnFamily({}, "child", &made),
        db_->SetMembers(1, {1, 2}),
        db_->DestroyColumnFamilyHandle(dropped_),
        db_->Close(),
    };
    const int not_refused = FirstNotRefused(ends);
    db_.reset();
    return not_refused;
  }

  // As ::fork; a child that waits for a lock of a thread it lacks is ended.
  static pid_t Fork() {
    const pid_t child = ::fork();
    EXPECT_GE(child, 0);
    if (child == 0) ::alarm(60);
    return child;
  }
  // What it has exited with; the number of the signal that ended it, negative.
  static int ExitOf(pid_t child) {
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  // The parent, as if there had been no child.
  void GoOnAndReopen() {
    for (int i = 0; i < 100; ++i) {
      ASSERT_ROCKS_OK(Put("after" + std::to_string(i), "v"));
    }
    if (dropped_ != nullptr) {
      ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(dropped_));
    }
    ASSERT_ROCKS_OK(Open());
    EXPECT_EQ(Get("after99"), "v");
    EXPECT_EQ(Get("child"), "-");
    CloseAndCheck();
  }

  // With a table that goes with the handle.
  ColumnFamilyHandle* dropped_ = nullptr;
};

TEST_F(ForkedTest, TheChildWritesNothing) {
  options_.manual_wal_flush = true;  // the child has a copy of what is buffered
  ASSERT_ROCKS_OK(Open());
  for (int i = 0; i < 100; ++i) {
    ASSERT_ROCKS_OK(Put("before" + std::to_string(i), "v"));
  }
  ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, "dropped", &dropped_));
  ASSERT_ROCKS_OK(db_->DropColumnFamily(dropped_));
  const pid_t child = Fork();
  if (child == 0) ::_exit(InChild());
  EXPECT_EQ(ExitOf(child), 0) << "the call that was not refused";
  EXPECT_EQ(Get("before99"), "v");
  GoOnAndReopen();
}

// It has the lock of the key, as its parent has.
TEST_F(ForkedTest, AChildOfTheFunctionOfAnUpdateWritesNothing) {
  options_.manual_wal_flush = true;
  ASSERT_ROCKS_OK(Open());
  pid_t child = -1;
  const Status updated =
      db_->Update({}, db_->DefaultColumnFamily(), "k",
                  [&](std::optional<std::string>* value) {
                    child = Fork();
                    value->emplace(child == 0 ? "child" : "parent");
                    return Status::OK();
                  });
  if (child == 0) ::_exit(FirstNotRefused({updated}));
  EXPECT_EQ(ExitOf(child), 0);
  ASSERT_ROCKS_OK(updated);
  EXPECT_EQ(Get("k"), "parent");
  GoOnAndReopen();
}

// What applies the batch is a thread of its parent.
TEST_F(ForkedTest, AChildOfTheApplyHookEnds) {
  struct ForkingHook final : ApplyHook {
    void BeforeApply(const std::vector<AppliedChange>&) override {
      child = Fork();
    }
    pid_t child = -1;
  };
  const auto hook = std::make_shared<ForkingHook>();
  replication_.hook = hook;
  ASSERT_ROCKS_OK(Open());
  {
    const auto view = StoreAccess::NewView(db_.get());
    std::vector<ApplyOutcome> outcomes;
    const std::vector<Pair> pairs = {{0, "k", {1 << 20, 99}, false, "v"}};
    const absl::Status applied = view->Apply(pairs, {}, &outcomes);
    if (hook->child == 0) ::_exit(1);
    ASSERT_TRUE(applied.ok()) << applied;
  }
  EXPECT_EQ(ExitOf(hook->child), -SIGABRT);
  EXPECT_EQ(Get("k"), "v");
  GoOnAndReopen();
}

}  // namespace
}  // namespace rocksync
