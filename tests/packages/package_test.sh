#!/usr/bin/env bash
# The Debian packages: lintian finds no error, and in a bare Debian (debootstrap)
# that systemd-nspawn boots with a systemd of its own they install; the service
# runs as a user of its own; programs outside build against -dev; newer packages
# take over a store that runs and is being written to; and a purge leaves nothing.
# Needs root and a mirror of Debian's; uses the network as it is, and free ports.
# usage: package_test.sh FOLDER_OF_PACKAGES SOURCE_DIRECTORY FOLDER_FOR_THE_DEBIAN
set -euo pipefail
packages=$(realpath "$1") source=$(realpath "$2") root=$(realpath -m "$3")
names=(librocksync0 librocksync-dev rocksync-tools rocksync-store)
fail() { echo "FAILED: $*"; exit 1; }
step() { printf '%s  %s\n' "$(date +%T)" "$*"; }

debs=()
for name in "${names[@]}"; do
  deb=$(echo "$packages/${name}"_*.deb)
  [[ -f $deb ]] || fail "there is no one package $name"
  debs+=("$deb")
done
# An address of a maintainer is for who distributes the packages to give.
lintian --allow-root --fail-on error \
  --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "${debs[@]}" || fail "lintian"
step "lintian finds no error"

# --- A bare Debian -----------------------------------------------------------

