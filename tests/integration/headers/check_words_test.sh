#!/usr/bin/env bash
# check_words.sh finds what it is there to find.
set -euo pipefail
check=$(dirname "$(realpath "${BASH_SOURCE[0]}")")/check_words.sh
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT
mkdir -p "$house"/{include/rocksync,docs/journal}
cat >"$house/words.txt" <<'END'
# a comment
\bdoor\b|hatch | window
\bglass\b | pane | glass house
END

expect() {  # expect pass|fail FILE TEXT
  echo "$3" >"$house/$2"
  local result=pass said
  said=$("$check" "$house" "$house/words.txt") || result=fail
  [[ $result == "$1" ]] || { echo "$3 in $2: expected $1, got $result"; exit 1; }
  if [[ $1 == fail ]]; then
    grep -qF "$2:1:$3" <<<"$said" || { echo "$2 not named: $said"; exit 1; }
  fi
  rm "$house/$2"
}
expect pass include/rocksync/a.h 'outdoors'
expect fail include/rocksync/a.h 'a Door'
expect fail docs/a.md 'the hatch'
expect fail README.md 'glass'
expect pass README.md 'a glass house'
expect pass docs/journal/a.md 'a door'
