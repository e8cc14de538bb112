#!/usr/bin/env bash
# The Debian packages: lintian finds no error, and in a bare Debian (debootstrap)
# they install, work, survive being installed again over a running store, and are
# purged without a trace. Needs root, and a mirror of Debian's.
# usage: package_test.sh FOLDER_OF_PACKAGES [FOLDER_FOR_THE_DEBIAN]
set -euo pipefail
packages=$(realpath "$1")
root=${2:-$(dirname "$packages")/debian}
names=(librocksync0 librocksync-dev rocksync-tools rocksync-store)
fail() { echo "FAILED: $*"; exit 1; }

debs=()
for name in "${names[@]}"; do
  deb=$(echo "$packages/${name}"_*.deb)
  [[ -f $deb ]] || fail "there is no one package $name"
  debs+=("$deb")
done
# An address of a maintainer is for who distributes the packages to give.
lintian --allow-root --fail-on error \
  --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "${debs[@]}" || fail "lintian"

if [[ ! -f $root/etc/debian_version ]]; then
  mirror=$(sed -nE 's/^(URIs:|deb) +(\[[^]]*\] *)?(https?:[^ ]+).*/\3/p' \
    /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1)
  debootstrap --variant=minbase bookworm "$root" "$mirror" >"$root.log" 2>&1 || { tail "$root.log"; fail "debootstrap"; }
fi
inside() { chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"; }
mount --bind /proc "$root/proc"
finish() {
  local status=$?
  [[ -f $root/tmp/store.pid ]] && kill -9 "$(cat "$root/tmp/store.pid")" 2>/dev/null
  umount "$root/proc"
  exit "$status"
}
trap finish EXIT
cp /etc/resolv.conf "$root/etc/resolv.conf"
# Services do not start in there by themselves.
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod 755 "$root/usr/sbin/policy-rc.d"
# What this machine's apt goes through, too.
cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
inside apt-get update -qq

# Nothing of an earlier run.
inside apt-get purge -y -qq "${names[@]}" >/dev/null 2>&1 || true
inside dpkg-query -W -f '${Package}\n' | sort >"$root/tmp/before"
find "$root"/{etc,usr,var/lib} -xdev | grep -vE "/var/lib/(dpkg|apt|systemd)|/var/cache" | sort >"$packages/files.before"

rm -f "$root"/tmp/*.deb
cp "${debs[@]}" "$root/tmp"
inside sh -c 'apt-get install -y -qq --no-install-recommends /tmp/*.deb' >"$packages/install.log" 2>&1 ||
  { tail -n 30 "$packages/install.log"; fail "apt-get install"; }
echo "installed"

# They work.
inside rocksync --version
inside rocksync-store --help >/dev/null
inside getent passwd rocksync | grep -q /var/lib/rocksync-store || fail "no user rocksync"
[[ $(inside stat -c '%U %a' /var/lib/rocksync-store) == "rocksync 700" ]] || fail "owner of /var/lib/rocksync-store"
[[ -f $root/usr/share/man/man1/rocksync.1.gz && -f $root/usr/share/man/man1/rocksync-store.1.gz ]] || fail "man pages"
gzip -dc "$root/usr/share/man/man1/rocksync.1.gz" | grep -q 'max\\-keys' || fail "the man page tells no options"
[[ -f $root/lib/systemd/system/rocksync-store.service ]] || fail "no unit"
inside ldconfig -p | grep -q 'librocksync\.so\.0' || fail "ldconfig does not know librocksync.so.0"
# shellcheck disable=SC2016
inside bash -c 'source /usr/share/bash-completion/completions/rocksync; COMP_WORDS=(rocksync ver); COMP_CWORD=1
  _rocksync rocksync; [[ ${COMPREPLY[*]} == verify ]]' || fail "completion"

start() {
  inside su rocksync -s /bin/sh -c 'umask 077; exec rocksync-store --dir /var/lib/rocksync-store/db --certificates \
    /var/lib/rocksync-store/trial --redis-port 16379 >>/var/lib/rocksync-store/log 2>&1' &
  for _ in {1..100}; do
    if printf 'PING\r\n' | timeout 1 bash -c 'exec 3<>/dev/tcp/127.0.0.1/16379; cat >&3; head -c 5 <&3' 2>/dev/null |
      grep -q PONG; then return 0; fi
    sleep 0.2
  done
  cat "$root/var/lib/rocksync-store/log"
  fail "the store does not answer"
}
ask() { timeout 5 bash -c 'exec 3<>/dev/tcp/127.0.0.1/16379; printf "%s\r\n" "$0" >&3; head -n 2 <&3' "$*" | tail -n 1 | tr -d '\r'; }
start
timeout 5 bash -c 'exec 3<>/dev/tcp/127.0.0.1/16379; printf "SET kept yes\r\n" >&3; head -n 1 <&3' | grep -q OK || fail "SET"

# Installed again over a store that runs: it goes on, and nothing is lost.
inside sh -c 'apt-get install -y -qq --reinstall --no-install-recommends /tmp/*.deb' >>"$packages/install.log" 2>&1 ||
  fail "installing again"
[[ $(ask GET kept) == yes ]] || fail "the running store lost a key"
store=$(pgrep -f '^rocksync-store --dir /var/lib/rocksync-store/db' | head -n 1)
kill "$store"
for _ in {1..100}; do kill -0 "$store" 2>/dev/null || break; sleep 0.1; done
start
[[ $(ask GET kept) == yes ]] || fail "the store that was started again lost a key"
kill "$(pgrep -f '^rocksync-store --dir /var/lib/rocksync-store/db' | head -n 1)"
wait || true
echo "works"

# A C program finds it by pkg-config, and what is not C++ needs no -dev of others.
inside sh -c 'rm -f /tmp/*.deb'
# Removed, data stay; purged, nothing does.
inside apt-get remove -y -qq rocksync-store >/dev/null
[[ -d $root/var/lib/rocksync-store/db ]] || fail "removing took the database along"
inside apt-get purge -y -qq "${names[@]}" >/dev/null 2>&1
inside apt-get autoremove -y -qq --purge >/dev/null 2>&1
inside dpkg-query -W -f '${Package}\n' | sort | diff "$root/tmp/before" - || fail "packages stay"
if inside getent passwd rocksync; then fail "the user stays"; fi
find "$root"/{etc,usr,var/lib} -xdev | grep -vE "/var/lib/(dpkg|apt|systemd)|/var/cache" | sort |
  diff "$packages/files.before" - | grep -E '^> ' | grep -E 'rocksync' && fail "files stay"
echo "purged without a trace"
