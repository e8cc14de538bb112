// The filter policy as a source of RocksDB's own build, which takes sources
// from this folder only.

#include <string>

#include "plugin/construction_charge.cc"
#include "plugin/filter_builder.cc"
#include "plugin/filter_format.cc"
#include "plugin/filter_interface.cc"
#include "plugin/filter_policy.cc"
#include "plugin/filter_reader.cc"
#include "plugin/filter_seed.cc"
#include "plugin/filter_sizing.cc"
#include "plugin/hash_log.cc"
#include "plugin/policy_string.cc"
#include "plugin/registration.cc"

// RocksDB's registry calls this, by its name in rocksync.mk, with a library of
// its own.
extern "C" int rocksync_register_filter_policy(rocksdb::ObjectLibrary& library,
                                               const std::string& arg);

extern "C" int rocksync_register_filter_policy(rocksdb::ObjectLibrary& library,
                                               const std::string& arg) {
  return rocksync::RegisterFilterPolicyInLibrary(library, arg);
}
