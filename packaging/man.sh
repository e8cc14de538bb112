#!/usr/bin/env bash
# Writes man pages of programs, from what their --help says.
# usage: man.sh FOLDER_OF_PROGRAMS OUTPUT_FOLDER
set -euo pipefail
bin=$1 out=$2
mkdir -p "$out"

page() {  # NAME DESCRIPTION HELP_OPTION PROGRAM
  help2man --no-info --no-discard-stderr --version-option=--version --help-option="$3" \
    --name="$2" --source=rocksync --manual=rocksync "$4" |
    sed "s/\"REPLICATED_STORE\"/\"ROCKSYNC-STORE\"/; s/^replicated_store \\\\-/$1 \\\\-/; s/replicated_store/$1/g" |
    gzip -9n >"$out/$1.1.gz"
}
page rocksync "tools for replicated RocksDB databases" --help-all "$bin/rocksync"
page rocksync-store "replicated key-value store with a Redis port" --help "$bin/replicated_store"
