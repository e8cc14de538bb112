#!/usr/bin/env bash
# No type is defined twice: all our headers share one namespace, and two types of
# one name in one program are undefined behaviour that no compiler sees.
# usage: check_types.sh SOURCE_DIRECTORY
set -euo pipefail
cd "$1"
twice=$(find include plugin sketch replication bindings examples tools -name '*.h' -print0 |
  xargs -0 grep -hoE '^(class|struct|union|enum( class)?) [A-Za-z0-9_]+( final)? *(: |:$|\{)' |
  sed -E 's/^(class|struct|union|enum class|enum) ([A-Za-z0-9_]+).*/\2/' |
  sort | uniq -d)
[[ -z $twice ]] && exit
for name in $twice; do
  echo "$name is defined more than once:"
  grep -rnE --include='*.h' "^(class|struct|union|enum( class)?) $name( final)? *(: |:$|\{)" \
    include plugin sketch replication bindings examples tools
done
exit 1
