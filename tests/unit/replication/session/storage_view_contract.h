// What every StorageView promises, as tests that each implementation
// instantiates. A fixture for it is a class with
//
//   using Fixture = ...;
//   StorageView* view();                            // one family: ordinal 0
//   Version Put(std::string key, std::string value);  // a local write
//   Version Delete(std::string key);
//   std::optional<std::string> Get(std::string key);
//   void CrashAndReopen();  // loses what was not synced; view() may change
//
// that is default constructible, and whose clock says at least 2020.
//   INSTANTIATE_TYPED_TEST_SUITE_P(Memory, StorageViewContract, MyFixture);

#ifndef ROCKSYNC_TESTS_UNIT_REPLICATION_SESSION_STORAGE_VIEW_CONTRACT_H_
#define ROCKSYNC_TESTS_UNIT_REPLICATION_SESSION_STORAGE_VIEW_CONTRACT_H_

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "replication/session/storage_view.h"

namespace rocksync {

template <typename Fixture>
class StorageViewContract : public testing::Test {
 protected:
  StorageView* view() { return fixture_.view(); }

  std::unique_ptr<StorageSnapshot> Snapshot() {
    auto snapshot = view()->TakeSnapshot(nullptr);
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
    return snapshot.ok() ? *std::move(snapshot) : nullptr;
  }

  Digest Total(const StorageSnapshot& snapshot) {
    Digest total;
    for (const Digest& leaf : snapshot.LeafDigests()) total += leaf;
    return total;
  }

  // All of them, in order of position.
  std::vector<PlacedElement> ElementsOf(const StorageSnapshot& snapshot) {
    std::vector<PlacedElement> all;
    for (uint32_t leaf = 0; leaf < kLeafCount; ++leaf) {
      if (snapshot.LeafDigests()[leaf].count == 0) continue;
      const auto add = [&](uint64_t position, const ElementHash& hash) {
        all.push_back({position, hash});
      };
      EXPECT_TRUE(snapshot.ScanLeaf(leaf, add).ok());
    }
    return all;
  }

  ApplyOutcome Apply(const Pair& pair) {
    std::vector<ApplyOutcome> outcomes;
    const absl::Status status = view()->Apply({&pair, 1}, nullptr, &outcomes);
    EXPECT_TRUE(status.ok()) << status;
    EXPECT_EQ(outcomes.size(), 1u);
    return outcomes.empty() ? ApplyOutcome::kHeldBack : outcomes[0];
  }

  static Pair Live(std::string key, std::string value, Version version) {
    return {.family = 0,
            .key = std::move(key),
            .version = version,
            .tombstone = false,
            .value = std::move(value)};
  }
  static Pair Tombstone(std::string key, Version version) {
    return {.family = 0,
            .key = std::move(key),
            .version = version,
            .tombstone = true,
            .value = ""};
  }
  // A version of another replica: real, but long ago.
  static Version Old(uint64_t n) { return {.time = n << 16, .replica = 77}; }

