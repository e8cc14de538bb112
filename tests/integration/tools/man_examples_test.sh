#!/usr/bin/env bash
# Each man page has examples, and each of them runs as it stands there, against
# two running replicas; only the addresses are others. They are taken from what
# the page is made of, after its conversion to roff.
# usage: man_examples_test.sh SOURCE_DIRECTORY STORE ROCKSYNC
set -euo pipefail
source=$1 store=$(realpath "$2") rocksync=$(realpath "$3")
work=$(mktemp -d)
finished=0
cleanup() {
  local status=$?
  if ((status == 0 && !finished)); then status=1; fi
  jobs -p | xargs -r kill 2>/dev/null || true
  wait 2>/dev/null || true
  ((status == 0)) || tail -n 20 "$work"/*.said "$work"/run/*.log
  rm -rf "$work"
  exit "$status"
}
trap cleanup EXIT
fail() { echo "FAILED: $*"; exit 1; }

mkdir "$work/bin" "$work/run"
ln -s "$store" "$work/bin/rocksync-store"
ln -s "$rocksync" "$work/bin/rocksync"
export PATH=$work/bin:$PATH
cd "$work/run"
# All digits but the last one, of ports below those that the system gives away.
ports=$((2400 + RANDOM % 400))

run=()
page() {  # NAME
  run+=("$1")
  {
    echo 'set -euo pipefail; trap '\''jobs -p | xargs -r kill'\'' EXIT'
    "$source/packaging/man.sh" --examples "$1" | sed -nE 's/^    //p' | sed 's/\\-/-/g; s/\\e/\\/g' |
      sed -E "s/\bdb([12]):7400/127.0.0.1:${ports}\1/g; s/\b740([12])\b/$((ports + 1))\1/g
              s/\b640([12])\b/$((ports + 2))\1/g; s/\b9742\b/${ports}5/g"
  } >"$work/$1.sh"
  (($(wc -l <"$work/$1.sh") > 1)) || fail "the page $1 has no examples"
  timeout 60 bash -x "$work/$1.sh" >"$work/$1.said" 2>&1 || fail "an example of the page $1 ends with $?"
}

page rocksync-certificate
page rocksync-id
head -c 32 /dev/urandom >secret
rocksync certificate --ca ca.pem --ca-key ca.key --output b --id "$(rocksync id b)"
for name in a b; do
  number=$(tr ab 12 <<<$name)
  closed=()
  if [[ $name == b ]]; then closed=(--no-clones); fi
  rocksync-store --dir $name --cluster orders --ca ca.pem --certificate $name.pem --private-key $name.key --secret secret \
    --redis-port 0 "${closed[@]}" --listen 127.0.0.1:"$ports$number" --peer 127.0.0.1:"$ports$((3 - number))" >$name.log 2>&1 &
done
for log in a.log b.log; do
  for ((tries = 0; ; ++tries)); do
    if grep -q 'redis-cli' $log; then break; fi
    ((tries < 300)) || fail "a store does not start"
    sleep 0.1
  done
done
page rocksync-clone
page rocksync-resync
# A store that is not to be cloned says so to who asks, and tells of it.
rocksync certificate --ca ca.pem --ca-key ca.key --output refused
code=0
rocksync clone 127.0.0.1:"${ports}2" refused --cluster orders --ca ca.pem --certificate refused.pem --private-key refused.key \
  --secret secret >refused.out 2>refused.err || code=$?
((code == 2)) || fail "a clone that is refused ends with $code"
[[ ! -s refused.out ]] || fail "a clone that is refused writes to stdout"
grep -q 'allow_clones is false (rocksync-store: --no-clones)' refused.err || fail "who is refused is not told: $(cat refused.err)"
grep -q 'warning: refused becomes replica .*, as refused.pem names it' refused.err || fail "no warning: $(cat refused.err)"
rocksync status 127.0.0.1:"${ports}2" --cluster orders --ca ca.pem --certificate refused.pem --private-key refused.key --secret secret --json |
  grep -q '"last_refusal":.*allow_clones is false' || fail "the status does not tell of the clone that was refused"
page rocksync-status
page rocksync-verify
page rocksync-rescue
page rocksync-restamp
page rocksync-repair
page rocksync-detach
page rocksync-diff
page rocksync-exporter
page rocksync
page rocksync-store

for command in $(rocksync --help | sed -nE '/^Subcommands:/,$ s/^  ([a-z]+) .*/\1/p'); do
  [[ " ${run[*]} " == *" rocksync-$command "* ]] || fail "nothing here runs the examples of rocksync $command"
done
[[ $(rocksync id c) == "$(openssl x509 -in c.pem -noout -ext subjectAltName | sed -n 's/.*rocksync:replica://p')" ]] ||
  fail "the clone is not the replica that its certificate names"
finished=1
echo ok
