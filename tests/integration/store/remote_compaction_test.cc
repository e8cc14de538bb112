// RocksDB's remote compaction of a replicated database: its compactions, those
// of the index too, are done by DB::OpenAndCompact, which knows nothing of the
// library.

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "replication/store/format/index_key.h"
#include "rocksdb/db.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/table.h"
#include "rocksync/filter_policy.h"
#include "rocksync/rocksdb_version.h"
#include "tests/integration/store/store_fixture.h"

namespace rocksync {
namespace {

using rocksdb::CompactionServiceJobInfo;
using rocksdb::CompactionServiceJobStatus;

// Names are in hexadecimal in some versions.
bool IsOfIndex(const std::string& input) {
  const std::string name = kIndexFamilyName;
  return input.find(name) != std::string::npos ||
         input.find(rocksdb::Slice(name).ToString(/*hex=*/true)) !=
             std::string::npos;
}

// The other machine.
class Compactor : public rocksdb::CompactionService {
 public:
  Compactor(std::string name, std::string output)
      : name_(std::move(name)), output_(std::move(output)) {}

  const char* Name() const override { return "test.Compactor"; }
#if ROCKSYNC_ROCKSDB_AT_LEAST(9, 7)
  rocksdb::CompactionServiceScheduleResponse Schedule(
      const CompactionServiceJobInfo& info, const std::string& input) override {
    const std::string job = std::to_string(info.job_id);
    Take(job, input);
    return {job, CompactionServiceJobStatus::kSuccess};
  }
  CompactionServiceJobStatus Wait(const std::string& job,
                                  std::string* result) override {
    return Compact(job, result);
  }
#else
  CompactionServiceJobStatus StartV2(const CompactionServiceJobInfo& info,
                                     const std::string& input) override {
    Take(std::to_string(info.job_id), input);
    return CompactionServiceJobStatus::kSuccess;
  }
  CompactionServiceJobStatus WaitForCompleteV2(
      const CompactionServiceJobInfo& info, std::string* result) override {
    return Compact(std::to_string(info.job_id), result);
  }
#endif

  std::atomic<int> jobs{0};
  std::atomic<int> index_jobs{0};

 private:
  void Take(const std::string& job, const std::string& input) {
    const std::lock_guard lock(mutex_);
    inputs_[job] = input;
  }
  CompactionServiceJobStatus Compact(const std::string& job,
                                     std::string* result) {
    std::string input;
    {
      const std::lock_guard lock(mutex_);
      input = inputs_[job];
    }
    rocksdb::CompactionServiceOptionsOverride its_own;
    rocksdb::BlockBasedTableOptions table;
    table.filter_policy = NewFilterPolicy(10);
    its_own.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    const rocksdb::Status status = rocksdb::DB::OpenAndCompact(
        name_, output_ + job, input, result, its_own);
    EXPECT_TRUE(status.ok()) << status.ToString();
    ++(IsOfIndex(input) ? index_jobs : jobs);
    return status.ok() ? CompactionServiceJobStatus::kSuccess
                       : CompactionServiceJobStatus::kFailure;
  }

  const std::string name_;
  const std::string output_;
  std::mutex mutex_;
  std::map<std::string, std::string> inputs_;  // by job
};

class RemoteCompactionTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    std::filesystem::create_directory(Dir("output"));
    compactor_ = std::make_shared<Compactor>(Dir(), Dir("output/"));
    options_.compaction_service = compactor_;
    options_.disable_auto_compactions = true;
  }
  void Fill(int round) {
    for (int i = 0; i < 200; ++i) {
      const std::string key = std::to_string((i * 7 + round) % 300);
      if (i % 10 == 0) {
        ASSERT_ROCKS_OK(db_->Delete({}, key));
      } else {
        ASSERT_ROCKS_OK(Put(key, std::to_string(round)));
      }
    }
    ASSERT_ROCKS_OK(db_->Flush({}));
  }

  std::shared_ptr<Compactor> compactor_;
};

TEST_F(RemoteCompactionTest, OfTheApplicationsFamilies) {
  ASSERT_ROCKS_OK(Open());
  for (int round = 0; round < 4; ++round) Fill(round);
  const std::string before = Get("7");
  const Digest digest = Total();
  ASSERT_ROCKS_OK(db_->CompactRange({}, nullptr, nullptr));
  EXPECT_EQ(compactor_->jobs, 1);
  EXPECT_EQ(Get("7"), before);
  EXPECT_EQ(Total(), digest);
  CloseAndCheck();
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("7"), before);
  EXPECT_EQ(db_->GetIndexStats().foreign_writes, 0u);
  CloseAndCheck();
}

// Each closing flushes it, and once there are some files RocksDB compacts them.
TEST_F(RemoteCompactionTest, OfTheIndex) {
  for (int round = 0; round < 8; ++round) {
    ASSERT_ROCKS_OK(Open());
    EXPECT_EQ(db_->GetIndexStats().foreign_writes, 0u);
    Fill(round);
    CloseAndCheck();
  }
  ASSERT_ROCKS_OK(Open());
  for (int i = 0; i < 3000 && compactor_->index_jobs == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_GT(compactor_->index_jobs, 0);
  // Entries are found by their positions in what came back.
  {
    const auto snapshot = StoreAccess::NewView(db_.get())->TakeSnapshot({});
    ASSERT_TRUE(snapshot.ok());
    for (const std::string key : {"7", "150", "299"}) {
      const auto found = (*snapshot)->FindKey(0, key);
      ASSERT_TRUE(found.ok()) << key;
      EXPECT_TRUE(found->has_value()) << key;
    }
  }
  CloseAndCheck();
}

}  // namespace
}  // namespace rocksync
