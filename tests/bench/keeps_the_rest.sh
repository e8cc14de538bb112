#!/bin/bash
# Runs a benchmark, given with its arguments, whose databases go into a directory
# that holds something else. That must be all that is there afterwards.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/sub"
echo precious > "$place/sub/file"
before=$(cd "$place" && find . -printf '%y %p %s\n' | sort)
"$@" --dir "$place"
after=$(cd "$place" && find . -printf '%y %p %s\n' | sort)
[[ $before == "$after" ]] || { printf 'before:\n%s\nafter:\n%s\n' "$before" "$after" >&2; exit 1; }
