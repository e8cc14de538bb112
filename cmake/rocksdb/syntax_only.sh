#!/usr/bin/env bash
# Stands before the compiler in a build that only asks whether all compiles:
# objects and programs are empty. Precompiled headers are made, since they are
# parsed by what follows.
# usage: syntax_only.sh COMPILER ARGUMENTS...
set -euo pipefail
output=
compiles=0
for ((i = 1; i <= $#; ++i)); do
  case ${!i} in
    -c) compiles=1 ;;
    c++-header) exec "$@" ;;
    -o) next=$((i + 1)); output=${!next} ;;
  esac
done
(( compiles )) && "$@" -fsyntax-only
touch "$output"
