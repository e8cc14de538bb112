# All from Debian's packages; ./dev knows their names. RocksDB may also be the
# embedder's own: a package in a prefix (CMAKE_PREFIX_PATH), or its source tree,
# added by add_subdirectory before this one.
if(NOT TARGET rocksdb AND NOT TARGET rocksdb-shared)
  # Without a version: RocksDB's package says that no other major one would do.
  find_package(RocksDB REQUIRED CONFIG)
endif()
find_package(OpenSSL 3.0 REQUIRED)
find_package(absl REQUIRED CONFIG)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)

foreach(target IN ITEMS rocksdb rocksdb-shared RocksDB::rocksdb RocksDB::rocksdb-shared)
  if(TARGET ${target})
    set(ROCKSYNC_ROCKSDB ${target})
  endif()
endforeach()
# Several may be installed, and a wrong path is no error as long as one is found.
if(RocksDB_DIR)
  message(STATUS "RocksDB ${RocksDB_VERSION}: ${RocksDB_DIR}")
else()
  message(STATUS "RocksDB: the target ${ROCKSYNC_ROCKSDB} of this build")
endif()

if(ROCKSYNC_BUILD_TOOLS OR ROCKSYNC_BUILD_TESTS)
  find_package(CLI11 REQUIRED CONFIG)
  find_package(spdlog REQUIRED CONFIG)
  find_package(nlohmann_json REQUIRED CONFIG)
  pkg_check_modules(httplib REQUIRED IMPORTED_TARGET cpp-httplib)
  pkg_check_modules(hiredis REQUIRED IMPORTED_TARGET hiredis)
endif()
if(ROCKSYNC_BUILD_TESTS)
  find_package(GTest REQUIRED CONFIG)
  find_package(benchmark REQUIRED CONFIG)
endif()