  Fixture fixture_;
};

TYPED_TEST_SUITE_P(StorageViewContract);

TYPED_TEST_P(StorageViewContract, ElementsAgreeWithTheirDigests) {
  for (int i = 0; i < 200; ++i) {
    this->fixture_.Put("key" + std::to_string(i), "value");
  }
  this->fixture_.Delete("key7");
  this->fixture_.Put("key8", "again");
  const auto snapshot = this->Snapshot();
  ASSERT_EQ(snapshot->LeafDigests().size(), kLeafCount);
  EXPECT_EQ(this->Total(*snapshot).count, 200u);
  for (uint32_t leaf = 0; leaf < kLeafCount; ++leaf) {
    if (snapshot->LeafDigests()[leaf].count == 0) continue;
    Digest digest;
    uint64_t last = 0;
    ASSERT_TRUE(snapshot
                    ->ScanLeaf(leaf,
                               [&](uint64_t position, const ElementHash& hash) {
                                 EXPECT_EQ(LeafOf(position), leaf);
                                 EXPECT_GE(position, last);
                                 last = position;
                                 digest.Add(hash);
                               })
                    .ok());
    EXPECT_EQ(digest, snapshot->LeafDigests()[leaf]);
  }
}

TYPED_TEST_P(StorageViewContract, AnEntryIsFoundByKeyAndByElement) {
  const Version version = this->fixture_.Put("key", "value");
  const auto snapshot = this->Snapshot();
  const auto entry = snapshot->FindKey(0, "key");
  ASSERT_TRUE(entry.ok() && entry->has_value()) << entry.status();
  EXPECT_EQ((*entry)->key, "key");
  EXPECT_EQ((*entry)->version, version);
  EXPECT_FALSE((*entry)->tombstone);
  const Pair pair = this->Live("key", "value", version);
  EXPECT_EQ((*entry)->hash, this->view()->HashOf(pair));
  const auto element =
      snapshot->FindElement(this->view()->PositionOf(0, "key"), (*entry)->hash);
  ASSERT_TRUE(element.ok()) << element.status();
  EXPECT_EQ(element->key, "key");
  EXPECT_EQ(element->version, version);
  const auto value = snapshot->ReadValue(*element);
  ASSERT_TRUE(value.ok()) << value.status();
  EXPECT_EQ(*value, "value");
}

TYPED_TEST_P(StorageViewContract, LeavesAreScannedInAnyOrder) {
  for (int i = 0; i < 500; ++i) {
    this->fixture_.Put("key" + std::to_string(i), "value");
  }
  const auto snapshot = this->Snapshot();
  const auto digests = snapshot->LeafDigests();
  std::vector<uint32_t> held;
  for (uint32_t leaf = 0; leaf < kLeafCount; ++leaf) {
    if (digests[leaf].count > 0) held.push_back(leaf);
  }
  ASSERT_GT(held.size(), 400u);
  const auto scan = [&](uint32_t leaf) {
    Digest digest;
    EXPECT_TRUE(snapshot
                    ->ScanLeaf(leaf,
                               [&digest](uint64_t, const ElementHash& hash) {
                                 digest.Add(hash);
                               })
                    .ok());
    EXPECT_EQ(digest, digests[leaf]) << leaf;
  };
  for (size_t i = 0; i < held.size(); i += 3) scan(held[i]);  // skips some
  for (size_t i = held.size(); i-- > 0;) scan(held[i]);
  scan(held[7]);
  scan(held[7]);
  scan(held[7] + 1);
  scan(held.back());
  scan(kLeafCount - 1);
  scan(kLeafCount - 1);
  scan(0);
  scan(held[20]);
  // Whoever looks elements up in between changes nothing.
  const std::vector<PlacedElement> all = this->ElementsOf(*snapshot);
  scan(held[30]);
  ASSERT_EQ(snapshot->FindElements(all, size_t{1} << 20, {}).size(),
            all.size());
  scan(held[31]);
  scan(held[32]);
}

TYPED_TEST_P(StorageViewContract, ManyElementsAreFoundAtOnce) {
  for (int i = 0; i < 300; ++i) {
    this->fixture_.Put("key" + std::to_string(i), std::string(i, 'v'));
  }
  this->fixture_.Delete("key7");
  const auto snapshot = this->Snapshot();
  std::vector<PlacedElement> all = this->ElementsOf(*snapshot);
  all[5].hash.high ^= 1;  // is not there
  // All, some, and few of them.
  for (const size_t step : {1, 3, 100}) {
    std::vector<PlacedElement> elements;
    for (size_t i = 5; i < all.size(); i += step) elements.push_back(all[i]);
    const auto entries = snapshot->FindElements(elements, size_t{1} << 20, {});
    ASSERT_EQ(entries.size(), elements.size());
    EXPECT_TRUE(absl::IsNotFound(entries[0].status()));
    const auto values = snapshot->NewValueReader(entries.size());
    for (size_t i = 1; i < entries.size(); ++i) {
      ASSERT_TRUE(entries[i].ok()) << entries[i].status();
      EXPECT_EQ(entries[i]->hash, elements[i].hash);
      if (entries[i]->tombstone) continue;
      const auto value = values->Read(*entries[i]);
      ASSERT_TRUE(value.ok()) << value.status();
      EXPECT_EQ(*value, this->fixture_.Get(entries[i]->key));
    }
  }
}

TYPED_TEST_P(StorageViewContract, ValuesAreReadInAnyOrderAsOfTheSnapshot) {
  for (int i = 0; i < 1000; ++i) {
    this->fixture_.Put("key" + std::to_string(i), "v" + std::to_string(i));
  }
  const auto snapshot = this->Snapshot();
  std::vector<IndexEntry> entries;
  for (const auto& entry : snapshot->FindElements(this->ElementsOf(*snapshot),
                                                  size_t{1} << 20, {})) {
    ASSERT_TRUE(entry.ok()) << entry.status();
    entries.push_back(*entry);
  }
  ASSERT_EQ(entries.size(), 1000u);
  for (int i = 0; i < 1000; i += 2) {
    this->fixture_.Put("key" + std::to_string(i), "later");
  }
  this->fixture_.Delete("key1");
  const auto expect_all = [&] {
    const auto values = snapshot->NewValueReader(entries.size());
    for (const IndexEntry& entry : entries) {
      const auto value = values->Read(entry);
      ASSERT_TRUE(value.ok()) << entry.key << ": " << value.status();
      EXPECT_EQ(*value, "v" + entry.key.substr(3));
    }
  };
  expect_all();  // of positions, and so scattered over the keys
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.key < b.key; });
  expect_all();
  std::reverse(entries.begin(), entries.end());
  expect_all();
}

