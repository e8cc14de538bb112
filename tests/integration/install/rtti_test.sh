#!/usr/bin/env bash
# CMake says when it configures that a RocksDB has no RTTI, be it a package or a
# source tree, and blames none that has it.
# usage: rtti_test.sh CMAKE SOURCE_DIRECTORY COMPILER WORK_DIRECTORY ROCKSDB_HEADERS
set -euo pipefail
cmake=$1 source=$2 compiler=$3 work=$4 headers=$5
text="RocksDB is compiled without RTTI"
rm -rf "$work"
mkdir -p "$work/package" "$work/app/rocksdb"

# configure BUILD DIRECTORY CMAKE_OPTIONS...: its output is in BUILD.log.
configure() {
  "$cmake" -S "$2" -B "$work/$1" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DROCKSYNC_BUILD_TESTS=OFF \
    -DROCKSYNC_BUILD_TOOLS=OFF "${@:3}" >"$work/$1.log" 2>&1
}

fail() {
  printf 'rtti_test: %s; the end of %s.log:\n' "$2" "$1" >&2
  tail -n 20 "$work/$1.log" >&2
  exit 1
}

# A package whose library lacks type information, as it lacks everything.
echo 'int nothing;' >"$work/stub.cc"
"$compiler" -shared -fPIC -o "$work/package/librocksdb.so" "$work/stub.cc"
cat >"$work/package/RocksDBConfig.cmake" <<END
add_library(RocksDB::rocksdb SHARED IMPORTED)
set_target_properties(RocksDB::rocksdb PROPERTIES
  IMPORTED_LOCATION "$work/package/librocksdb.so"
  INTERFACE_INCLUDE_DIRECTORIES "$headers")
END
if configure package "$source" -DRocksDB_DIR="$work/package"; then fail package "such a package is taken"; fi
grep -q "$text" "$work/package.log" || fail package "a package is refused for another reason"

# RocksDB's own CMakeLists.txt turns RTTI off for Release alone. The policy could be
# used, so that this is a warning.
cp "$work/stub.cc" "$work/app/rocksdb"
cat >"$work/app/rocksdb/CMakeLists.txt" <<END
set(CMAKE_CXX_FLAGS_RELEASE "\${CMAKE_CXX_FLAGS_RELEASE} -fno-rtti")
add_library(rocksdb SHARED stub.cc)
target_include_directories(rocksdb PUBLIC "$headers")
END
cat >"$work/app/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.22)
project(app LANGUAGES CXX)
add_subdirectory(rocksdb)
add_subdirectory("$source" rocksync)
END
for type in Release RelWithDebInfo; do
  configure "$type" "$work/app" -DCMAKE_BUILD_TYPE="$type" || fail "$type" "a source tree is refused"
done
grep -q "$text" "$work/Release.log" || fail Release "of a tree without RTTI nothing is said"
! grep -q "$text" "$work/RelWithDebInfo.log" || fail RelWithDebInfo "a tree with RTTI is blamed"
echo "rtti_test: passed"
