#!/usr/bin/env bash
# Writes the documents that the packages have, in OUTPUT_FOLDER/operators (of the
# tools and the store) and OUTPUT_FOLDER/programmers (of librocksync-dev): links to
# one another are kept, and of links to what is not packaged only the words.
# usage: docs.sh OUTPUT_FOLDER
set -euo pipefail
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/..") out=$1
operators=(docs/tutorial.md docs/operating.md docs/monitoring.md docs/membership.md docs/glossary.md
  monitoring/alerts.yml monitoring/grafana.json)
programmers=(README.md CHANGELOG.md SECURITY.md docs/tutorial.md docs/operating.md docs/monitoring.md
  docs/membership.md docs/glossary.md docs/filter.md docs/filter_format.md docs/design.md docs/design_writes.md
  docs/protocol.md docs/exchange.md docs/index_format.md)
examples='^examples/(embed|bindings)(/|$)'  # beside the programmers' documents

write() {  # FOLDER EXAMPLES DOCUMENT...
  local folder=$1 kept=$2 document
  shift 2
  mkdir -p "$folder"
  for document; do
    THERE="$*" KEPT=$kept FROM=$document perl -0777 -pe '
      BEGIN { $there{$_} = 1 for split / /, $ENV{THERE} }
      s{!?\[([^\]]*)\]\(((?!https?:)[^)\s#]+)(#[^)]*)?\)}{
        my ($words, $path, $anchor) = ($1, $2, $3 // "");  # before another match
        # As seen from the root of the sources.
        my @parts = split m{/}, $ENV{FROM} =~ m{^(.*)/} ? "$1/$path" : $path;
        my @clean;
        for (@parts) { if ($_ eq "..") { pop @clean } elsif ($_ ne ".") { push @clean, $_ } }
        my $whole = join "/", @clean;
        (my $name = $whole) =~ s{.*/}{};
        $there{$whole} ? "[$words]($name$anchor)"
          : $ENV{KEPT} ne "" && $whole =~ /$ENV{KEPT}/ ? "[$words]($whole)" : $words }ge if $ARGV =~ /\.md$/' \
      "$source/$document" >"$folder/$(basename "$document")"
  done
}
rm -rf "$out"
write "$out/operators" '' "${operators[@]}"
write "$out/programmers" "$examples" "${programmers[@]}"
