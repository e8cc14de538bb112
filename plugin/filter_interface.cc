#include "plugin/filter_interface.h"

#include <cstdio>
#include <string>

namespace rocksync {
namespace {

bool CompareWithLibrary() {
  const std::string loaded = rocksdb::GetRocksVersionAsString(true);
  int major = 0;
  int minor = 0;
  if (std::sscanf(loaded.c_str(), "%d.%d", &major, &minor) != 2) return false;
  return FilterInterfaceLayout(major, minor) ==
         FilterInterfaceLayout(ROCKSDB_MAJOR, ROCKSDB_MINOR);
}

}  // namespace

bool FilterInterfaceMatchesLibrary() {
  static const bool matches = CompareWithLibrary();
  return matches;
}

}  // namespace rocksync
