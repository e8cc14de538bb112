#!/usr/bin/env bash
# check_modules.sh finds what it is there to find.
set -euo pipefail
check=$(dirname "$(realpath "${BASH_SOURCE[0]}")")/check_modules.sh
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT
mkdir -p "$house"/{sketch/low,replication/{middle,high}}
echo >"$house/sketch/low/a.h"
echo '#include "sketch/low/a.h"' >"$house/replication/middle/b.h"
echo '#include "replication/middle/b.h"' >"$house/replication/high/c.cc"

expect() {  # expect pass|fail TEXT MODULES...
  local result=pass said
  printf '%s\n' "${@:3}" >"$house/modules"
  said=$("$check" "$house" "$house/modules") || result=fail
  if [[ $result != "$1" ]] || ! grep -qF "$2" <<<"$said"; then
    echo "expected: $1, \"$2\""
    echo "$said"
    exit 1
  fi
}
low='low sketch/low'
middle='middle replication/middle low'
high='high replication/high middle'
expect pass '3 modules, 2 arrows' "$low" "$middle" "$high"
expect fail 'replication/high includes headers of middle' "$low" "$middle" 'high replication/high'
expect fail 'replication/high includes nothing of low' "$low" "$middle" 'high replication/high middle low'
expect fail "sketch/low is no target's folder" 'middle replication/middle' "$high"
echo '#include "replication/high/c.h"' >"$house/replication/middle/d.h"
expect fail 'modules that need one another' "$low" 'middle replication/middle low high' "$high"
echo ok
