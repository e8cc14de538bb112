// What a walk over keys finds, and with how many seeks.

#include "replication/store/index/key_walk.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "rocksdb/comparator.h"
#include "rocksdb/statistics.h"
#include "tests/support/open_plain.h"
#include "tests/support/temporary_directory.h"

namespace rocksync {
namespace {

std::string KeyOf(int number) {
  std::string key = std::to_string(number);
  return std::string(6 - key.size(), '0') + key;
}

class KeyWalkTest : public testing::Test {
 protected:
  void Open(const rocksdb::Comparator* order = rocksdb::BytewiseComparator()) {
    options_.create_if_missing = true;
    options_.comparator = order;
    options_.statistics = rocksdb::CreateDBStatistics();
    ASSERT_TRUE(OpenPlain(options_, directory_.path(), &db_).ok());
    family_.name = "default";
    family_.shared =
        std::make_shared<SharedHandle>(db_.get(), db_->DefaultColumnFamily());
  }
  void Fill(int keys) {
    for (int i = 0; i < keys; ++i) {
      ASSERT_TRUE(db_->Put({}, KeyOf(i), "v" + std::to_string(i)).ok());
    }
  }
  // How many of every `step`th key are found, each with its value.
  int Found(KeyWalk* walk, int keys, int step) {
    int found = 0;
    for (int i = 0; i < keys; i += step) {
      std::string_view value;
      if (!walk->Find(family_, KeyOf(i), &value)) continue;
      EXPECT_EQ(value, "v" + std::to_string(i));
      ++found;
    }
    return found;
  }
  uint64_t seeks() const {
    return options_.statistics->getTickerCount(rocksdb::NUMBER_DB_SEEK);
  }

  TemporaryDirectory directory_;
  rocksdb::Options options_;
  std::unique_ptr<rocksdb::DB> db_;
  Family family_;
};

TEST_F(KeyWalkTest, FindsKeysThatLieCloseTogetherByOneSeek) {
  Open();
  Fill(4000);
  KeyWalk walk(db_.get(), nullptr, 1000);
  EXPECT_EQ(Found(&walk, 4000, 4), 1000);
  EXPECT_EQ(seeks(), 1u);
}

TEST_F(KeyWalkTest, IsMadeAnewWhileItGoesOn) {
  Open();
  Fill(10'000);
  KeyWalk walk(db_.get(), nullptr, 10'000);
  EXPECT_EQ(Found(&walk, 10'000, 1), 10'000);
  EXPECT_EQ(seeks(), 3u);
}

TEST_F(KeyWalkTest, GivesUpWhereKeysLieFarApart) {
  Open();
  Fill(20'000);
  KeyWalk walk(db_.get(), nullptr, 200);
  const int found = Found(&walk, 20'000, 100);
  EXPECT_LT(found, 100);
  EXPECT_EQ(seeks(), static_cast<uint64_t>(found));
}

TEST_F(KeyWalkTest, DoesNotBeginForFew) {
  Open();
  Fill(100);
  KeyWalk walk(db_.get(), nullptr, 10);
  EXPECT_EQ(Found(&walk, 100, 10), 0);
  EXPECT_EQ(seeks(), 0u);
}

TEST_F(KeyWalkTest, GoesByTheOrderOfTheFamily) {
  Open(rocksdb::ReverseBytewiseComparator());
  Fill(1000);
  KeyWalk walk(db_.get(), nullptr, 1000);
  for (int i = 999; i >= 0; --i) {
    std::string_view value;
    ASSERT_TRUE(walk.Find(family_, KeyOf(i), &value));
    EXPECT_EQ(value, "v" + std::to_string(i));
  }
  EXPECT_EQ(seeks(), 1u);
}

TEST_F(KeyWalkTest, SaysNothingOfWhatIsNoPlainValue) {
  Open();
  Fill(1000);
  ASSERT_TRUE(db_->Delete({}, KeyOf(5)).ok());
  ASSERT_TRUE(db_->PutEntity({}, db_->DefaultColumnFamily(), KeyOf(6),
                             {{"", "v6"}, {"column", "x"}})
                  .ok());
  KeyWalk walk(db_.get(), nullptr, 1000);
  std::string_view value;
  EXPECT_TRUE(walk.Find(family_, KeyOf(4), &value));
  EXPECT_FALSE(walk.Find(family_, KeyOf(5), &value));
  EXPECT_FALSE(walk.Find(family_, KeyOf(6), &value));
  EXPECT_FALSE(walk.Find(family_, KeyOf(6) + "0", &value));
  EXPECT_TRUE(walk.Find(family_, KeyOf(7), &value));
  EXPECT_TRUE(walk.Find(family_, KeyOf(4), &value));  // goes back
  EXPECT_EQ(value, "v4");
}

TEST_F(KeyWalkTest, ReadsWhatWasAtItsSnapshot) {
  Open();
  Fill(1000);
  const rocksdb::Snapshot* const at = db_->GetSnapshot();
  for (int i = 0; i < 1000; i += 3) {
    ASSERT_TRUE(db_->Put({}, KeyOf(i), "later").ok());
  }
  KeyWalk walk(db_.get(), at, 1000);
  EXPECT_EQ(Found(&walk, 1000, 1), 1000);
  db_->ReleaseSnapshot(at);
}

TEST_F(KeyWalkTest, LeavesTheBlockCacheAlone) {
  Open();
  Fill(1000);
  ASSERT_TRUE(db_->Flush({}).ok());
  KeyWalk walk(db_.get(), nullptr, 1000);
  EXPECT_EQ(Found(&walk, 1000, 1), 1000);
  EXPECT_EQ(options_.statistics->getTickerCount(rocksdb::BLOCK_CACHE_DATA_ADD),
            0u);
}

}  // namespace
}  // namespace rocksync
