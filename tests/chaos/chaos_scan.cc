// Reads the database of an offline replica with plain RocksDB, for the chaos
// machine:
//   chaos_scan DIR SECRET_FILE MOST_LEAD_MS   prints it, a JSON object a line
//   chaos_scan DIR --drop KEY                 takes one pair out, for a test of
//                                             the machine itself

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "rocksdb/db.h"
#include "tests/crash/index_scan.h"
#include "tests/support/open_plain.h"

namespace rocksync::crash {
namespace {

using nlohmann::json;

bool ReadSecret(const std::string& name, ClusterSecret* secret) {
  std::ifstream file(name, std::ios::binary);
  return static_cast<bool>(file.read(reinterpret_cast<char*>(secret->data()),
                                     static_cast<long>(secret->size())));
}

std::string Hex(const Digest& digest) {
  char text[64];
  std::snprintf(text, sizeof text, "%" PRIu64 ":%016" PRIx64 "%016" PRIx64,
                digest.count, digest.high, digest.low);
  return text;
}

void Print(const DatabaseScan& scan) {
  std::cout << json{{"has_index", scan.has_index},
                    {"being_read", scan.being_read},
                    {"tombstones", scan.tombstones},
                    {"live", Hex(scan.live)},
                    {"wrong", scan.wrong}}
            << '\n';
  for (const auto& [name, value] : scan.contents) {
    std::cout << json{{"family", name.first},
                      {"key", name.second},
                      {"value", value}}
              << '\n';
  }
}

rocksdb::Status Drop(const std::string& directory, const std::string& key) {
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;
  rocksdb::Status s = OpenAllPlain({}, directory, &handles, &db);
  if (!s.ok()) return s;
  s = db->Delete({}, db->DefaultColumnFamily(), key);
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  return s.ok() ? db->Close() : s;
}

int Run(const std::vector<std::string>& words) {
  if (words.size() != 3) {
    std::cerr << "usage: chaos_scan DIR (SECRET_FILE MOST_LEAD_MS | --drop "
                 "KEY)\n";
    return 2;
  }
  if (words[1] == "--drop") {
    const rocksdb::Status s = Drop(words[0], words[2]);
    if (!s.ok()) std::cerr << s.ToString() << '\n';
    return s.ok() ? 0 : 2;
  }
  ClusterSecret secret;
  if (!ReadSecret(words[1], &secret)) {
    std::cerr << words[1] << " does not hold a secret\n";
    return 2;
  }
  Print(ScanDatabase(words[0], secret,
                     std::strtoull(words[2].c_str(), nullptr, 10)));
  return 0;
}

}  // namespace
}  // namespace rocksync::crash

int main(int argc, char** argv) {
  return rocksync::crash::Run({argv + 1, argv + argc});
}
