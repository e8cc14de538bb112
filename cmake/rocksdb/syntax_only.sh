#!/usr/bin/env bash
# Stands before the compiler in a build that only asks whether all compiles:
# objects and programs are empty. Precompiled headers are made, since they are
# parsed by what follows. With ROCKSYNC_ONLY_ROCKSDB (the root of the sources) a
# source is skipped if no header of RocksDB reaches it.
# usage: syntax_only.sh COMPILER ARGUMENTS...
set -euo pipefail
output=
source=
for ((i = 1; i <= $#; ++i)); do
  next=$((i + 1))
  case ${!i} in
    -c) source=${!next} ;;
    c++-header) exec "$@" ;;
    -o) output=${!next} ;;
  esac
done
if [[ -n $source ]]; then
  if [[ -z ${ROCKSYNC_ONLY_ROCKSDB:-} ]] ||
      "${BASH_SOURCE[0]%/*}/includes_rocksdb.py" "$ROCKSYNC_ONLY_ROCKSDB" "$source"; then
    "$@" -fsyntax-only
  fi
fi
touch "$output"
