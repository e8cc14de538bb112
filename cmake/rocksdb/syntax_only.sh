#!/usr/bin/env bash
# Stands before the compiler in a build that only asks whether all compiles:
# objects and programs are empty. Precompiled headers are made, since they are
# parsed by what follows. With ROCKSYNC_ONLY, the name of a file with a path a line,
# a source is skipped if neither it nor, where sources are compiled together, one of
# those is named there.
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
  if [[ -z ${ROCKSYNC_ONLY:-} ]] || grep -qxF "$source" "$ROCKSYNC_ONLY" ||
      sed -n 's/^#include "\(.*\)"$/\1/p' "$source" | grep -qxFf - "$ROCKSYNC_ONLY"; then
    "$@" -fsyntax-only
  fi
fi
touch "$output"
