// Update: reads and writes keys while nobody else writes them.

#include <gmock/gmock.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "rocksdb/env.h"
#include "tests/integration/store/records_since.h"
#include "tests/integration/store/store_fixture.h"

namespace rocksync {
namespace {

using rocksdb::ColumnFamilyHandle;
using rocksdb::Status;
using Value = std::optional<std::string>;
using Values = std::vector<Value>;

class UpdateTest : public StoreTest {
 protected:
  ColumnFamilyHandle* Family() { return db_->DefaultColumnFamily(); }

  // Sets `key` to `to`, having seen `*seen`.
  Status Set(const std::string& key, const Value& to, Value* seen) {
    return db_->Update({}, Family(), key, [&](Value* value) {
      *seen = *value;
      *value = to;
      return Status::OK();
    });
  }
};

Status Increment(Value* value) {
  *value = std::to_string(value->has_value() ? std::stoi(**value) + 1 : 1);
  return Status::OK();
}

TEST_F(UpdateTest, SeesWhatIsThereAndWritesWhatItIsTold) {
  ASSERT_ROCKS_OK(Open());
  Value seen = "unset";
  ASSERT_ROCKS_OK(Set("k", "1", &seen));
  EXPECT_EQ(seen, std::nullopt);
  EXPECT_EQ(Get("k"), "1");
  ASSERT_ROCKS_OK(Set("k", "", &seen));
  EXPECT_EQ(seen, "1");
  EXPECT_EQ(Get("k"), "");
  ASSERT_ROCKS_OK(Set("k", std::nullopt, &seen));
  EXPECT_EQ(seen, "");
  EXPECT_EQ(Get("k"), "-");
  CloseAndCheck();
}

TEST_F(UpdateTest, WhatStaysAsItWasIsNotWritten) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("k", "same"));
  const uint64_t before = db_->GetLatestSequenceNumber();
  Value seen;
  ASSERT_ROCKS_OK(Set("k", "same", &seen));
  ASSERT_ROCKS_OK(Set("not there", std::nullopt, &seen));
  EXPECT_THAT(RecordsSince(db_.get(), before), testing::IsEmpty());
  CloseAndCheck();
}

TEST_F(UpdateTest, AnErrorOfTheFunctionWritesNothing) {
  ASSERT_ROCKS_OK(Open());
  const Status status = db_->Update({}, Family(), "k", [](Value* value) {
    value->emplace("half done");
    return Status::Aborted("changed my mind");
  });
  EXPECT_TRUE(status.IsAborted());
  EXPECT_EQ(Get("k"), "-");
  CloseAndCheck();
}

TEST_F(UpdateTest, NoUpdateIsLost) {
  ASSERT_ROCKS_OK(Open());
  constexpr int kThreads = 4;
  constexpr int kTimes = 500;
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < kTimes; ++j) {
        if (!db_->Update({}, Family(), "counter", Increment).ok()) ++failed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(Get("counter"), std::to_string(kThreads * kTimes));
  CloseAndCheck();
}

// A pair of a peer that is applied meanwhile comes before the update, which
// then adds to it, or after it, and wins; nothing comes in between.
TEST_F(UpdateTest, PairsOfPeersComeBeforeOrAfter) {
  ASSERT_ROCKS_OK(Open());
  const auto view = StoreAccess::NewView(db_.get());
  constexpr uint64_t kPairs = 300;
  std::atomic<bool> done{false};
  std::atomic<uint64_t> lost{0};
  std::thread updates([&] {
    while (!done) {
      Value wrote;
      const Status status = db_->Update({}, Family(), "k", [&](Value* value) {
        if (!value->has_value()) value->emplace();
        (*value)->push_back('+');
        wrote = *value;
        // Read while the lock is held: still what it was.
        std::string now;
        const Status got = db_->Get({}, Family(), "k", &now);
        if (!got.IsNotFound() && now + "+" != **value) ++lost;
        return Status::OK();
      });
      if (!status.ok()) ++lost;
    }
  });
  uint64_t time = rocksdb::Env::Default()->NowMicros() / 1000 << 16;
  for (uint64_t i = 0; i < kPairs; ++i) {
    std::vector<ApplyOutcome> outcomes;
    time += 1 << 10;
    const Pair pair{0, "k", {time, 99}, false, std::to_string(i)};
    // Busy if it would have to wait for long; sessions try again.
    if (!view->Apply(std::vector{pair}, {}, &outcomes).ok()) continue;
  }
  done = true;
  updates.join();
  EXPECT_EQ(lost, 0u);
  CloseAndCheck();
}

TEST_F(UpdateTest, SeveralKeysInOneBatchWithOneVersion) {
  ASSERT_ROCKS_OK(Open());
  ColumnFamilyHandle* second = nullptr;
  ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, "second", &second));
  ASSERT_ROCKS_OK(Put("from", "7"));
  ASSERT_ROCKS_OK(db_->Update(
      {}, {{Family(), "from"}, {second, "to"}, {Family(), "not there"}},
      [](Values* values) {
        EXPECT_EQ(values->size(), 3u);
        std::swap(values->at(0), values->at(1));
        return Status::OK();
      }));
  EXPECT_EQ(Get("from"), "-");
  std::string value;
  ASSERT_ROCKS_OK(db_->Get({}, second, "to", &value));
  EXPECT_EQ(value, "7");
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(second));
  CloseAndCheck();
}

