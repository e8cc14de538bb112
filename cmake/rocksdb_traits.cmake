# What the RocksDB at hand asks of those who include its headers and derive from
# its classes: the C++ standard, and type information.
include(CheckCXXSourceCompiles)

get_target_property(is_imported ${ROCKSYNC_ROCKSDB} IMPORTED)
if(is_imported)
  # RocksDB's headers are C++17 up to 10.6, and C++20 from 10.7 on. Clang takes
  # the newer ones as C++17 all the same, with warnings, and GCC does not.
  set(CMAKE_REQUIRED_LIBRARIES ${ROCKSYNC_ROCKSDB})
  set(CMAKE_REQUIRED_FLAGS -std=c++17)  # not every compiler's default
  check_cxx_source_compiles([=[
#include "rocksdb/db.h"
#include "rocksdb/version.h"
#if ROCKSDB_MAJOR > 10 || (ROCKSDB_MAJOR == 10 && ROCKSDB_MINOR >= 7)
#error "C++20"
#endif
int main() {}
]=] ROCKSYNC_ROCKSDB_IS_CXX17)
  set(ROCKSYNC_ROCKSDB_STANDARD 20)
  if(ROCKSYNC_ROCKSDB_IS_CXX17)
    set(ROCKSYNC_ROCKSDB_STANDARD 17)
  endif()
  # A RocksDB compiled without RTTI has no type information for us to derive from.
  set(CMAKE_REQUIRED_FLAGS -std=c++${ROCKSYNC_ROCKSDB_STANDARD})
  check_cxx_source_compiles([=[
#include "rocksdb/filter_policy.h"
struct Policy : rocksdb::FilterPolicy {
  const char* Name() const override { return ""; }
  const char* CompatibilityName() const override { return ""; }
  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext&) const override { return nullptr; }
  rocksdb::FilterBitsReader* GetFilterBitsReader(
      const rocksdb::Slice&) const override { return nullptr; }
};
int main() { return Policy().Name()[0]; }
]=] ROCKSYNC_ROCKSDB_HAS_RTTI)
  unset(CMAKE_REQUIRED_LIBRARIES)
  unset(CMAKE_REQUIRED_FLAGS)
else()
  # Not built yet, so there is nothing to ask but its flags; RocksDB's own build
  # turns RTTI off for one build type. Without RTTI the policy fits either.
  set(ROCKSYNC_ROCKSDB_STANDARD 20)
  set(ROCKSYNC_ROCKSDB_HAS_RTTI OFF)
  get_target_property(directory ${ROCKSYNC_ROCKSDB} SOURCE_DIR)
  get_directory_property(flags DIRECTORY ${directory} DEFINITION CMAKE_CXX_FLAGS)
  foreach(type IN LISTS CMAKE_BUILD_TYPE CMAKE_CONFIGURATION_TYPES)
    string(TOUPPER ${type} type)
    get_directory_property(flags_of_type DIRECTORY ${directory} DEFINITION CMAKE_CXX_FLAGS_${type})
    string(APPEND flags " ${flags_of_type}")
  endforeach()
endif()
if(NOT ROCKSYNC_ROCKSDB_HAS_RTTI AND (is_imported OR flags MATCHES "-fno-rtti"))
  set(kind WARNING)
  if(PROJECT_IS_TOP_LEVEL OR ROCKSYNC_BUILD_TOOLS OR ROCKSYNC_BUILD_TESTS OR ROCKSYNC_BUILD_C)
    set(kind FATAL_ERROR)
  endif()
  message(${kind} "This RocksDB is compiled without RTTI (the default of its releases): rocksync::plugin, the "
    "filter policy, fits, and replication does not link. Build RocksDB with cmake -DUSE_RTTI=ON or make USE_RTTI=1.")
endif()
