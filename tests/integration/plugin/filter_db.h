// A database of its own in a temporary directory, for tests of the filter.

#ifndef ROCKSYNC_TESTS_INTEGRATION_PLUGIN_FILTER_DB_H_
#define ROCKSYNC_TESTS_INTEGRATION_PLUGIN_FILTER_DB_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "rocksdb/db.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/options.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "tests/support/open_plain.h"
#include "tests/support/temporary_directory.h"

namespace rocksync {

class FilterDb {
 public:
  explicit FilterDb(const rocksdb::BlockBasedTableOptions& table) {
    options.create_if_missing = true;
    options.compression = rocksdb::kNoCompression;
    options.statistics = rocksdb::CreateDBStatistics();
    SetTable(table);
  }

  void SetTable(const rocksdb::BlockBasedTableOptions& table) {
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  }

  void Open() {
    db.reset();
    rocksdb::DB* opened = nullptr;
    ExpectOk(OpenPlain(options, path(), &opened));
    db.reset(opened);
  }

  std::string path() const { return directory.path() + "/db"; }
  uint64_t Ticker(rocksdb::Tickers ticker) const {
    return options.statistics->getTickerCount(ticker);
  }

  static void ExpectOk(const rocksdb::Status& status) {
    ASSERT_TRUE(status.ok()) << status.ToString();
  }

  TemporaryDirectory directory;
  rocksdb::Options options;
  std::unique_ptr<rocksdb::DB> db;
};

// 16 bytes, in order of the number; even numbers are put, odd ones are absent.
inline std::string Key(uint64_t number) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016llu",
                static_cast<unsigned long long>(number));
  return text;
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_INTEGRATION_PLUGIN_FILTER_DB_H_
