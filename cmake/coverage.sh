#!/usr/bin/env bash
# coverage.sh BUILD [HTML DIRECTORY]: what the tests that ran in BUILD (preset
# `coverage`) reached of sketch/, plugin/ and replication/. Fails below 90 % of
# lines.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$1
html=()
if [[ -n ${2:-} ]]; then
  mkdir -p "$2"
  html=(--html-details "$2/index.html")
fi
# Branches that only exceptions take are not ours: we throw none.
exec gcovr --root . --object-directory "$build" -j 2 \
  --filter 'sketch/' --filter 'plugin/' --filter 'replication/' \
  --exclude-throw-branches --exclude-unreachable-branches \
  --txt - --print-summary --fail-under-line 90 ${html[@]+"${html[@]}"} \
  "$build"
