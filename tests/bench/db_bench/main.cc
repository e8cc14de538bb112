// RocksDB's own benchmark on a plain database, on one with a second family, and
// on a replicated one.
//   db_bench plain|two_families|replicated --db=DIR ...   RocksDB's db_bench

#include <iostream>
#include <vector>

#include "rocksdb/db_bench_tool.h"
#include "tests/bench/db_bench/open.h"

int main(int argc, char** argv) {
  if (argc < 2 || !rocksync::db_bench::SetKind(argv[1])) {
    std::cerr << "usage: db_bench plain|two_families|replicated --db=DIR ..."
              << std::endl;
    return 2;
  }
  std::vector<char*> arguments(argv, argv + argc + 1);
  arguments.erase(arguments.begin() + 1);
  return rocksdb::db_bench_tool(argc - 1, arguments.data());
}
