#include "replication/session/leaf_batch.h"

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "sketch/element/digest.h"
#include "tests/unit/replication/session/session_fixture.h"

namespace rocksync {
namespace {

class LeafBatchTest : public SessionTest {
 protected:
  LeafBatchTest() {
    for (const char* key : {"one", "two", "three"}) a_.Put(0, key, "value");
    snapshot_ = *a_.TakeSnapshot([] { return false; });
    const std::span<const Digest> leaves = snapshot_->LeafDigests();
    for (uint32_t leaf = 0; leaf < leaves.size(); ++leaf) {
      total_ += leaves[leaf];
      if (leaves[leaf].count == 0) continue;
      leaves_.push_back(leaf);
      EXPECT_TRUE(
          snapshot_
              ->ScanLeaf(leaf,
                         [this](uint64_t position, const ElementHash& hash) {
                           own_.push_back({position, hash});
                         })
              .ok());
    }
  }

  LeafBatch Load(std::vector<uint32_t> leaves, const MergedChanges& changes) {
    return *LeafBatch::Load(*snapshot_, std::move(leaves), changes, nullptr);
  }

  MemoryStorage a_ = Replica(1);
  std::unique_ptr<StorageSnapshot> snapshot_;
  Digest total_;
  std::vector<uint32_t> leaves_;
  std::vector<PlacedElement> own_;
};

// In a batch of the whole set that comes after another one, whatever its
// exchange compares: an element that was removed is not there, and one that was
// gained is gained once.
TEST_F(LeafBatchTest, ChangesOfABatchBeforeCountOnce) {
  const PlacedElement gained{own_[0].position, {1, 2}};
  const PlacedElement late{own_[1].position, {3, 4}};
  for (const bool compared : {false, true}) {
    MergedChanges changes;
    changes.Add({.gained = {gained}, .removed = {own_[0]}});
    LeafBatch batch =
        Load(compared ? leaves_ : std::vector<uint32_t>(), changes);
    Digest total = total_;
    total.Remove(own_[0].hash);
    total.Add(gained.hash);
    if (compared) {
      EXPECT_EQ(batch.merged(), total);
    }
    batch.CoverWholeSet(total);
    EXPECT_FALSE(batch.Find(own_[0].position, own_[0].hash).has_value());
    batch.Gain(gained);
    EXPECT_EQ(batch.merged(), total);
    batch.Gain(late);
    batch.Remove(*batch.Find(own_[1].position, own_[1].hash));
    const MergedChanges more = batch.Changes();
    ASSERT_EQ(more.gained.size(), 1u);
    EXPECT_EQ(more.gained[0].hash, late.hash);
    ASSERT_EQ(more.removed.size(), 1u);
    EXPECT_EQ(more.removed[0].hash, own_[1].hash);
  }
}

TEST_F(LeafBatchTest, ChangesTellWhatWasRemoved) {
  MergedChanges changes;
  changes.Add({.gained = {}, .removed = {own_[2]}});
  changes.Add({.gained = {}, .removed = {own_[0]}});
  EXPECT_TRUE(changes.Removed(own_[0]));
  EXPECT_FALSE(changes.Removed(own_[1]));
  EXPECT_TRUE(changes.Removed(own_[2]));
  EXPECT_FALSE(changes.Removed({own_[0].position, own_[1].hash}));
}

}  // namespace
}  // namespace rocksync
