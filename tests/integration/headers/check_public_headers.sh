#!/usr/bin/env bash
# Each public header compiles by itself, as the C++17 of an application that
# turns on warnings, with RTTI and without.
# usage: check_public_headers.sh COMPILER SOURCE_DIRECTORY
set -euo pipefail
compiler=$1
cd "$2/include"
count=0
for header in rocksync/*.h; do
  for rtti in -frtti -fno-rtti; do
    # Twice: the include guard guards.
    printf '#include "%s"\n#include "%s"\n' "$header" "$header" |
      "$compiler" -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Werror "$rtti" \
        -fsyntax-only -I . -x c++ - || { echo "failed: $header $rtti"; exit 1; }
  done
  count=$((count + 1))
done
echo "$count headers"
(( count > 0 ))
