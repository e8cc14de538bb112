#!/usr/bin/env bash
# check_together.sh finds what it is there to find.
set -euo pipefail
check=$(dirname "$(realpath "${BASH_SOURCE[0]}")")/check_together.sh
house=$(mktemp -d)
trap 'rm -rf "$house"' EXIT

# expect pass|fail TEXT FIRST SECOND: of two sources with these lines in unnamed
# namespaces.
expect() {
  local result=pass said
  printf 'namespace {\n%s\n}  // namespace\n' "$3" >"$house/first.cc"
  printf 'namespace {\n%s\n}  // namespace\n' "$4" >"$house/second.cc"
  printf 'here %s/first.cc %s/second.cc\nthere %s/first.cc\n' "$house" "$house" "$house" >"$house/list"
  said=$("$check" "$house/list") || result=fail
  if [[ $result != "$1" ]] || ! grep -qF "$2" <<<"$said"; then
    echo "expected: $1, \"$2\""
    echo "$said"
    exit 1
  fi
}
expect pass '2 targets' 'constexpr int kOne = 1;' 'constexpr int kOther = 1;'
expect fail '"kOne" is defined in' 'constexpr int kOne = 1;' 'constexpr uint64_t kOne = uint64_t{2};'
expect fail '"kName" is defined in' 'constexpr char kName[] = "a";' 'const std::string kName("b");'
expect fail '"Door" is defined in' 'struct Door {' 'class Door {'
expect pass '2 targets' 'struct Door {' 'class Door;'
expect fail 'int Sum(int a) {' 'int Sum(int a) {' 'int Sum(int a) {'
expect pass '2 targets' 'int Sum(int a) {' 'int Sum(double a) {'
expect pass '2 targets' 'constexpr int kOne = 1;' $'}  // namespace\nconstexpr int kOne = 1;\nnamespace {'
printf 'here %s/missing.cc\n' "$house" >"$house/list"
if "$check" "$house/list"; then echo "a source that is not there passes"; exit 1; fi
: >"$house/none"
if "$check" "$house/none"; then echo "an empty list passes"; exit 1; fi
echo ok