TEST_F(UpdateTest, NoKeysNoWrite) {
  ASSERT_ROCKS_OK(Open());
  bool called = false;
  ASSERT_ROCKS_OK(
      db_->Update({}, std::vector<UpdatedKey>{}, [&](Values* values) {
        called = values->empty();
        return Status::OK();
      }));
  EXPECT_TRUE(called);
  CloseAndCheck();
}

TEST_F(UpdateTest, WhatIsRefused) {
  replication_.families = {"default"};
  replication_.max_value_bytes = 10;
  ASSERT_ROCKS_OK(Open());
  ColumnFamilyHandle* local = nullptr;
  ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, "local", &local));
  const auto set = [](const std::string& to) {
    return [to](Value* value) {
      *value = to;
      return Status::OK();
    };
  };
  const Status not_replicated = db_->Update({}, local, "k", set("v"));
  EXPECT_TRUE(not_replicated.IsNotSupported()) << not_replicated.ToString();
  EXPECT_NE(not_replicated.ToString().find("local"), std::string::npos);
  EXPECT_TRUE(db_->Update({}, Family(), "k", set(std::string(11, 'v')))
                  .IsInvalidArgument());
  rocksdb::WriteOptions no_wal;
  no_wal.disableWAL = true;
  EXPECT_TRUE(db_->Update(no_wal, Family(), "k", set("v")).IsNotSupported());
  EXPECT_TRUE(db_->Update({}, {{Family(), "k"}, {Family(), "k"}},
                          [](Values*) { return Status::OK(); })
                  .IsInvalidArgument());
  EXPECT_TRUE(db_->Update({}, {{Family(), "k"}},
                          [](Values* values) {
                            values->clear();
                            return Status::OK();
                          })
                  .IsInvalidArgument());
  const std::function<Status(Value*)> none_of_one;
  const std::function<Status(Values*)> none_of_many;
  EXPECT_TRUE(db_->Update({}, Family(), "k", none_of_one).IsInvalidArgument());
  EXPECT_TRUE(
      db_->Update({}, {{Family(), "k"}}, none_of_many).IsInvalidArgument());
  EXPECT_EQ(Get("k"), "-");
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(local));
  CloseAndCheck();
}

// A size that was said wrongly: nothing is read there.
TEST_F(UpdateTest, AnOversizedKeyIsRefusedBeforeItIsCopied) {
  ASSERT_ROCKS_OK(Open());
  const rocksdb::Slice huge("k", SIZE_MAX);
  bool called = false;
  const Status update = db_->Update({}, Family(), huge, [&](Value*) {
    called = true;
    return Status::OK();
  });
  EXPECT_TRUE(update.IsInvalidArgument()) << update.ToString();
  EXPECT_FALSE(called);
  EXPECT_TRUE(db_->DeleteRangeInChunks({}, Family(), "a", huge, nullptr)
                  .IsInvalidArgument());
  EXPECT_TRUE(db_->DeleteRangeInChunks({}, Family(), huge, "b", nullptr)
                  .IsInvalidArgument());
  CloseAndCheck();
}

TEST_F(UpdateTest, AWriteByTheFunctionIsRefusedAndDoesNotWait) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(db_->Update({}, Family(), "k", [&](Value* value) {
    rocksdb::WriteBatch batch;
    EXPECT_TRUE(batch.Put("k", "by a batch").ok());
    ColumnFamilyHandle* none = nullptr;
    Value seen;
    for (const Status& status :
         {Put("k", "v"), Put("other", "v"), db_->Delete({}, "k"),
          db_->Write({}, &batch), Set("other", "v", &seen),
          db_->SetMembers(1, {db_->Identity().replica_id}),
          db_->CollectTombstones(), db_->DropColumnFamily(Family()),
          db_->CreateColumnFamilyWithImport(
              {}, "new", {}, rocksdb::ExportImportFilesMetaData(), &none)}) {
      EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
      EXPECT_NE(status.ToString().find("Update"), std::string::npos);
    }
    *value = "v";
    return Status::OK();
  }));
  EXPECT_EQ(Get("k"), "v");
  // Of another database it is none of this one's business.
  std::unique_ptr<ReplicatedDB> other;
  ASSERT_ROCKS_OK(OpenOther("other", &other));
  ASSERT_ROCKS_OK(db_->Update({}, Family(), "k", [&](Value*) {
    return other->Put({}, "k", "theirs");
  }));
  ASSERT_ROCKS_OK(Put("k", "after"));
  other.reset();
  CloseAndCheck();
}

TEST_F(UpdateTest, OfAClosedDatabase) {
  ASSERT_ROCKS_OK(Open());
  ColumnFamilyHandle* const family = Family();
  ASSERT_ROCKS_OK(db_->Close());
  EXPECT_TRUE(db_->Update({}, family, "k", Increment).IsShutdownInProgress());
}

}  // namespace
}  // namespace rocksync