TYPED_TEST_P(StorageViewContract, FindingManyElementsIsBounded) {
  for (int i = 0; i < 20; ++i) {
    this->fixture_.Put("key" + std::to_string(i), "value");
  }
  const auto snapshot = this->Snapshot();
  const std::vector<PlacedElement> all = this->ElementsOf(*snapshot);
  EXPECT_EQ(snapshot->FindElements(all, 10, {}).size(), 3u);  // of their keys
  int looks = 0;
  const auto cancelled = [&looks] { return ++looks > 4; };
  EXPECT_EQ(snapshot->FindElements(all, 4500, cancelled).size(), 4u);
}

TYPED_TEST_P(StorageViewContract, WhatIsNotThereIsNotFound) {
  this->fixture_.Put("key", "value");
  const auto snapshot = this->Snapshot();
  const auto entry = snapshot->FindKey(0, "other");
  ASSERT_TRUE(entry.ok());
  EXPECT_FALSE(entry->has_value());
  EXPECT_TRUE(absl::IsNotFound(
      snapshot
          ->FindElement(this->view()->PositionOf(0, "key"), ElementHash{1, 2})
          .status()));
}

TYPED_TEST_P(StorageViewContract, ATombstoneIsAnElement) {
  this->fixture_.Put("key", "value");
  const Version version = this->fixture_.Delete("key");
  EXPECT_EQ(this->fixture_.Get("key"), std::nullopt);
  const auto snapshot = this->Snapshot();
  EXPECT_EQ(this->Total(*snapshot).count, 1u);
  const auto entry = snapshot->FindKey(0, "key");
  ASSERT_TRUE(entry.ok() && entry->has_value());
  EXPECT_TRUE((*entry)->tombstone);
  EXPECT_EQ((*entry)->hash,
            this->view()->HashOf(this->Tombstone("key", version)));
}

TYPED_TEST_P(StorageViewContract, ASnapshotDoesNotChange) {
  const Version first = this->fixture_.Put("key", "first");
  const auto snapshot = this->Snapshot();
  const Digest before = this->Total(*snapshot);
  this->fixture_.Put("key", "second");
  this->fixture_.Put("other", "value");
  EXPECT_EQ(this->Total(*snapshot), before);
  const auto entry = snapshot->FindKey(0, "key");
  ASSERT_TRUE(entry.ok() && entry->has_value());
  EXPECT_EQ((*entry)->version, first);
  const auto value = snapshot->ReadValue(**entry);
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value, "first");
  EXPECT_EQ(this->Total(*this->Snapshot()).count, 2u);
}

TYPED_TEST_P(StorageViewContract, ApplyKeepsTheWinner) {
  EXPECT_EQ(this->Apply(this->Live("key", "b", this->Old(5))),
            ApplyOutcome::kApplied);
  EXPECT_EQ(this->Apply(this->Live("key", "a", this->Old(4))),
            ApplyOutcome::kSuperseded);
  EXPECT_EQ(this->fixture_.Get("key"), "b");
  EXPECT_EQ(this->Apply(this->Live("key", "b", this->Old(5))),
            ApplyOutcome::kSuperseded);
  EXPECT_EQ(this->Apply(this->Tombstone("key", this->Old(6))),
            ApplyOutcome::kApplied);
  EXPECT_EQ(this->fixture_.Get("key"), std::nullopt);
  EXPECT_EQ(this->Apply(this->Live("key", "b", this->Old(5))),
            ApplyOutcome::kSuperseded);
  EXPECT_EQ(this->fixture_.Get("key"), std::nullopt);
  EXPECT_EQ(this->Apply(this->Live("key", "c", this->Old(7))),
            ApplyOutcome::kApplied);
  EXPECT_EQ(this->fixture_.Get("key"), "c");
  // Versions are kept as they came.
  const auto entry = this->Snapshot()->FindKey(0, "key");
  ASSERT_TRUE(entry.ok() && entry->has_value());
  EXPECT_EQ((*entry)->version, this->Old(7));
}

