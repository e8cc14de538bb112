#!/usr/bin/env bash
# Writes man pages of programs, from what their --help says: one of each program,
# and one of each command of rocksync (man rocksync-verify). What --help does not
# say is in packaging/man; packaging/man/examples has the examples, which a test
# runs (tests/integration/tools/man_examples_test.sh).
# usage: man.sh FOLDER_OF_PROGRAMS OUTPUT_FOLDER
#        man.sh --examples PAGE     the section EXAMPLES of one page, in help2man's notation
set -euo pipefail
more=$(dirname "${BASH_SOURCE[0]}")/man

# Comments become text, commands are set as they are.
examples() {  # PAGE: rocksync-verify
  local file=$more/examples/${1#rocksync-}.sh
  if [[ ! -f $file ]]; then file=$more/examples/$1.sh; fi
  echo '[EXAMPLES]'
  sed -e 's/\\/\\e/g; s/-/\\-/g' "$file" | awk '
    /^# / { if (set) print ".fi\n.PP"; set = 0; print substr($0, 3); next }
    { if (!set) print ".PP\n.nf"; set = 1; print "    " $0 }
    END { if (set) print ".fi" }'
}
if [[ $1 == --examples ]]; then examples "$2"; exit; fi

bin=$1 out=$2
rm -rf "$out"
mkdir -p "$out"
page() {  # NAME DESCRIPTION COMMAND INCLUDED
  { examples "$1"; echo; cat "$4"; } >"$out/included.h2m"
  help2man --no-info --no-discard-stderr --version-option=--version --help-option=--help --version-string="$version" \
    --include="$out/included.h2m" --name="$2" --source=rocksync --manual=rocksync "$3" |
    sed -E "s/^\.TH [^ ]*/.TH ${1^^}/; s/^(rocksync|replicated_store) \\\\-/$1 \\\\-/; s/replicated_store/rocksync-store/g" |
    gzip -9n >"$out/$1.1.gz"
}
version=$("$bin/rocksync" --version | head -n 1)
mapfile -t commands < <("$bin/rocksync" --help | sed -nE '/^Subcommands:/,$ s/^  ([a-z]+) .*/\1/p')
{ cat "$more/rocksync.h2m"; printf '.PP\nThe commands:\n'; printf '.BR rocksync\\-%s (1)\n' "${commands[@]}"; } >"$out/all.h2m"
page rocksync "tools for replicated RocksDB databases" "$bin/rocksync" "$out/all.h2m"
page rocksync-store "replicated key-value store with a Redis port" "$bin/replicated_store" "$more/rocksync-store.h2m"
printf '[SEE ALSO]\n.BR rocksync (1)\nand /usr/share/doc/rocksync\\-tools/operating.md, which says when to use it\n' >"$out/command.h2m"
for command in "${commands[@]}"; do
  # What it does is the first clause of its help.
  does=$("$bin/rocksync" "$command" --help | head -n 1 | sed -E 's/([;.:]|, until) .*//; s/\.$//')
  page "rocksync-$command" "$does" "$bin/rocksync $command" "$out/command.h2m"
done
rm "$out/all.h2m" "$out/command.h2m" "$out/included.h2m"
