// A child of fork has a copy of the database, and shares its files: whatever
// it does there, the parent's goes on and loses nothing.

#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

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
        db_->CreateColumnFamily({}, "child", &made),
        db_->SetMembers(1, {1, 2}),
        db_->DestroyColumnFamilyHandle(dropped_),
        db_->Close(),
    };
    const int not_refused = FirstNotRefused(ends);
    db_.reset();
    return not_refused;
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
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);  // ends a child that waits for a lock of a thread it lacks
    ::_exit(InChild());
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0) << "the call that was not refused";
  for (int i = 0; i < 100; ++i) {
    ASSERT_ROCKS_OK(Put("after" + std::to_string(i), "v"));
  }
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(dropped_));
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("before99"), "v");
  EXPECT_EQ(Get("after99"), "v");
  EXPECT_EQ(Get("child"), "-");
  CloseAndCheck();
}

}  // namespace
}  // namespace rocksync