TYPED_TEST_P(StorageViewContract, ALocalWriteBeatsWhatWasApplied) {
  const Version now = this->fixture_.Put("clock", "value");
  // Ahead of this replica's clock, but not too far.
  const Version ahead = {.time = now.time + (uint64_t{5000} << 16),
                         .replica = 77};
  EXPECT_FALSE(this->view()->RejectIfTooFarAhead(ahead));
  EXPECT_EQ(this->Apply(this->Live("key", "theirs", ahead)),
            ApplyOutcome::kApplied);
  EXPECT_GT(this->fixture_.Put("key", "mine"), ahead);
  EXPECT_EQ(this->Apply(this->Live("key", "theirs", ahead)),
            ApplyOutcome::kSuperseded);
  EXPECT_EQ(this->fixture_.Get("key"), "mine");
}

TYPED_TEST_P(StorageViewContract, EqualVersionsAreOrderedByHash) {
  const bool a_wins = this->view()->HashOf(this->Live("key", "a", {})) >
                      this->view()->HashOf(this->Live("key", "b", {}));
  const std::string winner = a_wins ? "a" : "b";
  const std::string loser = a_wins ? "b" : "a";
  EXPECT_EQ(this->Apply(this->Live("key", loser, {})), ApplyOutcome::kApplied);
  EXPECT_EQ(this->Apply(this->Live("key", winner, {})), ApplyOutcome::kApplied);
  EXPECT_EQ(this->Apply(this->Live("key", loser, {})),
            ApplyOutcome::kSuperseded);
  EXPECT_EQ(this->fixture_.Get("key"), winner);
}

TYPED_TEST_P(StorageViewContract, VersionsFarAheadAreHeldBack) {
  const Version now = this->fixture_.Put("clock", "value");
  const Version ahead = {.time = now.time + (uint64_t{3'600'000} << 16),
                         .replica = 77};
  EXPECT_TRUE(this->view()->RejectIfTooFarAhead(ahead));
  EXPECT_EQ(this->Apply(this->Live("key", "value", ahead)),
            ApplyOutcome::kHeldBack);
  EXPECT_EQ(this->fixture_.Get("key"), std::nullopt);
  EXPECT_LT(this->fixture_.Put("key", "mine"), ahead);  // nor followed
}

TYPED_TEST_P(StorageViewContract, ABatchHasAnOutcomeForEach) {
  this->fixture_.Put("b", "mine");
  const std::vector<Pair> pairs = {
      this->Live("a", "1", this->Old(1)), this->Live("b", "2", this->Old(1)),
      this->Tombstone("c", this->Old(1)), this->Live("a", "3", this->Old(2))};
  std::vector<ApplyOutcome> outcomes;
  ASSERT_TRUE(this->view()->Apply(pairs, nullptr, &outcomes).ok());
  EXPECT_EQ(outcomes, (std::vector<ApplyOutcome>{
                          ApplyOutcome::kApplied, ApplyOutcome::kSuperseded,
                          ApplyOutcome::kApplied, ApplyOutcome::kApplied}));
  EXPECT_EQ(this->fixture_.Get("a"), "3");
  EXPECT_EQ(this->fixture_.Get("b"), "mine");
  EXPECT_EQ(this->Total(*this->Snapshot()).count, 3u);
}

