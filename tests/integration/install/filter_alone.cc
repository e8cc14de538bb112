// A program that uses the filter policy alone, as README's first use shows.

#include <cstdio>

#include "rocksdb/convenience.h"
#include "rocksdb/table.h"
#include "rocksync/filter_policy.h"

int main() {
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = rocksync::NewFilterPolicy(10);
  rocksdb::Options options;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  rocksync::RegisterFilterPolicy();
  rocksdb::BlockBasedTableOptions read;
  const rocksdb::Status status = rocksdb::GetBlockBasedTableOptionsFromString(
      rocksdb::ConfigOptions(), table, "filter_policy=rocksync:10", &read);
  if (!status.ok() || read.filter_policy == nullptr) {
    std::printf("%s\n", status.ToString().c_str());
    return 1;
  }
  return 0;
}
