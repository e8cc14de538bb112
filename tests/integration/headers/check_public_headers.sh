#!/usr/bin/env bash
# Each public header compiles by itself, as the C++17 of an application that
# turns on warnings, with RTTI and without.
# usage: check_public_headers.sh COMPILER SOURCE_DIRECTORY
set -euo pipefail
compiler=$1
cd "$2/include"

compile() {  # WHAT FLAG..., with the source on standard input
  local what=$1; shift
  "$compiler" -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Werror "$@" \
    -fsyntax-only -I . -x c++ - || { echo "failed: $what"; exit 1; }
}

headers=(rocksync/*.h)
[[ -f ${headers[0]} ]]
for header in "${headers[@]}"; do
  # Twice: the include guard guards.
  printf '#include "%s"\n#include "%s"\n' "$header" "$header" | compile "$header"
done
printf '#include "%s"\n' "${headers[@]}" | compile "all without RTTI" -fno-rtti
echo "${#headers[@]} headers"