// Each is judged by what those before it left.
TYPED_TEST_P(StorageViewContract, ABatchMayHoldAKeyManyTimes) {
  std::vector<Pair> pairs;
  for (const uint64_t n : {3, 1, 5, 4, 7, 6}) {
    for (int key = 9; key >= 0; --key) {  // not in the order of the index
      const std::string name = "key" + std::to_string(key);
      pairs.push_back(n == 5
                          ? this->Tombstone(name, this->Old(n))
                          : this->Live(name, std::to_string(n), this->Old(n)));
    }
  }
  std::vector<ApplyOutcome> outcomes;
  ASSERT_TRUE(this->view()->Apply(pairs, nullptr, &outcomes).ok());
  ASSERT_EQ(outcomes.size(), pairs.size());
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const uint64_t n = pairs[i].version.time >> 16;
    EXPECT_EQ(outcomes[i], n % 2 == 1 && n != 1 ? ApplyOutcome::kApplied
                                                : ApplyOutcome::kSuperseded)
        << pairs[i].key << " " << n;
  }
  const auto snapshot = this->Snapshot();
  EXPECT_EQ(this->Total(*snapshot).count, 10u);
  for (int key = 0; key < 10; ++key) {
    const std::string name = "key" + std::to_string(key);
    EXPECT_EQ(this->fixture_.Get(name), "7");
    const auto entry = snapshot->FindKey(0, name);
    ASSERT_TRUE(entry.ok() && entry->has_value());
    EXPECT_EQ((*entry)->version, this->Old(7));
  }
}

TYPED_TEST_P(StorageViewContract, WhatIsSyncedSurvives) {
  this->fixture_.Put("local", "value");
  this->Apply(this->Live("remote", "value", this->Old(5)));
  this->fixture_.Put("gone", "value");
  this->fixture_.Delete("gone");
  const Digest before = this->Total(*this->Snapshot());
  ASSERT_TRUE(this->view()->Sync().ok());
  this->fixture_.CrashAndReopen();
  EXPECT_EQ(this->Total(*this->Snapshot()), before);
  EXPECT_EQ(this->fixture_.Get("local"), "value");
  EXPECT_EQ(this->fixture_.Get("remote"), "value");
  EXPECT_EQ(this->fixture_.Get("gone"), std::nullopt);
}

TYPED_TEST_P(StorageViewContract, ACrashLeavesPairsAndIndexAgreeing) {
  this->fixture_.Put("a", "1");
  ASSERT_TRUE(this->view()->Sync().ok());
  const Version last = this->fixture_.Put("a", "2");
  this->fixture_.Put("b", "2");
  this->fixture_.CrashAndReopen();
  const auto snapshot = this->Snapshot();
  for (const char* key : {"a", "b"}) {
    const auto entry = snapshot->FindKey(0, key);
    ASSERT_TRUE(entry.ok());
    const std::optional<std::string> value = this->fixture_.Get(key);
    ASSERT_EQ(entry->has_value(), value.has_value());
    if (value) {
      EXPECT_EQ((*entry)->hash, this->view()->HashOf(this->Live(
                                    key, *value, (*entry)->version)));
    }
  }
  // No version is issued twice.
  EXPECT_GT(this->fixture_.Put("a", "3"), last);
}

TYPED_TEST_P(StorageViewContract, PositionsAreSpreadAndFixed) {
  std::vector<uint64_t> positions;
  for (int i = 0; i < 1000; ++i) {
    const std::string key = "key" + std::to_string(i);
    positions.push_back(this->view()->PositionOf(0, key));
    EXPECT_EQ(positions.back(), this->view()->PositionOf(0, key));
  }
  std::sort(positions.begin(), positions.end());
  EXPECT_EQ(std::unique(positions.begin(), positions.end()), positions.end());
  EXPECT_LT(positions.front(), uint64_t{1} << 58);
  EXPECT_GT(positions.back(), ~uint64_t{0} - (uint64_t{1} << 58));
  EXPECT_GE(this->view()->FamilyCount(), 1u);
}

REGISTER_TYPED_TEST_SUITE_P(
    StorageViewContract, ElementsAgreeWithTheirDigests,
    AnEntryIsFoundByKeyAndByElement, LeavesAreScannedInAnyOrder,
    ManyElementsAreFoundAtOnce, ValuesAreReadInAnyOrderAsOfTheSnapshot,
    FindingManyElementsIsBounded, WhatIsNotThereIsNotFound,
    ATombstoneIsAnElement, ASnapshotDoesNotChange, ApplyKeepsTheWinner,
    ALocalWriteBeatsWhatWasApplied, EqualVersionsAreOrderedByHash,
    VersionsFarAheadAreHeldBack, ABatchHasAnOutcomeForEach,
    ABatchMayHoldAKeyManyTimes, WhatIsSyncedSurvives,
    ACrashLeavesPairsAndIndexAgreeing, PositionsAreSpreadAndFixed);

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_UNIT_REPLICATION_SESSION_STORAGE_VIEW_CONTRACT_H_
