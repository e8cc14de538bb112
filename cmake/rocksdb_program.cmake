# What is shared by RocksDB's own programs that are built here from the sources of the
# RocksDB at hand (ROCKSYNC_ROCKSDB_SOURCE), altered so that they open databases through
# ReplicatedDB: ./dev stress and ./dev bench db_bench.
find_package(gflags REQUIRED CONFIG)
find_program(ROCKSYNC_PYTHON3 python3 REQUIRED)

# A RocksDB with assertions has points to stop and fail at, and its programs have to
# be compiled as it was.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES ${ROCKSYNC_ROCKSDB})
check_cxx_source_compiles("
  namespace rocksdb { struct SyncPoint { static SyncPoint* GetInstance(); }; }
  int main() { return rocksdb::SyncPoint::GetInstance() == nullptr; }"
  ROCKSYNC_ROCKSDB_HAS_ASSERTIONS)
# Debian's library has RocksDB's test utilities in it; twice they do not go together.
check_cxx_source_compiles("
  #include <cstdint>
  #include <set>
  namespace rocksdb::test { extern const std::set<uint32_t> kFooterFormatVersionsToTest; }
  int main() { return rocksdb::test::kFooterFormatVersionsToTest.empty(); }"
  ROCKSYNC_ROCKSDB_HAS_TEST_UTILITIES)
unset(CMAKE_REQUIRED_LIBRARIES)

# rocksync_rocksdb_program(NAME ALTERED file... [SOURCES source...]): the object library
# NAME_parts of RocksDB's program NAME, of sources as they are and files that
# patch_rocksdb_program.py alters.
function(rocksync_rocksdb_program name)
  cmake_parse_arguments(ARG "" "" "ALTERED;SOURCES" ${ARGN})
  set(altered ${CMAKE_CURRENT_BINARY_DIR}/altered)
  list(TRANSFORM ARG_ALTERED PREPEND ${altered}/)
  set(patch ${PROJECT_SOURCE_DIR}/tests/support/patch_rocksdb_program.py)
  add_custom_command(OUTPUT ${ARG_ALTERED}
    COMMAND ${ROCKSYNC_PYTHON3} -B ${patch} ${name} ${ROCKSYNC_ROCKSDB_SOURCE} ${altered}
    DEPENDS ${patch})
  if(NOT ROCKSYNC_ROCKSDB_HAS_TEST_UTILITIES)
    list(APPEND ARG_SOURCES ${ROCKSYNC_ROCKSDB_SOURCE}/test_util/testutil.cc)
  endif()
  add_library(${name}_parts OBJECT ${ARG_SOURCES} ${ARG_ALTERED})
  target_include_directories(${name}_parts PRIVATE
    ${altered} ${ROCKSYNC_ROCKSDB_SOURCE} ${PROJECT_SOURCE_DIR})
  target_include_directories(${name}_parts SYSTEM PRIVATE
    ${ROCKSYNC_ROCKSDB_SOURCE}/third-party/gtest-1.8.1/fused-src)
  target_compile_definitions(${name}_parts PRIVATE
    GFLAGS=gflags ROCKSDB_PLATFORM_POSIX ROCKSDB_LIB_IO_POSIX OS_LINUX)
  target_compile_options(${name}_parts PRIVATE -w -O1
    $<$<BOOL:${ROCKSYNC_ROCKSDB_HAS_ASSERTIONS}>:-UNDEBUG>)
  set_target_properties(${name}_parts PROPERTIES
    CXX_STANDARD 20 CXX_EXTENSIONS OFF UNITY_BUILD OFF)
  target_link_libraries(${name}_parts PRIVATE rocksync::store gflags)
endfunction()
