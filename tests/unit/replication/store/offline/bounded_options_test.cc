#include "replication/store/offline/bounded_options.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "rocksdb/convenience.h"
#include "rocksdb/options.h"
#include "rocksdb/table.h"
#include "tests/support/open_plain.h"
#include "tests/support/temporary_directory.h"

namespace rocksync {
namespace {

rocksdb::DBOptions DBOptionsOf(const std::string& text) {
  rocksdb::DBOptions options;
  const rocksdb::Status s = rocksdb::GetDBOptionsFromString(
      rocksdb::ConfigOptions(), {}, text, &options);
  EXPECT_TRUE(s.ok()) << s.ToString();
  return BoundedOptions(options);
}

rocksdb::ColumnFamilyOptions FamilyOptionsOf(const std::string& text) {
  rocksdb::ColumnFamilyOptions options;
  const rocksdb::Status s = rocksdb::GetColumnFamilyOptionsFromString(
      rocksdb::ConfigOptions(), {}, text, &options);
  EXPECT_TRUE(s.ok()) << s.ToString();
  return BoundedFamilyOptions(options);
}

// Opens, writes, flushes and compacts.
void ExpectWorks(const rocksdb::DBOptions& db_options,
                 const rocksdb::ColumnFamilyOptions& family) {
  rocksdb::Options options(db_options, family);
  options.create_if_missing = true;
  const TemporaryDirectory directory;
  std::unique_ptr<rocksdb::DB> db;
  const rocksdb::Status opened = OpenPlain(options, directory / "db", &db);
  ASSERT_TRUE(opened.ok()) << opened.ToString();
  EXPECT_TRUE(db->Put({}, "key", "value").ok());
  EXPECT_TRUE(db->Flush({}).ok());
  EXPECT_TRUE(db->CompactRange({}, nullptr, nullptr).ok());
  std::string value;
  EXPECT_TRUE(db->Get({}, "key", &value).ok());
  EXPECT_EQ(value, "value");
}

// Each of these ended the process, or took all threads or memory.
TEST(BoundedOptionsTest, ADatabaseOpensWhateverTheFileAsksFor) {
  for (const std::string db :
       {"max_background_jobs=2147483647", "max_background_jobs=-2147483648",
        "max_background_flushes=1000000", "max_file_opening_threads=1000000",
        "max_subcompactions=1000000", "table_cache_numshardbits=40",
        "manifest_preallocation_size=1000000000000",
        "compaction_readahead_size=18446744073709551615",
        "max_open_files=-2147483648", "persist_stats_to_disk=true"}) {
    SCOPED_TRACE(db);
    ExpectWorks(DBOptionsOf(db), {});
  }
  for (const std::string family :
       {"num_levels=2147483647", "num_levels=-1",
        "write_buffer_size=0;arena_block_size=1048576",
        "arena_block_size=18446744073709551615",
        "max_write_buffer_number=2147483647",
        "memtable_huge_page_size=1000000000000",
        "memtable_protection_bytes_per_key=3",
        "memtable_factory=VectorRepFactory:18446744073709551615",
        "memtable_factory=prefix_hash:18446744073709551615",
        "compression_opts={parallel_threads=0}",
        "compression_opts={parallel_threads=1000000}",
        "block_based_table_factory={block_size=4000000000;"
        "metadata_block_size=1000000000000}",
        "block_based_table_factory={block_size=0}",
        "prefix_extractor=rocksdb.FixedPrefix.1;"
        "plain_table_factory={bloom_bits_per_key=2147483647;"
        "huge_page_tlb_size=1000000000000}"}) {
    SCOPED_TRACE(family);
    rocksdb::DBOptions mapped;
    mapped.allow_mmap_reads = true;
    ExpectWorks(family.starts_with("prefix") ? mapped : rocksdb::DBOptions(),
                FamilyOptionsOf(family));
  }
}

TEST(BoundedOptionsTest, NothingIsDroppedByAgeOrSize) {
  ExpectWorks({}, FamilyOptionsOf("compaction_style=kCompactionStyleFIFO;ttl=1;"
                                  "compaction_options_fifo={"
                                  "max_table_files_size=1}"));
}

TEST(BoundedOptionsTest, WhatTablesLookLikeStays) {
  const rocksdb::DBOptions options = DBOptionsOf(
      "max_background_jobs=8;max_open_files=500;allow_2pc=true;"
      "db_log_dir=/logs");
  EXPECT_TRUE(options.allow_2pc);
  EXPECT_EQ(options.db_log_dir, "/logs");
  EXPECT_EQ(options.max_background_jobs, 8);
  EXPECT_EQ(options.max_open_files, 500);
  const rocksdb::ColumnFamilyOptions family = FamilyOptionsOf(
      "num_levels=9;compaction_style=kCompactionStyleUniversal;"
      "compression=kNoCompression;comparator=rocksdb.ReverseBytewiseComparator;"
      "prefix_extractor=rocksdb.FixedPrefix.4;enable_blob_files=true;"
      "min_blob_size=100;"
      "block_based_table_factory={block_size=16384;format_version=4}");
  EXPECT_EQ(family.num_levels, 9);
  EXPECT_EQ(FamilyOptionsOf("num_levels=100").num_levels, 100);
  EXPECT_EQ(family.compaction_style, rocksdb::kCompactionStyleUniversal);
  EXPECT_EQ(family.compression, rocksdb::kNoCompression);
  EXPECT_EQ(family.comparator, rocksdb::ReverseBytewiseComparator());
  EXPECT_NE(family.prefix_extractor, nullptr);
  EXPECT_TRUE(family.enable_blob_files);
  EXPECT_EQ(family.min_blob_size, 100u);
  const auto* const table =
      family.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->block_size, 16384u);
  EXPECT_EQ(table->format_version, 4u);
}

}  // namespace
}  // namespace rocksync
