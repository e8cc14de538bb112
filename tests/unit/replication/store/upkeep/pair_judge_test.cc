// The table in pair_judge.h, line by line.

#include "replication/store/upkeep/pair_judge.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "replication/store/upkeep/quarantine.h"
#include "rocksdb/write_batch.h"
#include "tests/unit/replication/store/upkeep/one_family.h"

namespace rocksync {
namespace {

constexpr std::string_view kKey = "key";
constexpr Version kOld{.time = 5 << 16, .replica = 9};

StoredEntry EntryOf(std::optional<std::string_view> value) {
  return IssuedEntry(kOld, value.has_value() ? &*value : nullptr);
}

class PairJudgeTest : public ::testing::Test {
 protected:
  // What the check is to find out of the key.
  void Find(Evidence evidence) { evidence_ = evidence; }

  // Each judges and writes what was decided; how many records that were.
  uint32_t JudgePair(uint8_t build_state) {
    Candidate candidate;
    candidate.key = kKey;
    candidate.position = db_.KeyOf(kKey).position;
    candidate.unversioned = kUnversioned;
    rocksdb::WriteBatch batch;
    return Written(
        judge_.JudgePair(db_.family(), build_state, candidate, &batch), &batch);
  }
  uint32_t JudgeEntry() {
    rocksdb::WriteBatch batch;
    return Written(judge_.JudgeEntry(db_.family(), db_.KeyOf(kKey), &batch),
                   &batch);
  }

  // The entry, which is there.
  StoredEntry Entry() {
    const std::optional<StoredEntry> entry = db_.Entry(kKey);
    EXPECT_TRUE(entry.has_value());
    return entry.value_or(StoredEntry());
  }
  bool IsQuarantinedAs(const StoredEntry& before) {
    const StoredEntry now = Entry();
    return now.quarantined && now.version == before.version &&
           now.hash_high == before.hash_high &&
           now.hash_low == before.hash_low && quarantine_.any_seen();
  }
  static bool IsFresh(const StoredEntry& entry) {
    return entry.version.time > kOld.time &&
           entry.version.replica == OneFamily::kReplica && !entry.quarantined;
  }

  static constexpr ValueHash kUnversioned{.high = 11, .low = 12};
  OneFamily db_;
  Quarantine quarantine_{db_.indexed()};

 private:
  uint32_t Written(const rocksdb::Status& status, rocksdb::WriteBatch* batch) {
    EXPECT_TRUE(status.ok()) << status.ToString();
    EXPECT_TRUE(db_.db()->Write({}, batch).ok());
    return batch->Count();
  }

