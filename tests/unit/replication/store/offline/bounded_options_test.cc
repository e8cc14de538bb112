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
  BoundResources(&options);
  return options;
}

rocksdb::ColumnFamilyOptions FamilyOptionsOf(const std::string& text) {
  rocksdb::ColumnFamilyOptions options;
  const rocksdb::Status s = rocksdb::GetColumnFamilyOptionsFromString(
      rocksdb::ConfigOptions(), {}, text, &options);
  EXPECT_TRUE(s.ok()) << s.ToString();
  BoundResources(&options);
  return options;
}

TEST(BoundedOptionsTest, ADatabaseOpensWhateverTheFileAsksFor) {
  rocksdb::Options options(
      DBOptionsOf("max_background_jobs=1000000;max_background_flushes=1000000;"
                  "max_file_opening_threads=1000000;max_subcompactions=1000000;"
                  "table_cache_numshardbits=40;recycle_log_file_num=0;"
                  "manifest_preallocation_size=1000000000000;"
                  "writable_file_max_buffer_size=1000000000000;"
                  "compaction_readahead_size=1000000000000"),
      FamilyOptionsOf(
          "num_levels=2000000000;write_buffer_size=1000000000000;"
          "arena_block_size=1000000000000;max_write_buffer_number=2000000000;"
          "memtable_huge_page_size=1000000000000;"
          "memtable_factory={id=HashSkipListRepFactory;"
          "bucket_count=1000000000000};"
          "compression_opts={parallel_threads=1000000;"
          "max_dict_bytes=2000000000};"
          "block_based_table_factory={block_size=4000000000;"
          "metadata_block_size=1000000000000}"));
  options.create_if_missing = true;
  EXPECT_LE(options.max_background_jobs, 16);
  EXPECT_LE(options.max_background_flushes, 16);
  EXPECT_LE(options.compression_opts.parallel_threads, 16u);
  EXPECT_LE(options.num_levels, 64);
  const TemporaryDirectory directory;
  std::unique_ptr<rocksdb::DB> db;
  const rocksdb::Status opened = OpenPlain(options, directory / "db", &db);
  ASSERT_TRUE(opened.ok()) << opened.ToString();
  EXPECT_TRUE(db->Put({}, "key", "value").ok());
  EXPECT_TRUE(db->Flush({}).ok());
}

// They are of databases that run.
TEST(BoundedOptionsTest, UsualOptionsStay) {
  const rocksdb::DBOptions options = DBOptionsOf(
      "max_background_jobs=8;max_background_flushes=-1;"
      "max_open_files=-1;max_subcompactions=4");
  EXPECT_EQ(options.max_background_jobs, 8);
  EXPECT_EQ(options.max_background_flushes, -1);
  EXPECT_EQ(options.max_open_files, -1);
  EXPECT_EQ(options.max_subcompactions, 4u);
  const rocksdb::ColumnFamilyOptions family = FamilyOptionsOf(
      "num_levels=9;write_buffer_size=134217728;compression=kNoCompression;"
      "block_based_table_factory={block_size=16384;format_version=4}");
  EXPECT_EQ(family.num_levels, 9);
  EXPECT_EQ(family.write_buffer_size, size_t{128} << 20);
  EXPECT_EQ(family.compression, rocksdb::kNoCompression);
  const auto* const table =
      family.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->block_size, 16384u);
  EXPECT_EQ(table->format_version, 4u);
}

}  // namespace
}  // namespace rocksync
