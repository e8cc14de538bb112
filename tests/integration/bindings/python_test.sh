#!/usr/bin/env bash
# The Python package, installed by pip from a copy of the source tree into an
# environment of its own, without a network; its tests, and the example.
# usage: python_test.sh SOURCE_DIRECTORY LIBRARY
set -euo pipefail
source=$1
export ROCKSYNC_LIBRARY=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp -r "$source/python" "$work/python"
/usr/bin/python3 -m venv --system-site-packages "$work/env"
"$work/env/bin/pip" install --quiet --no-index --no-build-isolation --disable-pip-version-check \
  "$work/python"
cd "$work"
"$work/env/bin/python" -B "$source/tests/integration/bindings/python_test.py"
"$work/env/bin/python" -B "$source/examples/bindings/two_replicas.py" | tee example
[[ $(cat example) == "equal: True True 2" ]] || { echo "the replicas are not equal"; exit 1; }
# As short as promised.
lines=$(grep -cvE '^ *(#|$|""")' "$source/examples/bindings/two_replicas.py")
((lines <= 10)) || { echo "two_replicas.py has $lines lines"; exit 1; }
# Not installed, the library is missed by name.
said=$(ROCKSYNC_LIBRARY=/nowhere/librocksync.so.0 "$work/env/bin/python" -c 'import rocksync' 2>&1) && exit 1
grep -q 'install librocksync0, or set ROCKSYNC_LIBRARY' <<<"$said"
