#!/usr/bin/env bash
# The documents as packaged say what the sources say, word by word, but for the
# captions of pictures, which are not packaged. Their links lead to documents or
# examples that are packaged too, or to the web; where a link is left out, its words
# say where that is which they name.
# usage: documents_test.sh SOURCE_DIRECTORY
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

"$source/packaging/docs.sh" "$work/packaged"
# As cmake/package.cmake installs them.
packaged=$work/packaged/programmers
mkdir "$packaged/examples"
cp -r "$source/examples/embed" "$source/examples/bindings" "$packaged/examples"
cp -r "$source/bindings/go" "$source/bindings/rust" "$packaged/bindings"
words() {
  perl -0777 -pe 's{^!\[[^\]]*\]\([^)]*\)\n\n?}{}mg; s{\[([^\]]*)\]\([^)]*\)}{$1}g;
    s{ \(in the (package (librocksync-dev|rocksync-tools)|source tree)\)}{}g' "$1"
}
# Of each link of the source that leads to a file, its words and nothing more.
dead_words() {  # SOURCE PACKAGED
  perl -0777 -e '
    my ($source, $packaged) = map { local @ARGV = $_; scalar <> } @ARGV;
    while ($source =~ m{(!?)\[([^\]]*)\]\((?!https?:)([^)\s#]+)[^)]*\)}g) {
      my ($image, $words, $path) = ($1, $2, $3);
      next if $path =~ m{(^|/)include/};  # a header has its own name
      my $told = $image ? $packaged !~ /\Q$words\E/
        : $packaged =~ /\[\Q$words\E\]\(|\Q$words\E \(in the (package|source tree)/;
      print "$words\n" unless $told;
    }' "$1" "$2"
}
of_source() { if [[ -f $source/docs/$1 ]]; then echo "$source/docs/$1"; else echo "$source/$1"; fi; }
check() {  # SET AT_LEAST
  local documents=0 packaged name link dead
  for packaged in $(find "$work/packaged/$1" -name '*.md'); do
    name=${packaged#"$work/packaged/$1/"}
    diff <(words "$(of_source "$name")") <(words "$packaged") || fail "$name has other words than its source"
    dead=$(dead_words "$(of_source "$name")" "$packaged")
    [[ -z $dead ]] || fail "$name for $1 has words where a link or a picture was: $dead"
    for link in $(perl -0777 -ne 'print "$1\n" while /\]\(([^)\s]+)\)/g' "$packaged" | grep -v '^https\?:' | sed 's/#.*//' | sort -u); do
      [[ -e $(dirname "$packaged")/$link ]] || fail "$name has a link to $link"
    done
    documents=$((documents + 1))
  done
  ((documents >= $2)) || fail "only $documents documents are packaged for $1"
}
check operators 6
check programmers 17
# The README leads to the examples, and to what each of them is built with.
for place in examples/embed examples/bindings/two_replicas.{c,go,py,rs} bindings/{go,rust} python/README.md; do
  grep -F "]($place)" "$packaged/README.md" >/dev/null || fail "the README does not lead to $place"
done
grep -F '](../bindings/go)' "$packaged/bindings/README.md" >/dev/null || fail "the table does not lead to the Go package"
# What operators are sent to is there, or they are told where it is.
tutorial=$work/packaged/operators/tutorial.md
for sent in '[changelog](CHANGELOG.md)' 'the twenty lines (in the package librocksync-dev)' \
            'examples/embed (in the package librocksync-dev)' 'testing (in the source tree)'; do
  grep -F "$sent" "$tutorial" >/dev/null || fail "the operators' tutorial has no \"$sent\""
done
# Who reads it in the package has no source tree.
grep -F '`./dev` is in the source tree' "$packaged/README.md" >/dev/null || fail "the README does not say where ./dev is"
