#include "replication/store/index/shown_families.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "rocksdb/merge_operator.h"

namespace rocksync {
namespace {

// Of one family; tells when it is freed.
std::unique_ptr<const FamilyTable> NewTable(uint32_t ordinal,
                                            std::atomic<bool>* freed) {
  class Teller final : public rocksdb::AssociativeMergeOperator {
   public:
    explicit Teller(std::atomic<bool>* freed) : freed_(freed) {}
    ~Teller() override { *freed_ = true; }
    bool Merge(const rocksdb::Slice&, const rocksdb::Slice*,
               const rocksdb::Slice&, std::string*,
               rocksdb::Logger*) const override {
      return false;
    }
    const char* Name() const override { return "teller"; }

   private:
    std::atomic<bool>* const freed_;
  };
  Family family;
  family.id = ordinal;
  family.merge_operator = std::make_shared<Teller>(freed);
  return std::make_unique<const FamilyTable>(
      std::vector<Family>{std::move(family)}, std::vector<Family>());
}

TEST(ShownFamiliesTest, ATableStaysUntilItIsShownNoMoreAndUnused) {
  std::array<std::atomic<bool>, 3> freed{};
  ShownFamilies shown;
  shown.Show(NewTable(0, &freed[0]));
  FamiliesInUse first = shown.Use();
  shown.FreeUnused();
  EXPECT_FALSE(freed[0]) << "it is shown";
  shown.Show(NewTable(1, &freed[1]));
  FamiliesInUse second = shown.Use();
  EXPECT_EQ(first->families().front().id, 0u);
  EXPECT_EQ(second->families().front().id, 1u);
  shown.Show(NewTable(2, &freed[2]));
  FamiliesInUse moved = std::move(first);
  shown.FreeUnused();
  EXPECT_FALSE(freed[0]) << "it is used";
  EXPECT_EQ(moved->families().front().id, 0u);
  moved = std::move(second);
  EXPECT_FALSE(freed[0]) << "whoever lets go of a table destroys nothing";
  shown.FreeUnused();
  EXPECT_TRUE(freed[0]);
  EXPECT_FALSE(freed[1]);
  // Of a thread's own, elsewhere counted.
  std::thread([there = std::move(moved)] {}).join();
  shown.FreeUnused();
  EXPECT_TRUE(freed[1]);
  EXPECT_FALSE(freed[2]);
}

TEST(ShownFamiliesTest, AllAreFreedButTheOneShown) {
  std::array<std::atomic<bool>, 2> freed{};
  ShownFamilies shown;
  shown.Show(NewTable(0, &freed[0]));
  shown.Show(NewTable(1, &freed[1]));
  shown.FreeAll();
  EXPECT_TRUE(freed[0]);
  EXPECT_FALSE(freed[1]);
}

TEST(ShownFamiliesTest, NoneIsFreedUnderAReader) {
  constexpr uint32_t kTables = 20'000;
  std::vector<std::atomic<bool>> freed(kTables);
  ShownFamilies shown;
  shown.Show(NewTable(0, &freed[0]));
  std::atomic<bool> stop{false};
  std::atomic<int> freed_in_use{0};
  std::atomic<int> backwards{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < 4; ++t) {
    readers.emplace_back([&] {
      uint32_t last = 0;
      FamiliesInUse kept;
      while (!stop) {
        FamiliesInUse now = shown.Use();
        const uint32_t id = now->families().front().id;
        if (id < last) ++backwards;
        last = id;
        std::this_thread::yield();
        if (freed[id]) ++freed_in_use;
        if (id % 3 == 0) kept = std::move(now);
      }
    });
  }
  for (uint32_t i = 1; i < kTables; ++i) {
    shown.Show(NewTable(i, &freed[i]));
    shown.FreeUnused();
    if (i % 16 == 0) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(freed_in_use, 0);
  EXPECT_EQ(backwards, 0);
  shown.FreeUnused();
  for (uint32_t i = 0; i + 1 < kTables; ++i) EXPECT_TRUE(freed[i]) << i;
}

}  // namespace
}  // namespace rocksync
