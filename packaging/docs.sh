#!/usr/bin/env bash
# Writes the documents that the packages have: links to one another are kept, and
# of links to what is not packaged only the words.
# usage: docs.sh OUTPUT_FOLDER
set -euo pipefail
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..") out=$1
documents=(docs/tutorial.md docs/operating.md docs/monitoring.md docs/membership.md docs/glossary.md
  monitoring/alerts.yml monitoring/grafana.json)
rm -rf "$out"
mkdir -p "$out"
names=$(basename -a "${documents[@]}" | paste -sd ' ')
for document in "${documents[@]}"; do
  NAMES=$names perl -0777 -pe '
    BEGIN { $there{$_} = 1 for split / /, $ENV{NAMES} }
    s{!?\[([^\]]*)\]\(((?!https?:)[^)\s#]+)(#[^)]*)?\)}{
      my ($words, $path, $anchor) = ($1, $2, $3 // "");  # before another match
      (my $name = $path) =~ s{.*/}{};
      $there{$name} ? "[$words]($name$anchor)" : $words }ge if $ARGV =~ /\.md$/' \
    "$source/$document" >"$out/$(basename "$document")"
done
