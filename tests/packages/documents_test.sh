#!/usr/bin/env bash
# The documents as packaged say what the sources say, word by word, and their
# links lead to documents that are packaged too, or to the web.
# usage: documents_test.sh SOURCE_DIRECTORY
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

"$source/packaging/docs.sh" "$work/packaged"
words() { perl -0777 -pe 's{!?\[([^\]]*)\]\([^)]*\)}{$1}g' "$1"; }
documents=0
for packaged in "$work"/packaged/*.md; do
  name=$(basename "$packaged")
  diff <(words "$source/docs/$name") <(words "$packaged") || fail "$name has other words than docs/$name"
  for link in $(perl -0777 -ne 'print "$1\n" while /\]\(([^)\s]+)\)/g' "$packaged" | grep -v '^https\?:' | sed 's/#.*//' | sort -u); do
    [[ -f $work/packaged/$link ]] || fail "$name has a link to $link"
  done
  documents=$((documents + 1))
done
((documents >= 5)) || fail "only $documents documents are packaged"
