#!/usr/bin/env bash
# Includes point down only: for each module or group of modules, what it may include.
# usage: check_includes.sh SOURCE_DIRECTORY
set -euo pipefail
cd "$1"
failures=0

# box DIRECTORY DEPTH ALLOWED [FORBIDDEN]: in the sources under DIRECTORY (or in
# this one file), down to DEPTH folders, an include of ours or of a library in a folder of its own
# ("a/b.h", <a/b.h>, "b.h") must match the expression ALLOWED; no include may
# match FORBIDDEN.
box() {
  local directory=$1 depth=$2 allowed=$3 forbidden=${4:-^$} line file include
  local name='["<]([^">]+)[">]'
  [[ -e $directory ]] || return 0
  while IFS= read -r line; do
    file=${line%%:*}
    [[ ${line#*:} =~ $name ]] && include=${BASH_REMATCH[1]}
    if [[ $include =~ $forbidden ]] ||
       { [[ $include == */* || $line == *\"* ]] && ! [[ $include =~ $allowed ]]; }; then
      echo "$file must not include $include"
      failures=$((failures + 1))
    fi
  done < <(find "$directory" -maxdepth "$depth" \( -name '*.h' -o -name '*.cc' \) \
             -exec grep -HE '^ *# *include *["<]' {} +)
}

# The front door: the standard library, RocksDB's public headers, itself.
box include/rocksync 1 '^(rocksync|rocksdb)/'
# Floor 1: pure mathematics; no thread and no clock.
box sketch 9 '^(sketch|openssl)/' '^(thread|mutex|shared_mutex|atomic|chrono|ctime|random|iostream)$'
# Floor 2. The protocol knows no RocksDB, and neither thread nor clock.
# util/xxhash.h is RocksDB's copy, for a plugin built in RocksDB's own tree.
box plugin 9 '^(plugin|sketch|rocksync|rocksdb)/|^(util/)?xxhash\.h$'
# The modules of replication/ that know neither RocksDB nor thread nor clock.
pure='^(thread|mutex|shared_mutex|chrono|ctime|random|iostream)$'
box replication/reconcile 9 '^(replication/reconcile|sketch|absl)/' "$pure"
# The limits of the format, and how a replica's id is written, are what they
# take of the front door.
box replication/text 9 '^(replication/text|absl)/' "$pure"
box replication/session 9 '^(replication/(session|reconcile|text)|sketch|absl)/|^rocksync/limits\.h$' "$pure"
box replication/stream 9 '^(replication/(stream|session)|sketch|absl)/' "$pure"
box replication/membership 9 '^(replication/(membership|session|reconcile|text)|sketch|absl)/|^rocksync/(limits|replica_id)\.h$' "$pure"
box replication/base 9 '^(replication/(base|text)|rocksync|rocksdb|absl|openssl|sys)/'
box replication/store 9 '^(replication/(store|base|membership|session|text)|sketch|rocksync|rocksdb|absl|openssl|sys)/|^xxhash\.h$'
# Floor 3, the shell.
box replication/statistics 9 '^(replication/(statistics|session)|rocksync|rocksdb)/'
box replication/transport 9 '^(replication/transport|rocksync|rocksdb|asio|openssl|absl|sys|linux|netinet|arpa)/|^asio\.hpp$'
for module in metrics peering clone admin replicator; do
  box replication/$module 9 '^(replication|sketch|rocksync|rocksdb|absl|openssl|sys)/' '^replication/transport/'
done
# Of the shell, these decide by arguments: no thread and no clock there either.
for file in schedule.h schedule.cc clock_watch.h; do
  [[ -d replication/replicator ]] || break
  if [[ ! -f replication/replicator/$file ]]; then
    echo "replication/replicator/$file is not there: mend the list of pure files"
    failures=$((failures + 1))
  fi
  box replication/replicator/$file 0 '^replication/replicator/(schedule|clock_watch)\.h$|^sketch/element/' "$pure"
done
# Floor 4: bindings and examples live by the front door alone; the HTTP port, the
# secret's file and the text of --help of tools/ know nothing of the library.
box bindings 9 '^(bindings|rocksync|rocksdb)/'
box examples 9 '^(examples|tools/help|tools/http|tools/secret|rocksync|rocksdb|CLI|spdlog|nlohmann|hiredis|asio|sys|arpa|netinet)/|^(asio\.hpp|hiredis\.h|httplib\.h)$'
box tools/help 9 '^(tools/help|CLI)/'
box tools/http 9 '^(tools/http|sys)/|^httplib\.h$'
box tools/secret 9 '^(tools/secret|rocksdb|sys)/'
box tools 9 '^(tools|replication|plugin|sketch|rocksync|rocksdb|CLI|spdlog|nlohmann|absl|sys)/|^(xxhash|httplib)\.h$'

(( failures == 0 )) || { echo "$failures includes point where they must not"; exit 1; }