  Evidence evidence_ = Evidence::kNone;
  PairJudge judge_{db_.indexed(), &quarantine_,
                   [this](const auto&...) { return evidence_; }};
};

TEST_F(PairJudgeTest, APairThatAgreesStays) {
  db_.PutPair(kKey, "value");
  db_.PutEntry(kKey, EntryOf("value"));
  Find(Evidence::kWritten);
  EXPECT_EQ(JudgePair(kFamilyChecking), 0u);
}

TEST_F(PairJudgeTest, APairWithoutEntryIsAdoptedUnversioned) {
  db_.PutPair(kKey, "value");
  EXPECT_EQ(JudgePair(kFamilyAdopting), 1u);
  const StoredEntry entry = Entry();
  EXPECT_EQ(entry.version, Version{});
  EXPECT_TRUE(entry.pending);
  EXPECT_EQ(entry.hash_high, kUnversioned.high);
  EXPECT_EQ(entry.hash_low, kUnversioned.low);
  EXPECT_FALSE(entry.quarantined);
}

TEST_F(PairJudgeTest, AdoptionComparesNothing) {
  db_.PutPair(kKey, "value");
  db_.PutEntry(kKey, EntryOf("another"));
  EXPECT_EQ(JudgePair(kFamilyAdopting), 0u);
}

TEST_F(PairJudgeTest, APairThatWasDeletedMeanwhileIsLeftToItsEntry) {
  EXPECT_EQ(JudgePair(kFamilyChecking), 0u);
}

TEST_F(PairJudgeTest, APairWithoutEntryThatNobodyWroteIsQuarantined) {
  db_.PutPair(kKey, "value");
  EXPECT_EQ(JudgePair(kFamilyChecking), 1u);
  EXPECT_TRUE(IsQuarantinedAs(UnknownEntry()));
}

TEST_F(PairJudgeTest, APairThatDiffersKeepsItsEntryAndIsQuarantined) {
  db_.PutPair(kKey, "value");
  db_.PutEntry(kKey, EntryOf("another"));
  EXPECT_EQ(JudgePair(kFamilyChecking), 1u);
  EXPECT_TRUE(IsQuarantinedAs(EntryOf("another")));
  EXPECT_EQ(JudgePair(kFamilyChecking), 0u) << "it is";
}

TEST_F(PairJudgeTest, APairThatWasWrittenGetsAFreshVersion) {
  for (const bool known : {false, true}) {
    db_.PutPair(kKey, "value");
    if (known) db_.PutEntry(kKey, EntryOf("another"));
    Find(Evidence::kWritten);
    EXPECT_EQ(JudgePair(kFamilyChecking), 1u);
    EXPECT_TRUE(IsFresh(Entry()));
    EXPECT_FALSE(Entry().tombstone);
    EXPECT_EQ(JudgePair(kFamilyChecking), 0u) << "it agrees now";
  }
  EXPECT_FALSE(quarantine_.any_seen());
}

// A file with the deletion went, and what it covered shows again.
TEST_F(PairJudgeTest, ADeletionThatIsLostIsMadeAgain) {
  for (const Evidence lost : {Evidence::kFileGone, Evidence::kLogLost}) {
    db_.PutPair(kKey, "value");
    db_.PutEntry(kKey, EntryOf(std::nullopt));
    Find(lost);
    EXPECT_EQ(JudgePair(kFamilyChecking), 2u);
    EXPECT_EQ(db_.Pair(kKey), std::nullopt);
    EXPECT_TRUE(Entry().tombstone);
    EXPECT_EQ(Entry().version, kOld) << "the deletion's own";
  }
}

TEST_F(PairJudgeTest, AnOverwriteThatIsLostInTheLogIsQuarantined) {
  db_.PutPair(kKey, "older");
  db_.PutEntry(kKey, EntryOf("newer"));
  Find(Evidence::kLogLost);
  EXPECT_EQ(JudgePair(kFamilyChecking), 1u);
  EXPECT_TRUE(IsQuarantinedAs(EntryOf("newer")));
}

TEST_F(PairJudgeTest, AnEntryWithItsPairIsJudgedWithIt) {
  db_.PutPair(kKey, "value");
  db_.PutEntry(kKey, EntryOf("another"));
  EXPECT_EQ(JudgeEntry(), 0u);
}

TEST_F(PairJudgeTest, AnEntryWithoutItsPairIsQuarantined) {
  for (const Evidence none : {Evidence::kNone, Evidence::kLogLost}) {
    db_.PutEntry(kKey, EntryOf("value"));
    Find(none);
    EXPECT_EQ(JudgeEntry(), 1u);
    EXPECT_TRUE(IsQuarantinedAs(EntryOf("value")));
    EXPECT_EQ(JudgeEntry(), 0u) << "it is";
  }
}

TEST_F(PairJudgeTest, ATombstoneNeedsNoPair) {
  db_.PutEntry(kKey, EntryOf(std::nullopt));
  Find(Evidence::kWritten);
  EXPECT_EQ(JudgeEntry(), 0u);
}

TEST_F(PairJudgeTest, APairThatSomebodyDeletedGetsATombstone) {
  for (const Evidence evidence : {Evidence::kWritten, Evidence::kFileGone}) {
    db_.PutEntry(kKey, EntryOf("value"));
    Find(evidence);
    EXPECT_EQ(JudgeEntry(), 1u);
    EXPECT_TRUE(Entry().tombstone);
    EXPECT_TRUE(IsFresh(Entry()));
  }
}

// No sequence number of the key's own tells of such a deletion.
TEST_F(PairJudgeTest, ADeletedRangeIsADeletion) {
  db_.PutPair(kKey, "value");
  db_.PutEntry(kKey, EntryOf("value"));
  ASSERT_TRUE(db_.db()->DeleteRange({}, db_.family().handle(), "a", "z").ok());
  EXPECT_EQ(JudgeEntry(), 1u);
  EXPECT_TRUE(Entry().tombstone);
  EXPECT_TRUE(IsFresh(Entry()));
}

}  // namespace
}  // namespace rocksync
