// RocksDB's own tester on replicated databases.
//   db_stress --check DIR   checks an offline database, see second_replica.h,
//   and
//                           appends a line to the file ROCKSYNC_STRESS_LEDGER
//   db_stress --drop DIR    takes a pair out behind the index, for a test of
//   the
//                           machine itself
//   db_stress --assertions  exits with 0 if RocksDB was built with assertions,
//                           and with them points to stop and fail at
//   db_stress --db=DIR ...  RocksDB's db_stress

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>

#include "rocksdb/db_stress_tool.h"
#include "tests/stress/second_replica.h"

namespace rocksync::stress {
namespace {

bool Passes(const std::string& directory) {
  const Check check = CheckDatabase(directory);
  for (const std::string& wrong : check.wrong) {
    std::cerr << "violation: " << wrong << std::endl;
  }
  if (const char* ledger = std::getenv("ROCKSYNC_STRESS_LEDGER")) {
    std::ofstream(ledger, std::ios::app)
        << (check.wrong.empty() ? "equal" : "violation") << ' ' << check.pairs
        << ' ' << check.tombstones << std::endl;
  }
  return check.wrong.empty();
}

}  // namespace
}  // namespace rocksync::stress

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--check") {
    return rocksync::stress::Passes(argv[2]) ? 0 : 1;
  }
  if (argc == 3 && std::string_view(argv[1]) == "--drop") {
    const rocksdb::Status status = rocksync::stress::DropPair(argv[2]);
    if (!status.ok()) std::cerr << status.ToString() << std::endl;
    return status.ok() ? 0 : 2;
  }
  if (argc == 2 && std::string_view(argv[1]) == "--assertions") {
    return ROCKSYNC_ROCKSDB_HAS_ASSERTIONS ? 0 : 1;
  }
  return rocksdb::db_stress_tool(argc, argv);
}
