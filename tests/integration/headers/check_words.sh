#!/usr/bin/env bash
# One word for one thing: what retired_words.txt lists stays away.
# usage: check_words.sh SOURCE_DIRECTORY [WORDS]
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
words=$(realpath "${2:-$here/retired_words.txt}")
cd "$1"
folders=()
for folder in include plugin sketch replication bindings python examples tools monitoring tests docs; do
  [[ -d $folder ]] && folders+=("$folder")
done
# The journal says what was so.
mapfile -d '' files < <(
  find "${folders[@]}" \( -name journal -o -name corpus -o -name node_modules -o -name __pycache__ \) -prune -o \
    -type f \( -name '*.h' -o -name '*.cc' -o -name '*.c' -o -name '*.md' -o -name '*.py' -o -name '*.sh' \
               -o -name '*.txt' -o -name '*.yml' -o -name '*.json' -o -name '*.js' \) \
    ! -name "${words##*/}" -print0
  for file in README.md SECURITY.md CHANGELOG.md; do [[ -f $file ]] && printf '%s\0' "$file"; done)
back=0
while IFS= read -r line; do
  [[ -z $line || $line == \#* ]] && continue
  word=${line%% | *}
  rest=${line#* | }
  allowed=
  [[ $rest == *' | '* ]] && allowed=${rest#* | }
  found=$(grep -nHiE -e "$word" "${files[@]}" || true)
  [[ -n $allowed ]] && found=$(grep -viE -e "$allowed" <<<"$found" || true)
  [[ -z $found ]] && continue
  echo "say instead: ${rest%% | *}"
  echo "$found"
  back=1
done <"$words"
exit $back
