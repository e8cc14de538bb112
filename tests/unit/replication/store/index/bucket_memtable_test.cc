// The index's memtable against RocksDB's skip list: the same database contents
// for every kind of read.

#include "replication/store/index/bucket_memtable.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "rocksdb/comparator.h"
#include "rocksdb/db.h"
#include "tests/support/open_plain.h"
#include "tests/support/temporary_directory.h"

namespace rocksync {
namespace {

class BucketMemtableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    bucket_ = Open(
        "bucket", std::make_shared<BucketMemtableFactory>(6, size_t{64} << 10));
    skip_ = Open("skip", std::make_shared<rocksdb::SkipListFactory>());
  }
  void TearDown() override {
    bucket_.reset();
    skip_.reset();
  }

  std::unique_ptr<rocksdb::DB> Open(
      const std::string& name,
      std::shared_ptr<rocksdb::MemTableRepFactory> memtable,
      rocksdb::Options options = {}) {
    options.create_if_missing = true;
    options.memtable_factory = std::move(memtable);
    rocksdb::DB* raw = nullptr;
    const auto status = OpenPlain(options, root_ / name, &raw);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return std::unique_ptr<rocksdb::DB>(raw);
  }

  // Everything that an iterator can be asked.
  static std::string Walk(rocksdb::DB* db, const rocksdb::Snapshot* snapshot,
                          const std::vector<std::string>& targets) {
    rocksdb::ReadOptions options;
    options.snapshot = snapshot;
    const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(options));
    std::string log;
    const auto note = [&] {
      log += it->Valid() ? it->key().ToString() + "=" + it->value().ToString()
                         : "end";
      log += ';';
    };
    for (it->SeekToFirst(); it->Valid(); it->Next()) note();
    for (it->SeekToLast(); it->Valid(); it->Prev()) note();
    for (const std::string& target : targets) {
      it->Seek(target);
      note();
      if (it->Valid()) it->Prev();
      note();
      it->SeekForPrev(target);
      note();
      if (it->Valid()) it->Next();
      note();
      std::string value;
      log += db->Get(options, target, &value).ok() ? value : "none";
    }
    return log;
  }

  const TemporaryDirectory root_;
  std::unique_ptr<rocksdb::DB> bucket_;
  std::unique_ptr<rocksdb::DB> skip_;
};

// Keys of all lengths, few leading bytes, many overwrites: crowded buckets.
std::string RandomKey(std::mt19937_64* random) {
  const size_t size = (*random)() % 12;
  std::string key;
  for (size_t i = 0; i < size; ++i) {
    key.push_back(static_cast<char>("\x00\x01\x7f\x80\xff"[(*random)() % 5]));
  }
  return key;
}

TEST_F(BucketMemtableTest, AnswersAsTheSkipListDoes) {
  std::mt19937_64 random(3);
  std::vector<const rocksdb::Snapshot*> of_bucket = {nullptr};
  std::vector<const rocksdb::Snapshot*> of_skip = {nullptr};
  std::vector<std::string> targets;
  for (int i = 0; i < 3000; ++i) {
    const std::string key = RandomKey(&random);
    if (targets.size() < 300) targets.push_back(key);
    const std::string value = std::to_string(i);
    for (rocksdb::DB* db : {bucket_.get(), skip_.get()}) {
      const auto status =
          i % 5 == 0 ? db->Delete({}, key) : db->Put({}, key, value);
      ASSERT_TRUE(status.ok());
    }
    if (i % 1000 == 500) {
      of_bucket.push_back(bucket_->GetSnapshot());
      of_skip.push_back(skip_->GetSnapshot());
    }
  }
  for (size_t i = 0; i < of_bucket.size(); ++i) {
    EXPECT_EQ(Walk(bucket_.get(), of_bucket[i], targets),
              Walk(skip_.get(), of_skip[i], targets));
  }
  ASSERT_TRUE(bucket_->Flush({}).ok());
  for (size_t i = 0; i < of_bucket.size(); ++i) {
    EXPECT_EQ(Walk(bucket_.get(), of_bucket[i], targets),
              Walk(skip_.get(), of_skip[i], targets));
    if (of_bucket[i] != nullptr) bucket_->ReleaseSnapshot(of_bucket[i]);
    if (of_skip[i] != nullptr) skip_->ReleaseSnapshot(of_skip[i]);
  }
}

TEST_F(BucketMemtableTest, ManyThreadsInsertAndRead) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1500; ++i) {
        const std::string own =
            std::to_string(i * 7919 % 1500) + "." + std::to_string(t);
        EXPECT_TRUE(bucket_->Put({}, own, "own").ok());
        EXPECT_TRUE(bucket_->Put({}, "hot" + std::to_string(i % 3), own).ok());
        std::string value;
        EXPECT_TRUE(bucket_->Get({}, own, &value).ok());
        if (i % 500 == 0) {
          const std::unique_ptr<rocksdb::Iterator> it(bucket_->NewIterator({}));
          std::string last;
          for (it->SeekToFirst(); it->Valid(); it->Next()) {
            EXPECT_LT(last, it->key().ToString());
            last = it->key().ToString();
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  uint64_t count = 0;
  const std::unique_ptr<rocksdb::Iterator> it(bucket_->NewIterator({}));
  for (it->SeekToFirst(); it->Valid(); it->Next()) ++count;
  EXPECT_EQ(count, 6003u);
}

// Bytewise, and counts.
class CountingComparator final : public rocksdb::Comparator {
 public:
  const char* Name() const override {
    return rocksdb::BytewiseComparator()->Name();
  }
  int Compare(const rocksdb::Slice& a, const rocksdb::Slice& b) const override {
    ++comparisons;
    return a.compare(b);
  }
  void FindShortestSeparator(std::string*,
                             const rocksdb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

  mutable std::atomic<uint64_t> comparisons{0};
};

// A key that was overwritten very often must not slow its neighbours down.
TEST_F(BucketMemtableTest, StepsOverARunOfVersions) {
  CountingComparator comparator;
  rocksdb::Options options;
  options.comparator = &comparator;
  const auto db =
      Open("run", std::make_shared<BucketMemtableFactory>(6, size_t{64} << 10),
           options);
  constexpr uint64_t kVersions = 10'000;
  // Alike in the leading 8 bytes, so that each step compares whole keys.
  for (uint64_t i = 0; i < kVersions; ++i) {
    ASSERT_TRUE(db->Put({}, "leading, a hot key", "v").ok());
  }
  comparator.comparisons = 0;
  std::string value;
  ASSERT_TRUE(db->Put({}, "leading, neighbour", "v").ok());
  ASSERT_TRUE(db->Get({}, "leading, neighbour", &value).ok());
  EXPECT_GT(comparator.comparisons, 0u);
  EXPECT_LT(comparator.comparisons, kVersions / 100);
}

}  // namespace
}  // namespace rocksync
