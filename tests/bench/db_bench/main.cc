// RocksDB's own benchmark on a plain and on a replicated database.
//   db_bench plain|replicated --db=DIR ...   RocksDB's db_bench

#include <cstring>
#include <iostream>
#include <vector>

#include "rocksdb/db_bench_tool.h"
#include "tests/bench/db_bench/open.h"

int main(int argc, char** argv) {
  const bool replicated = argc > 1 && std::strcmp(argv[1], "replicated") == 0;
  if (!replicated && (argc < 2 || std::strcmp(argv[1], "plain") != 0)) {
    std::cerr << "usage: db_bench plain|replicated --db=DIR ..." << std::endl;
    return 2;
  }
  rocksync::db_bench::OpenReplicated(replicated);
  std::vector<char*> arguments(argv, argv + argc + 1);
  arguments.erase(arguments.begin() + 1);
  return rocksdb::db_bench_tool(argc - 1, arguments.data());
}
