#!/usr/bin/env bash
# The examples in Go and Rust, with Debian's compilers: each ends with two equal
# replicas, whose pairs RocksDB's own tool reads.
# usage: languages_test.sh SOURCE_DIRECTORY LIBRARY
set -euo pipefail
source=$1 library=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# As installed: the soname, and the name that compilers look for.
mkdir "$work/lib"
ln -s "$library" "$work/lib/librocksync.so.0"
ln -s librocksync.so.0 "$work/lib/librocksync.so"
export LD_LIBRARY_PATH=$work/lib

check() {  # LANGUAGE PROGRAM
  mkdir "$work/$1"
  cd "$work/$1"
  "$2" | tee said
  [[ $(cat said) == "equal: true" ]] || { echo "$1: the replicas are not equal"; exit 1; }
  for name in a b; do
    ldb scan --db="$name" 2>/dev/null | sed 's/ ==> / : /' >"$name.pairs"
    printf 'from a : 1\nfrom b : 2\n' | cmp - "$name.pairs" || { echo "$1: pairs of $name"; exit 1; }
  done
}

# Of whoever runs this, nothing is read or changed.
export GOCACHE=$work/go-cache GOPATH=$work/go GO111MODULE=off HOME=$work
CGO_CFLAGS="-O0 -I$source/include" CGO_LDFLAGS="-L$work/lib" \
  /usr/bin/go build -o "$work/in_go" "$source/examples/bindings/two_replicas.go"
check go "$work/in_go"
/usr/bin/rustc --edition 2021 -L "$work/lib" -o "$work/in_rust" "$source/examples/bindings/two_replicas.rs"
check rust "$work/in_rust"
echo ok
