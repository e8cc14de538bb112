#!/usr/bin/env bash
# The constants and fuzz targets that docs/protocol.md names in its table of bounds
# are there.
# usage: check_bounds.sh SOURCE_DIRECTORY
set -euo pipefail
cd "$1"
table=$(sed -n '/^## Bounds/,/^## /p' docs/protocol.md)
failed=0
for constant in $(grep -oE '\bkMax[A-Za-z]+' <<<"$table" | sort -u); do
  grep -rqE "constexpr [a-z0-9_:]+ $constant\b" include replication sketch --include='*.h' --include='*.cc' ||
    { echo "docs/protocol.md: no constant $constant"; failed=1; }
done
for target in $(grep -oE '\b[a-z_]+_fuzz\b' <<<"$table" | sort -u); do
  [[ -f tests/fuzz/$target.cc ]] || { echo "docs/protocol.md: no fuzz target $target"; failed=1; }
done
(($(grep -c '_fuzz' <<<"$table") > 10)) || { echo "docs/protocol.md: no table of bounds"; failed=1; }
exit $failed
