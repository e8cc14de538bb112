#!/usr/bin/env bash
# What a program left behind in the source directory was not committed.
# usage: check_top_level.sh SOURCE_DIRECTORY
set -euo pipefail
cd "$1"
known='^(\.ci|\.clang-format|\.gitignore|CHANGELOG\.md|CMakeLists\.txt|CMakePresets\.json|README\.md|SECURITY\.md|bindings|cmake|dev|docs|examples|include|monitoring|packaging|plugin|python|replication|sketch|tests|tools)$'
unknown=$(git ls-files | cut -d/ -f1 | sort -u | grep -vE "$known" || true)
[[ -z $unknown ]] && exit
echo "committed by mistake, or to be named in tests/integration/headers/check_top_level.sh:"
echo "$unknown"
exit 1
