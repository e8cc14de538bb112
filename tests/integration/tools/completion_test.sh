#!/usr/bin/env bash
# What bash offers behind the words of a command (packaging/rocksync.bash).
# usage: completion_test.sh SOURCE_DIRECTORY STORE ROCKSYNC
set -euo pipefail
source=$(realpath "$1") store=$(realpath "$2") rocksync=$(realpath "$3")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/run"
ln -s "$store" "$work/bin/rocksync-store"
ln -s "$rocksync" "$work/bin/rocksync"
PATH=$work/bin:$PATH
cd "$work/run"
mkdir db log
touch file
# shellcheck source=/dev/null
source "$source/packaging/rocksync.bash"

# The last word is the one at the cursor.
expect() {  # what is offered, and the words
  local offered=$1
  shift
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _rocksync "$1" || true
  local got
  got=$(printf '%s\n' "${COMPREPLY[@]}" | sort | xargs)
  [[ $got == "$offered" ]] || { echo "FAILED: '$*' offers '$got', and not '$offered'"; exit 1; }
}

expect verify rocksync ver
expect --max-keys rocksync verify --max
expect "" rocksync verify --max-keys ""
expect "db log" rocksync diff ""
expect "db log" rocksync diff db ""
expect "" rocksync diff db log ""
expect "db log" rocksync diff --max-keys 5 --json db ""
expect "" rocksync diff --max-keys = 5 --json db log ""
expect "db log" rocksync verify ""
expect "db log" rocksync detach ""
expect "db file log" rocksync restamp db --secret ""
expect "" rocksync certificate ""

# The log of DIR=LOGDIR.
expect "db log" rocksync detach --wal-dir ""
expect log rocksync detach --wal-dir l
expect "db log" rocksync detach --wal-dir db =
expect log rocksync detach --wal-dir db = l
expect log rocksync detach --wal-dir = db = l
expect "db log" rocksync detach --wal-dir db = log ""
expect "db log" rocksync detach --wal-dir = db = log ""
expect "" rocksync detach --wal-dir db = log db ""

# host:port
expect "" rocksync status ""
expect "" rocksync exporter ""
expect "" rocksync exporter 127.0.0.1:7401 ""
expect "" rocksync clone ""
expect "db log" rocksync clone 127.0.0.1:7401 ""
expect "db log" rocksync resync --certificates db 127.0.0.1:7401 ""
expect "" rocksync resync --certificates db ""

# As bash breaks them.
expect "" rocksync clone 127.0.0.1 :
expect "" rocksync clone 127.0.0.1 : 7
expect "db log" rocksync clone 127.0.0.1 : 7401 ""
expect log rocksync clone 127.0.0.1 : 7401 l
expect log rocksync clone [ :: "1]" : 7401 l
expect log rocksync clone --json localhost : 7401 l
expect "" rocksync clone 127.0.0.1 : 7401 db ""
expect "db log" rocksync resync --certificates = db 127.0.0.1 : 7401 ""
expect "db log" rocksync rescue db --against 127.0.0.1 : 7401 --output ""
expect "" rocksync exporter 127.0.0.1 : 7401 ""
mkdir with:colon
expect colon rocksync diff with : c
expect "db log with:colon" rocksync diff with : colon ""
rmdir with:colon

# What a terminal shows of it.
python3 -B "$source/tests/integration/tools/completion_on_terminal.py" "$source/packaging/rocksync.bash"

expect --redis-port rocksync-store --redis-p
expect "" rocksync-store --redis-port ""
expect "db log" rocksync-store --dir ""
expect log rocksync-store --dir = l
expect "" rocksync-store ""
