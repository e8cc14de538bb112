#!/usr/bin/env bash
# Installs a build to a prefix of its own and builds examples/embed against it,
# outside this source tree. The program stays, for the test of embed.
# usage: install_test.sh CMAKE BUILD_DIRECTORY SOURCE_DIRECTORY COMPILER SANITIZERS
#   ROCKSDB_PACKAGE
# ROCKSDB_PACKAGE: the directory of the RocksDB package that all was built with.
set -euo pipefail
cmake=$1 build=$2 source=$3 compiler=$4 sanitizers=$5 rocksdb=$6
work=$build/install_test
# Of a RocksDB that is not the system's.
export LD_LIBRARY_PATH=$(realpath "$rocksdb/../..")${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
rm -rf "$work"
mkdir -p "$work"

"$cmake" --install "$build" --prefix "$work/prefix" > "$work/install.log"
# A copy, so that nothing of the source tree is found by a path.
cp -r "$source/examples/embed" "$work/embed"
flags="-Wall -Wextra -Werror"
if [[ -n $sanitizers ]]; then flags+=" -fsanitize=$sanitizers"; fi
"$cmake" -S "$work/embed" -B "$work/build" -G Ninja \
  -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$compiler" \
  -DCMAKE_CXX_FLAGS="$flags" -DRocksDB_DIR="$rocksdb"
"$cmake" --build "$work/build"

# A C program, as rocksync/c.h says.
mkdir "$work/c"
cp "$source/examples/bindings/two_replicas.c" "$work/c"
cat > "$work/c/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(two_replicas LANGUAGES C CXX)
find_package(rocksync CONFIG REQUIRED)
add_executable(two_replicas two_replicas.c)
target_link_libraries(two_replicas PRIVATE rocksync::c)
END
if [[ -z $sanitizers ]]; then
  "$cmake" -S "$work/c" -B "$work/c/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$compiler" \
    -DRocksDB_DIR="$rocksdb"
  "$cmake" --build "$work/c/build"
  (cd "$work/c" && "$work/c/build/two_replicas")
fi

# A RocksDB of another version is refused by name, before a linker finds out.
mkdir "$work/other"
printf 'set(PACKAGE_VERSION 6.11.4)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n' >"$work/other/RocksDBConfigVersion.cmake"
touch "$work/other/RocksDBConfig.cmake"
if other=$("$cmake" -S "$work/embed" -B "$work/other/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" -DRocksDB_DIR="$work/other" 2>&1); then
  echo "RocksDB 6.11.4 was accepted"
  exit 1
fi
tr -s ' \n' ' ' <<<"$other" | grep -qF "and 6.11.4 was found" || { echo "$other"; exit 1; }

# As short as promised.
lines=$(wc -l < "$work/embed/embed.cc")
(( lines < 80 )) || { echo "embed.cc has $lines lines"; exit 1; }
# Nothing that is installed names this source tree.
if grep -rlF "$source/" "$work/prefix" --include='*.cmake' --include='*.h'; then
  echo "the files above name the source tree"
  exit 1
fi
"$work/prefix/bin/rocksync" --help > /dev/null
# The filter policy alone, by pkg-config: nothing else of the library is linked.
PKG_CONFIG_PATH=$(dirname "$(find "$work/prefix" -name rocksync-filter.pc)")
export PKG_CONFIG_PATH
cp "$source/tests/integration/install/filter_alone.cc" "$work"
if [[ $rocksdb != /usr/* ]]; then
  echo "pkg-config knows the system's RocksDB alone"
  ("$work/build/embed" 2>&1 || true) | grep -q usage
  exit
fi
# shellcheck disable=SC2046
"$compiler" -std=c++17 ${sanitizers:+"-fsanitize=$sanitizers"} "$work/filter_alone.cc" -o "$work/filter_alone" \
  $(pkg-config --cflags --libs rocksync-filter)
"$work/filter_alone"
("$work/build/embed" 2>&1 || true) | grep -q usage
