#!/usr/bin/env bash
# Each module links exactly the modules whose headers it includes, and no two modules
# need one another.
# usage: check_modules.sh SOURCE_DIRECTORY MODULES
# MODULES: a line a module: its target, its folder, the targets that it links.
set -euo pipefail
cd "$1"
modules=$2
failed=0

declare -A target_of
while read -r target folder _; do target_of[$folder]=$target; done <"$modules"

# included FOLDER: the targets of the modules that its sources include, sorted.
included() {
  local folder=$1 include
  find "$folder" -maxdepth 1 \( -name '*.h' -o -name '*.cc' \) \
    -exec sed -nE 's|^ *# *include "([^"]+)/[^/"]+".*|\1|p' {} + | sort -u |
    while read -r include; do
      [[ $include == "$folder" ]] || echo "${target_of[$include]:-}"
    done | sed '/^$/d' | sort -u
}

# Every folder with sources is a module.
while read -r folder; do
  if [[ -z ${target_of[$folder]:-} ]]; then
    echo "$folder is no target's folder"
    failed=1
  fi
done < <(find sketch replication \( -name '*.h' -o -name '*.cc' \) -printf '%h\n' | sort -u)

arrows=$(mktemp)
trap 'rm -f "$arrows"' EXIT
count=0
while read -r target folder links; do
  needs=$(included "$folder")
  has=$(tr ' ' '\n' <<<"$links" | sed '/^$/d' | sort -u)
  while read -r name; do
    [[ -z $name ]] || { echo "$folder includes headers of $name: link rocksync::$name"; failed=1; }
  done < <(comm -23 <(echo "$needs") <(echo "$has"))
  while read -r name; do
    [[ -z $name ]] || { echo "$folder includes nothing of $name: do not link rocksync::$name"; failed=1; }
  done < <(comm -13 <(echo "$needs") <(echo "$has"))
  for name in $has; do
    echo "$target $name" >>"$arrows"
    count=$((count + 1))
  done
done <"$modules"
if ! tsort "$arrows" >/dev/null 2>"$arrows.cycle"; then
  echo "modules that need one another:"
  sed -n 's/^tsort: \([a-z_]*\)$/  \1/p' "$arrows.cycle"
  failed=1
fi
rm -f "$arrows.cycle"
echo "$(wc -l <"$modules") modules, $count arrows"
exit $failed
