#!/usr/bin/env bash
# Stands before the compiler in a build that only asks whether all compiles:
# objects and programs are empty. Precompiled headers are made, since they are
# parsed by what follows. With ROCKSYNC_ONLY, the name of a file with a path a line,
# sources that are compiled together are skipped if none of them is named there, and so
# is a test's that is not; with ROCKSYNC_ONLY_IN, a folder, so is what is not made in
# it. With ROCKSYNC_ROCKSDB_HEADERS, a folder, headers of another
# RocksDB, such as an installed one, are an error.
# usage: syntax_only.sh COMPILER ARGUMENTS...
set -euo pipefail
output=
source=
dependencies=
for ((i = 1; i <= $#; ++i)); do
  next=$((i + 1))
  case ${!i} in
    -c) source=${!next} ;;
    c++-header) exec "$@" ;;
    -o) output=${!next} ;;
    -MF) dependencies=${!next} ;;
  esac
done
if [[ -n $source && $output == "${ROCKSYNC_ONLY_IN:-}"* ]]; then
  if [[ -z ${ROCKSYNC_ONLY:-} || $source != */tests/* && $source != */Unity/* ]] ||
      grep -qxF "$source" "$ROCKSYNC_ONLY" ||
      sed -n 's/^#include "\(.*\)"$/\1/p' "$source" | grep -qxFf - "$ROCKSYNC_ONLY"; then
    "$@" -fsyntax-only
    if [[ -n ${ROCKSYNC_ROCKSDB_HEADERS:-} ]] && tr -s ' ' '\n' <"$dependencies" |
        grep -E '(^|/)include/rocksdb/' | grep -vF "$ROCKSYNC_ROCKSDB_HEADERS/"; then
      echo "$source includes the headers above, which are of another RocksDB: its target does not link the one of the build" >&2
      exit 1
    fi
  fi
fi
touch "$output"
