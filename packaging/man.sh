#!/usr/bin/env bash
# Writes man pages of programs, from what their --help says: one of each program,
# and one of each command of rocksync (man rocksync-verify).
# usage: man.sh FOLDER_OF_PROGRAMS OUTPUT_FOLDER
set -euo pipefail
bin=$1 out=$2
rm -rf "$out"
mkdir -p "$out"

page() {  # NAME DESCRIPTION COMMAND
  help2man --no-info --no-discard-stderr --version-option=--version --help-option=--help --version-string="$version" \
    --name="$2" --source=rocksync --manual=rocksync "$3" |
    sed -E "s/^\.TH [^ ]*/.TH ${1^^}/; s/^(rocksync|replicated_store) \\\\-/$1 \\\\-/; s/replicated_store/rocksync-store/g" |
    gzip -9n >"$out/$1.1.gz"
}
version=$("$bin/rocksync" --version)
page rocksync "tools for replicated RocksDB databases" "$bin/rocksync"
page rocksync-store "replicated key-value store with a Redis port" "$bin/replicated_store"
"$bin/rocksync" --help | sed -nE '/^Subcommands:/,$ s/^  ([a-z]+) .*/\1/p' | while read -r command; do
  # What it does is the first sentence of its help.
  does=$("$bin/rocksync" "$command" --help | head -n 1 | sed -E 's/[;.:] .*//; s/(.{60}[^ ]*) .*/\1 .../')
  page "rocksync-$command" "$does" "$bin/rocksync $command"
done
