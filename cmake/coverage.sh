#!/usr/bin/env bash
# coverage.sh BUILD [HTML DIRECTORY]: what the tests that ran in BUILD (preset
# `coverage`) reached of sketch/, plugin/ and replication/, file by file. Fails
# if fewer than 90 % of a directory's lines were reached, or a branch that
# decides which pair stays, what is applied and collected, or what is equal was
# not.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$1
html=()
if [[ -n ${2:-} ]]; then
  mkdir -p "$2"
  html=(--html-details "$2/index.html")
fi

directories=(sketch plugin replication)
all_branches=(
  sketch/element/version.h                      # which version is later
  sketch/element/digest.h                       # what is equal
  replication/session/conflict.h          # which pair stays, what is collected
  replication/store/applier.cc          # pairs from peers
  replication/store/upkeep/tombstone_sweep.cc  # tombstones go
)

# Branches that only exceptions take are not ours, as we throw none, and one that
# an assertion takes is a bug.
options=(--root . --object-directory "$build" -j 2
         --exclude-throw-branches --exclude-unreachable-branches
         --exclude-branches-by-pattern '.*\bassert\(.*')

echo "Lines:"
gcovr "${options[@]}" --filter 'sketch/' --filter 'plugin/' --filter 'replication/' \
  --json "$build/lines.json" --txt - ${html[@]+"${html[@]}"} "$build"
echo "Branches:"
# Only of what is built without optimization, which merges and copies branches.
gcovr "${options[@]}" "${all_branches[@]/#/--filter=}" --branches \
  --json "$build/branches.json" --txt - \
  "$build/replication/store" "$build/tests/unit"

# enough COUNTS PATH OPTION BOUND: whether what was reached of the files is.
failed=0
enough() {
  local counts=$1 path=$2 option=$3 bound=$4 summary result=ok
  summary=$(gcovr --root . --add-tracefile "$counts" --filter "${path//./\\.}" \
    --print-summary --txt /dev/null "$option" "$bound" 2>/dev/null) ||
    { result="FAILED, less than $bound %"; failed=1; }
  printf '%-37s %s: %s\n' "$path" \
    "$(grep "^${option#--fail-under-}" <<<"$summary")" "$result"
}
for directory in "${directories[@]}"; do
  enough "$build/lines.json" "$directory/" --fail-under-line 90
done
for file in "${all_branches[@]}"; do
  enough "$build/branches.json" "$file" --fail-under-branch 100
done
exit "$failed"
