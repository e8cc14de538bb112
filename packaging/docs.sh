#!/usr/bin/env bash
# Writes the documents that the packages have, in OUTPUT_FOLDER/operators (of the
# tools and the store) and OUTPUT_FOLDER/programmers (of librocksync-dev): links to
# one another are kept, and of links to what is not there the words, which say where
# it is (headers have their own names). Pictures are left out with their captions.
# Those of docs and monitoring lie at the top, others where they are in the sources.
# usage: docs.sh OUTPUT_FOLDER
set -euo pipefail
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..") out=$1
operators=(CHANGELOG.md docs/tutorial.md docs/operating.md docs/monitoring.md docs/membership.md docs/differences.md docs/glossary.md
  monitoring/alerts.yml monitoring/grafana.json)
programmers=(README.md CHANGELOG.md SECURITY.md docs/tutorial.md docs/operating.md docs/monitoring.md
  docs/membership.md docs/differences.md docs/glossary.md docs/filter.md docs/filter_format.md docs/design.md docs/design_writes.md
  docs/protocol.md docs/exchange.md docs/index_format.md bindings/README.md python/README.md)
beside='^(examples/(embed|bindings)|bindings/(go|rust))(/|$)'  # of the programmers' documents, see cmake/package.cmake

placed() { echo "$1" | sed -E 's,^(docs|monitoring)/,,'; }
write() {  # FOLDER BESIDE OTHER_PACKAGE WHAT_IT_HAS DOCUMENT...
  local folder=$1 kept=$2 other=$3 elsewhere=$4 document
  shift 4
  for document; do
    mkdir -p "$(dirname "$folder/$(placed "$document")")"
    THERE="$*" KEPT=$kept OTHER=$other ELSEWHERE=$elsewhere FROM=$document perl -0777 -pe '
      BEGIN {
        $there{$_} = 1 for split / /, $ENV{THERE};
      }
      if ($ARGV =~ /\.md$/) {
      s{^!\[[^\]]*\]\([^)]*\)\n\n?}{}mg;
      s{\[([^\]]*)\]\(((?!https?:)[^)\s#]+)(#[^)]*)?\)}{
        my ($words, $path, $anchor) = ($1, $2, $3 // "");  # before another match
        # As seen from the root of the sources.
        my @parts = split m{/}, $ENV{FROM} =~ m{^(.*)/} ? "$1/$path" : $path;
        my @clean;
        for (@parts) { if ($_ eq "..") { pop @clean } elsif ($_ ne ".") { push @clean, $_ } }
        my $whole = join "/", @clean;
        # As seen from where the document will lie.
        (my $at = $whole) =~ s{^(docs|monitoring)/}{};
        my $up = $ENV{FROM} =~ m{^(docs|monitoring)/|^[^/]*$} ? "" : "../";
        $there{$whole} ? "[$words]($up$at$anchor)"
          : $ENV{KEPT} ne "" && $whole =~ /$ENV{KEPT}/ ? "[$words]($up$at)"
          : $ENV{KEPT} ne "" && $whole =~ m{^include/} ? $words
          : $whole =~ /$ENV{ELSEWHERE}/ ? "$words (in the package $ENV{OTHER})"
          : "$words (in the source tree)" }ge }' \
      "$source/$document" >"$folder/$(placed "$document")"
  done
}
rm -rf "$out"
any_of() { local IFS='|'; echo "^($*)\$" | sed 's/\./\\./g'; }
write "$out/operators" '' librocksync-dev "$(any_of "${programmers[@]}")|$beside|^include/" "${operators[@]}"
write "$out/programmers" "$beside" rocksync-tools '^monitoring/' "${programmers[@]}"
