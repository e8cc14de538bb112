#!/usr/bin/env bash
# The Go package and the Rust crate, with Debian's compilers: their tests, and the
# examples, each of which ends with two equal replicas (example_test.sh).
# usage: languages_test.sh SOURCE_DIRECTORY LIBRARY
set -euo pipefail
source=$1 library=$(realpath "$2")
tests=$source/tests/integration/bindings
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT

# As installed: the soname, and the name that compilers look for.
mkdir "$work/lib"
ln -s "$library" "$work/lib/librocksync.so.0"
ln -s librocksync.so.0 "$work/lib/librocksync.so"
export LD_LIBRARY_PATH=$work/lib

check() {  # LANGUAGE PROGRAM EXAMPLE
  "$tests/example_test.sh" "$2" || { echo "$1: the example failed"; exit 1; }
  # As short as promised: what main does.
  local lines
  lines=$(sed -nE '/^(func|fn) main/,/^}/p' "$3" | sed '1d; $d' | grep -cv '^ *//')
  ((lines >= 8 && lines <= 12)) || { echo "$1: the example has $lines lines"; exit 1; }
}

# Nothing in the caller's home is read or changed, and nothing is fetched.
export HOME=$work GOCACHE=$work/go-cache GOPATH=$work/go GOPROXY=off GOFLAGS=-mod=mod
export CGO_CFLAGS="-O0 -I$source/include" CGO_LDFLAGS="-L$work/lib"
[[ -z $(gofmt -l "$source/bindings/go" "$source"/examples/bindings/*.go "$tests"/*.go) ]] || { echo "gofmt would change Go sources"; exit 1; }
cp -r "$source/bindings/go" "$work/rocksync"
cp "$tests/rocksync_test.go" "$work/rocksync"
(cd "$work/rocksync" && /usr/bin/go vet . && /usr/bin/go test .)
mkdir "$work/example"
cp "$source/examples/bindings/two_replicas.go" "$work/example"
printf 'module example\n\ngo 1.19\n\nrequire rocksync v0.0.0\n\nreplace rocksync => ../rocksync\n' >"$work/example/go.mod"
(cd "$work/example" && /usr/bin/go build -o "$work/in_go" .)
check go "$work/in_go" "$source/examples/bindings/two_replicas.go"

cd "$work"
rust() { /usr/bin/rustc --edition 2021 -D warnings -L "$work/lib" "$@"; }
rust --crate-type rlib --crate-name rocksync "$source/bindings/rust/src/lib.rs"
rust --extern rocksync=librocksync.rlib --test -o "$work/rust_test" "$tests/rocksync_test.rs"
mkdir "$work/rust_test_place"
(cd "$work/rust_test_place" && "$work/rust_test")
rust --extern rocksync=librocksync.rlib -o "$work/in_rust" "$source/examples/bindings/two_replicas.rs"
check rust "$work/in_rust" "$source/examples/bindings/two_replicas.rs"
echo ok
