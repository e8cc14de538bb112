// The filter in real databases: wherever RocksDB uses filters, present keys
// are found and absent ones are mostly refused without reading a block.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "rocksdb/slice_transform.h"
#include "rocksync/filter_policy.h"
#include "tests/integration/plugin/filter_db.h"

namespace rocksync {
namespace {

constexpr uint64_t kKeys = 20000;
constexpr size_t kPrefixBytes = 14;  // a hundred numbers share one

struct Use {
  const char* name;
  bool whole_key;
  bool prefix;
  bool partitioned;
  bool cached;
};

void PrintTo(const Use& use, std::ostream* out) { *out << use.name; }

class FilterUseTest : public testing::TestWithParam<Use> {
 protected:
  FilterUseTest() : db_(Table(GetParam())) {
    if (GetParam().prefix) {
      db_.options.prefix_extractor.reset(
          rocksdb::NewFixedPrefixTransform(kPrefixBytes));
    }
  }

  static rocksdb::BlockBasedTableOptions Table(const Use& use) {
    rocksdb::BlockBasedTableOptions table;
    table.filter_policy = NewFilterPolicy(10);
    table.whole_key_filtering = use.whole_key;
    table.cache_index_and_filter_blocks = use.cached;
    if (use.partitioned) {
      table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
      table.partition_filters = true;
      table.metadata_block_size = 1024;
    }
    return table;
  }

  // Even numbers, in four files of the top level that cover the same range.
  void Fill() {
    db_.Open();
    for (uint64_t file = 0; file < 4; ++file) {
      for (uint64_t i = 2 * file; i < 2 * kKeys; i += 8) {
        // Groups of a hundred with an odd number of hundreds stay empty.
        if (i / 100 % 2 == 1) continue;
        FilterDb::ExpectOk(db_.db->Put({}, Key(i), "value" + Key(i)));
      }
      FilterDb::ExpectOk(db_.db->Flush({}));
    }
  }

  static bool Present(uint64_t i) { return i % 2 == 0 && i / 100 % 2 == 0; }

  void ExpectGetsRight() {
    for (uint64_t i = 0; i < 2 * kKeys; ++i) {
      std::string value;
      const rocksdb::Status status = db_.db->Get({}, Key(i), &value);
      ASSERT_EQ(status.ok(), Present(i)) << i;
      if (Present(i)) {
        ASSERT_EQ(value, "value" + Key(i));
      }
    }
  }

  void ExpectMultiGetsRight() {
    constexpr uint64_t kBatch = 100;
    for (uint64_t begin = 0; begin < 2 * kKeys; begin += kBatch) {
      std::vector<std::string> keys;
      for (uint64_t i = 0; i < kBatch; ++i) keys.push_back(Key(begin + i));
      const std::vector<rocksdb::Slice> slices(keys.begin(), keys.end());
      std::vector<rocksdb::PinnableSlice> values(kBatch);
      std::vector<rocksdb::Status> statuses(kBatch);
      db_.db->MultiGet({}, db_.db->DefaultColumnFamily(), kBatch, slices.data(),
                       values.data(), statuses.data());
      for (uint64_t i = 0; i < kBatch; ++i) {
        ASSERT_EQ(statuses[i].ok(), Present(begin + i)) << begin + i;
      }
    }
  }

  void ExpectSeeksRight() {
    rocksdb::ReadOptions read;
    read.prefix_same_as_start = GetParam().prefix;
    const std::unique_ptr<rocksdb::Iterator> it(db_.db->NewIterator(read));
    for (uint64_t i = 0; i < 2 * kKeys; i += 2) {
      it->Seek(Key(i));
      const bool found = it->Valid() && it->key() == Key(i);
      ASSERT_EQ(found, Present(i)) << i;
    }
    FilterDb::ExpectOk(it->status());
  }

  FilterDb db_;
};

TEST_P(FilterUseTest, FindsWhatIsThereAndRefusesMostOfTheRest) {
  Fill();
  ExpectGetsRight();
  ExpectMultiGetsRight();
  ExpectSeeksRight();
  // Each false positive of a prefix is one for a hundred keys. Which of the two
  // counts lookups by prefix depends on RocksDB's version.
  EXPECT_GT(db_.Ticker(rocksdb::BLOOM_FILTER_USEFUL) +
                db_.Ticker(rocksdb::BLOOM_FILTER_PREFIX_USEFUL),
            kKeys * 9 / 10);

  FilterDb::ExpectOk(db_.db->CompactRange({}, nullptr, nullptr));
  ExpectGetsRight();
  ExpectMultiGetsRight();
  ExpectSeeksRight();

  db_.Open();
  ExpectGetsRight();
}

INSTANTIATE_TEST_SUITE_P(
    Uses, FilterUseTest,
    testing::Values(Use{"whole", true, false, false, false},
                    Use{"prefix", false, true, false, false},
                    Use{"both", true, true, false, false},
                    Use{"whole_cached", true, false, false, true},
                    Use{"whole_partitioned", true, false, true, false},
                    Use{"prefix_partitioned", false, true, true, false},
                    Use{"both_partitioned", true, true, true, true}),
    [](const auto& use) { return use.param.name; });

}  // namespace
}  // namespace rocksync