chrooted() { chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"; }
# The packages of a debootstrap, a systemd that boots it, and what an operator
# and a programmer bring along.
others=(systemd systemd-sysv dbus openssl procps g++ cmake make pkg-config)
if [[ ! -f $root/complete ]]; then
  rm -rf "$root"
  # shellcheck source=/dev/null
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  mirror=$(apt-get indextargets --format '$(SITE) $(CODENAME)' 'Created-By: Packages' |
    awk -v suite="$suite" '$2 == suite { print $1; exit }')
  [[ -n $mirror ]] || fail "apt-get indextargets names no mirror of $suite"
  debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$root.log" 2>&1 || { tail "$root.log"; fail "debootstrap"; }
  # What this machine's apt goes through, too.
  cp /etc/resolv.conf "$root/etc/resolv.conf"
  cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/"
  { chrooted apt-get update && chrooted apt-get install -y --no-install-recommends "${others[@]}"; } \
    >>"$root.log" 2>&1 || { tail "$root.log"; fail "packages of the bare Debian"; }
  touch "$root/complete"
fi
step "a bare Debian is in $root"

# Debian's daily apt-get would take the lock of the test's.
for timer in apt-daily apt-daily-upgrade; do ln -sfn /dev/null "$root/etc/systemd/system/$timer.timer"; done

machine='' writer=''
finish() {
  local status=$?
  [[ -z $writer ]] || kill "$writer" 2>/dev/null || true
  if [[ -n $machine ]]; then kill -TERM "$machine" 2>/dev/null && wait "$machine" || true; fi
  exit "$status"
}
trap finish EXIT
systemd-nspawn --quiet --register=no --keep-unit --boot --console=pipe -D "$root" </dev/null >"$root.console" 2>&1 &
machine=$!
inside() {
  nsenter -a -t "$leader" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"
}
for ((tries = 0; ; ++tries)); do
  if leader=$(pgrep -P "$machine") && inside systemctl is-active --quiet multi-user.target 2>/dev/null; then break; fi
  if ((tries == 300)) || ! kill -0 "$machine" 2>/dev/null; then
    tail -n 5 "$root.console"
    fail "systemd-nspawn does not boot a Debian here"
  fi
  sleep 0.2
done
step "it runs"

# Nothing of an earlier run.
inside apt-get purge -y -qq "${names[@]}" >/dev/null 2>&1 || true
inside apt-get autoremove -y -qq --purge >/dev/null 2>&1
inside systemctl reset-failed
rm -rf "$root"/etc/rocksync "$root"/var/lib/rocksync-store "$root"/root/*

packages_there() { inside dpkg-query -W -f '${Package} ${db:Status-Abbrev}\n' | sort; }
# What is not a log, a cache or a list of packages, nor a copy of one that the system
# makes every day; and users and groups.
files_there() {
  (cd "$root" && find etc usr var opt srv home -xdev |
    grep -vE '^var/(lib/(dpkg|apt|systemd)|backups|cache|log|tmp)(/|$)|^etc/(passwd|shadow|group|gshadow|subuid|subgid)-$' | sort)
  inside getent passwd | cut -d : -f 1
  inside getent group | cut -d : -f 1
}
packages_there >"$packages/packages.before"
files_there >"$packages/files.before"

mkdir "$root/root/packages" "$root/root/newer"
cp "${debs[@]}" "$root/root/packages"
# The same as the next revision.
for deb in "${debs[@]}"; do
  rm -rf "$packages/newer"
  dpkg-deb -R "$deb" "$packages/newer"
  sed -i -E '/^(Version|Depends):/ s/([0-9])-1\b/\1-2/' "$packages/newer/DEBIAN/control"
  dpkg-deb -Znone --root-owner-group -b "$packages/newer" "$root/root/newer/$(basename "$deb" | sed 's/-1_/-2_/')" >/dev/null
done
rm -rf "$packages/newer"
install_from() {  # FOLDER [OPTION...]
  inside sh -c "apt-get install -y -qq --no-install-recommends ${*:2} /root/$1/*.deb" >>"$packages/install.log" 2>&1 ||
    { tail -n 30 "$packages/install.log"; fail "apt-get install of $1"; }
}
: >"$packages/install.log"
install_from packages
step "installed"

# --- What was installed ------------------------------------------------------

inside rocksync --version >/dev/null || fail "rocksync --version"
summaries=$(inside dpkg-query -W -f='${binary:Summary}\n' librocksync0 librocksync-dev rocksync-tools rocksync-store | sort -u | wc -l)
[[ $summaries == 4 ]] || fail "four packages have $summaries short descriptions"
inside rocksync-store --help >/dev/null || fail "rocksync-store --help"
[[ $(inside stat -c '%U %a' /var/lib/rocksync-store) == "rocksync 700" ]] || fail "owner of /var/lib/rocksync-store"
[[ $(inside stat -c '%U %G %a' /etc/rocksync) == "root rocksync 750" ]] || fail "owner of /etc/rocksync"
inside getent passwd rocksync | grep '/var/lib/rocksync-store:/usr/sbin/nologin$' >/dev/null || fail "the user rocksync"
for page in rocksync rocksync-store $(inside rocksync --help | sed -nE '/^Subcommands:/,$ s/^  ([a-z]+) .*/rocksync-\1/p'); do
  gzip -dc "$root/usr/share/man/man1/$page.1.gz" | grep -F "$page \\-" >/dev/null || fail "no man page of $page"
done
gzip -dc "$root/usr/share/man/man1/rocksync-verify.1.gz" | grep -F 'max\-keys' >/dev/null || fail "the man page tells no options"
for section in 'EXIT STATUS' EXAMPLES FILES 'SEE ALSO'; do
  gzip -dc "$root/usr/share/man/man1/rocksync-store.1.gz" | grep -F ".SH \"$section\"" >/dev/null ||
    gzip -dc "$root/usr/share/man/man1/rocksync-store.1.gz" | grep -Fx ".SH $section" >/dev/null || fail "the man page has no $section"
done
for file in default/rocksync rocksync; do
  gzip -dc "$root/usr/share/man/man1/rocksync-store.1.gz" | grep -F "/etc/$file" >/dev/null || fail "the man page has no /etc/$file"
done
gzip -dc "$root/usr/share/man/man1/rocksync-store.1.gz" | grep -F '/var/lib/rocksync' >/dev/null || fail "the man page does not say where the database is"
for page in "$root"/usr/share/man/man1/rocksync*.1.gz; do
  gzip -dc "$page" | grep -E '\{false\}|U?INT:|(Excludes|Needs):|^rocksync.* \.\.\.$' && fail "$page has what is CLI11's alone"
done
for page in "$root"/usr/share/man/man1/rocksync*.1.gz; do
  gzip -dc "$page" | grep -E '^\.SH "?EXAMPLES"?$' >/dev/null || fail "$page has no examples"
done
# Links between documents lead somewhere (documents_test.sh compares their words).
for package in rocksync-tools rocksync-store librocksync-dev; do
  documents=$root/usr/share/doc/$package
  if [[ $package == librocksync-dev ]]; then
    [[ -f $documents/README.md && -f $documents/CHANGELOG.md ]] || fail "no README in $package"
    (cd "$source" && find bindings/go bindings/rust python/rocksync python/pyproject.toml -type f ! -path '*__pycache__*') | while read -r file; do
      cmp "$source/$file" "$documents/$file" || fail "$package lacks $file"
    done
  else
    [[ -f $documents/alerts.yml && -f $documents/grafana.json ]] || fail "no alert rules in $package"
  fi
  for document in $(find "$documents" -name '*.md'); do
    for link in $(perl -0777 -ne 'print "$1\n" while /\]\(([^)\s#]+)[^)\s]*\)/g' "$document" | grep -vE '^https?:' | sort -u); do
      [[ -e $(dirname "$document")/$link ]] || fail "$package has a link to $link in $document"
    done
  done
done
inside ldconfig -p | grep 'librocksync\.so\.0' >/dev/null || fail "ldconfig does not know librocksync.so.0"
complete_words() {  # PROGRAM WORD...
  inside bash -c 'source /usr/share/bash-completion/completions/rocksync
    COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _rocksync "$1"; echo "${COMPREPLY[*]}"' bash "$@"
}
[[ $(complete_words rocksync ver) == verify ]] || fail "completion of a command"
[[ $(complete_words rocksync verify --max) == --max-keys ]] || fail "completion of a command's option"
[[ $(complete_words rocksync-store --redis-p) == --redis-port ]] || fail "completion of an option"
[[ $(complete_words rocksync-store --ca = /etc/passw) == */etc/passwd* ]] || fail "completion of a file behind ="
[[ -z $(complete_words rocksync-store --redis-port "") ]] || fail "completion of a number"
[[ -z $(complete_words rocksync status "") ]] || fail "completion of an address"
# A fresh shell finds it by the program's name, in the program's own package.
for program in rocksync rocksync-store; do
  inside bash -c 'source "/usr/share/bash-completion/completions/$1" && complete -p "$1"' bash "$program" | grep -F -- '-F _rocksync' >/dev/null ||
    fail "a fresh shell does not find the completion of $program"
done
inside dpkg -S /usr/share/bash-completion/completions/rocksync-store | grep '^rocksync-store:' >/dev/null || fail "whose completion"
inside systemd-analyze verify --man=no rocksync-store.service || fail "systemd-analyze verify"
step "man pages, completion, unit, user"

# --- Programs outside --------------------------------------------------------

# C99 by pkg-config: the test of the C interface is such a program.
mkdir "$root/root/outside"
cp "$source/tests/integration/c/c_test.c" "$root/root/outside"
inside sh -c 'cd /root/outside && cc -std=c99 -Wall -Werror c_test.c -o c_test $(pkg-config --cflags --libs rocksync) && ./c_test' ||
  fail "a C program by pkg-config"
# C++ by pkg-config, and by the CMake package.
cp -r "$source/examples/embed" "$root/root/outside"
inside sh -c 'cd /root/outside && g++ -std=c++17 embed/embed.cc -o embed_pc $(pkg-config --cflags --libs rocksync-cpp)' \
  >"$packages/outside.log" 2>&1 || { tail -n 20 "$packages/outside.log"; fail "a C++ program by pkg-config"; }
inside sh -c '/root/outside/embed_pc 2>&1 || true' | grep usage >/dev/null || fail "the C++ program of pkg-config does not start"
inside sh -c 'cmake -S /root/outside/embed -B /root/outside/build && cmake --build /root/outside/build' \
  >"$packages/outside.log" 2>&1 || { tail -n 20 "$packages/outside.log"; fail "a C++ program by find_package(rocksync)"; }
inside sh -c '/root/outside/build/embed 2>&1 || true' | grep usage >/dev/null || fail "the C++ program does not start"
cp "$source/tests/integration/install/filter_alone.cc" "$root/root/outside"
inside sh -c 'cd /root/outside && g++ -std=c++17 filter_alone.cc -o filter_alone $(pkg-config --cflags --libs rocksync-filter) && ./filter_alone' \
  >"$packages/outside.log" 2>&1 || { tail -n 20 "$packages/outside.log"; fail "the filter policy alone by pkg-config"; }
# What the package has of examples builds where it lies.
inside sh -c 'cmake -S /usr/share/doc/librocksync-dev/examples/embed -B /root/outside/example && cmake --build /root/outside/example' \
  >"$packages/outside.log" 2>&1 || { tail -n 20 "$packages/outside.log"; fail "the packaged example"; }
step "a C and a C++ program outside build and run"

# --- The service -------------------------------------------------------------

ports=$((1500 + RANDOM % 1600))
redis=${ports}1
ask() { redis-cli -p "$redis" "$@" 2>/dev/null; }
answers() {
  for _ in {1..150}; do
    if [[ $(ask PING) == PONG ]]; then return 0; fi
    sleep 0.2
  done
  inside journalctl --no-pager -b -u rocksync-store | tail -n 20
  fail "the store does not answer"
}
unit() { inside systemctl show -P "$1" rocksync-store.service; }

# Not before its operator has given it certificates: and then he is told.
[[ $(inside systemctl is-enabled rocksync-store.service) == disabled ]] || fail "enabled by itself"
inside systemctl start rocksync-store.service 2>/dev/null && fail "it is said to be started without a secret"
[[ $(unit ActiveState) == inactive ]] || fail "started without a secret"
[[ $(unit StartLimitIntervalUSec) == 0 ]] || fail "a fault that passes stops the store for good"
sed -i "s/6379/$redis/; s/7480/${ports}2/; s/0.0.0.0:7400/127.0.0.1:${ports}3/" "$root/etc/default/rocksync-store"
# As the tutorial says.
service_lines=$(sed -n '/^```sh service$/,/^```$/ { /^```/d; p }' "$source/docs/tutorial.md" | sed "s/127.0.0.1:7400/127.0.0.1:${ports}3/")
mkdir -p "$root/root/outside/service"
inside bash -euxo pipefail -c "cd /root/outside/service; $service_lines" >"$packages/service.log" 2>&1 ||
  { tail -n 20 "$packages/service.log"; inside journalctl --no-pager -b -u rocksync-store | tail -n 20; fail "the service as in the tutorial"; }
grep '^replica_id' "$packages/service.log" >/dev/null || fail "no status of the service"
answers
# What keeps it from serving is told, and it starts by itself once that has passed.
inside systemctl stop rocksync-store.service
chmod 600 "$root/etc/rocksync/secret"
inside systemctl start rocksync-store.service 2>/dev/null && fail "it is said to be started, and cannot read the secret"
[[ -z $(ask PING) ]] || fail "it runs without the secret"
chmod 640 "$root/etc/rocksync/secret"
answers
[[ $(unit ActiveState)/$(unit SubState) == active/running ]] || fail "it serves and is not active"
# Wrong options are not tried again.
inside systemctl stop rocksync-store.service
sed -i 's/--redis-port/--no-such-option --redis-port/' "$root/etc/default/rocksync-store"
inside systemctl start rocksync-store.service 2>/dev/null && fail "it is said to be started with a wrong option"
[[ $(unit ActiveState)/$(unit ExecMainStatus) == failed/2 ]] || fail "wrong options: $(unit ActiveState)/$(unit ExecMainStatus)"
sed -i 's/--no-such-option //' "$root/etc/default/rocksync-store"
inside systemctl start rocksync-store.service || fail "it does not start"
[[ $(ask PING) == PONG ]] || fail "it is said to be started and does not answer"
[[ $(ps -o user= -p "$(pgrep -f "^/usr/bin/rocksync-store .*--redis-port $redis")") == "$(stat -c %U "$root/var/lib/rocksync-store")" ]] ||
  fail "the store runs as another user"
[[ $(ask SET kept yes) == OK ]] || fail "SET"
exec 3<>"/dev/tcp/127.0.0.1/${ports}2"
printf 'GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:%s2\r\nConnection: close\r\n\r\n' "$ports" >&3
grep -q '^rocksync_elements' <&3 || fail "/metrics"
exec 3>&-
step "the service runs as a user of its own, and answers"

# --- Newer packages over a store that runs -----------------------------------

write_on() {  # numbers that were acknowledged are printed
  local i
  for ((i = 0; ; ++i)); do
    if [[ $(ask SET "n:$i" "$i") == OK ]]; then echo "$i"; else sleep 0.05; fi
  done
}
write_on >"$packages/acknowledged" &
writer=$!
before=$(unit MainPID)
cursor=$(inside journalctl --quiet --no-pager --show-cursor -n 1 | sed -n 's/^-- cursor: //p')
install_from newer
[[ $(inside dpkg-query -W -f '${Version}' rocksync-store) == *-2 ]] || fail "the newer package is not installed"
answers
count=$(wc -l <"$packages/acknowledged")
for _ in {1..150}; do (($(wc -l <"$packages/acknowledged") <= count)) || break; sleep 0.2; done
(($(wc -l <"$packages/acknowledged") > count)) || fail "writes do not go on"
for _ in {1..150}; do [[ $(unit MainPID) == "$before" ]] || break; sleep 0.2; done
answers
kill "$writer"; wait "$writer" || true; writer=''
[[ $(unit MainPID) != "$before" ]] || fail "the old program still runs"
[[ $(unit Result)/$(unit NRestarts) == success/0 ]] || fail "not a clean restart: $(unit Result), $(unit NRestarts)"
inside journalctl --no-pager --after-cursor="$cursor" -u rocksync-store | grep -E 'code=(killed|dumped|exited, status=[1-9])' >/dev/null &&
  { inside journalctl --no-pager -b -u rocksync-store | tail -n 20; fail "the old program did not end cleanly"; }
[[ $(ask GET kept) == yes ]] || fail "a key was lost"
lost=$(sed 's/^/GET n:/' "$packages/acknowledged" | redis-cli -p "$redis" | paste "$packages/acknowledged" - | awk '$1 != $2' | wc -l)
((lost == 0)) || fail "$lost acknowledged writes of $(wc -l <"$packages/acknowledged") were lost"
step "upgraded while it ran: a clean restart, $(wc -l <"$packages/acknowledged") acknowledged writes are there"

# One that is stopped stays so.
inside systemctl stop rocksync-store.service
install_from newer --reinstall
[[ $(unit ActiveState) == inactive ]] || fail "an upgrade started a store that was stopped"
inside systemctl start rocksync-store.service
answers

# One that was started by hand and still opens its database runs the old program,
# too.
inside systemctl stop rocksync-store.service
inside systemctl disable rocksync-store.service
inside mkdir -p /run/systemd/system/rocksync-store.service.d
inside sh -c 'printf "[Service]\nExecStartPre=/bin/sleep 600\n" >/run/systemd/system/rocksync-store.service.d/slow.conf'
inside systemctl daemon-reload
inside systemctl start --no-block rocksync-store.service
for _ in {1..50}; do [[ $(unit ActiveState) != activating ]] || break; sleep 0.2; done
[[ $(unit ActiveState) == activating ]] || fail "the store does not take long to start: $(unit ActiveState)"
before=$(unit InvocationID)
install_from newer --reinstall
for _ in {1..50}; do [[ $(unit InvocationID) == "$before" ]] || break; sleep 0.2; done
[[ $(unit InvocationID) != "$before" ]] || fail "an upgrade left a store alone that was still starting"
inside rm -r /run/systemd/system/rocksync-store.service.d
inside systemctl daemon-reload
inside systemctl restart rocksync-store.service
answers

# Its removal was begun, and given up: it runs again, as it did. One that was
# stopped stays so.
maintainer() { inside "/var/lib/dpkg/info/rocksync-store.$1" "${@:2}" >>"$packages/install.log" 2>&1 || fail "$*"; }
maintainer prerm remove
[[ $(unit ActiveState) == inactive ]] || fail "prerm left the store running"
maintainer postinst abort-remove
answers
inside systemctl stop rocksync-store.service
maintainer prerm remove
maintainer postinst abort-remove
[[ $(unit ActiveState) == inactive ]] || fail "a store was started that its operator had stopped"

# Its database is on a disk that is not mounted: an upgrade goes through, and says so.
inside mv /var/lib/rocksync-store /var/lib/rocksync-elsewhere
inside ln -s /var/lib/no-such-disk /var/lib/rocksync-store
install_from newer --reinstall
tail -n 30 "$packages/install.log" | grep 'symbolic link to /var/lib/no-such-disk' >/dev/null ||
  fail "an upgrade does not say that the disk of the database is not mounted"
inside rm /var/lib/rocksync-store
inside mv /var/lib/rocksync-elsewhere /var/lib/rocksync-store
inside systemctl start rocksync-store.service
inside systemctl enable rocksync-store.service
answers
step "upgraded while it was stopped, and while it started"

# --- The end -----------------------------------------------------------------

# Removed, it is stopped, and data stay.
inside apt-get remove -y -qq rocksync-store >/dev/null
[[ -z $(ask PING) ]] || fail "the store runs on after its removal"
[[ -d $root/var/lib/rocksync-store/db ]] || fail "removing took the database along"
install_from newer
[[ $(inside systemctl is-enabled rocksync-store.service) == enabled ]] || fail "installed again it is not enabled any more"
inside systemctl start rocksync-store.service
answers
[[ $(ask GET kept) == yes ]] || fail "installed again it has lost a key"

# Purged while it runs. The operator's certificates and secret stay, until he
# removes them, and as long as they do, the group that may read them: no later
# user gets its number. Nothing else stays.
purge() {
  inside apt-get purge -y -qq "${names[@]}" >>"$packages/install.log" 2>&1 || fail "apt-get purge"
  inside apt-get autoremove -y -qq --purge >>"$packages/install.log" 2>&1
  packages_there | diff "$packages/packages.before" - || fail "packages stay"
}
purge
[[ -z $(ask PING) ]] || fail "the store runs on after the purge"
[[ $(inside stat -c '%U %G %a' /etc/rocksync/secret) == "root rocksync 640" ]] || fail "the operator's secret after the purge"
inside adduser --system --quiet --group --no-create-home later >>"$packages/install.log" 2>&1 || fail "adduser"
inside runuser -u later -- cat /etc/rocksync/secret >/dev/null 2>&1 && fail "a later user reads the secret"
inside deluser --quiet --system later 2>/dev/null
rm -r "$root/etc/rocksync" "$root/root/outside"
# And where there never were any. A database on a disk of its own goes, too.
install_from newer
inside mount -t tmpfs tmpfs /var/lib/rocksync-store
inside sh -c 'mkdir /var/lib/rocksync-store/db && echo 1 >/var/lib/rocksync-store/db/CURRENT'
purge
[[ -z $(inside ls -A /var/lib/rocksync-store) ]] || fail "the purge left a database on its own disk"
inside umount /var/lib/rocksync-store
inside rmdir /var/lib/rocksync-store
files_there | diff "$packages/files.before" - || fail "something stays"
step "purged without a trace"
