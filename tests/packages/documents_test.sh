#!/usr/bin/env bash
# The documents as packaged say what the sources say, word by word, and their
# links lead to documents or examples that are packaged too, or to the web.
# usage: documents_test.sh SOURCE_DIRECTORY
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

"$source/packaging/docs.sh" "$work/packaged"
# As cmake/package.cmake installs them.
mkdir "$work/packaged/programmers/examples"
cp -r "$source/examples/embed" "$source/examples/bindings" "$work/packaged/programmers/examples"
words() { perl -0777 -pe 's{!?\[([^\]]*)\]\([^)]*\)}{$1}g' "$1"; }
of_source() { if [[ -f $source/docs/$1 ]]; then echo "$source/docs/$1"; else echo "$source/$1"; fi; }
check() {  # SET AT_LEAST
  local documents=0 packaged name link
  for packaged in "$work/packaged/$1"/*.md; do
    name=$(basename "$packaged")
    diff <(words "$(of_source "$name")") <(words "$packaged") || fail "$name has other words than its source"
    for link in $(perl -0777 -ne 'print "$1\n" while /\]\(([^)\s]+)\)/g' "$packaged" | grep -v '^https\?:' | sed 's/#.*//' | sort -u); do
      [[ -e $work/packaged/$1/$link ]] || fail "$name has a link to $link"
    done
    documents=$((documents + 1))
  done
  ((documents >= $2)) || fail "only $documents documents are packaged for $1"
}
check operators 5
check programmers 15
grep -F '](examples/embed)' "$work/packaged/programmers/README.md" >/dev/null || fail "the README does not lead to the examples"
