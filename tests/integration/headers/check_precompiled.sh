#!/usr/bin/env bash
# Where headers of others are parsed once for many sources (ROCKSYNC_PRECOMPILE),
# the compiler does not notice that a source lacks one of them. This does: what a
# source names of others, it includes, itself or through headers of ours.
# usage: check_precompiled.sh SOURCE_DIRECTORY
set -euo pipefail
cd "$1"

find include sketch plugin replication bindings examples tools tests \
    \( -name '*.h' -o -name '*.cc' \) 2>/dev/null | sort | xargs awk '
  # from(HEADER, NAMES): these are names of HEADER.
  function from(header, names,   name, count, i) {
    count = split(names, name, " ")
    for (i = 1; i <= count; ++i) header_of[name[i]] = header
  }

  # reaches(FILE, HEADER): FILE includes it, or one of ours that FILE includes does.
  function reaches(file, header,   list, count, i) {
    if ((file, header) in includes) return 1
    if ((file, header) in asked) return 0
    asked[file, header] = 1
    count = split(ours[file], list, " ")
    for (i = 1; i <= count; ++i) {
      if (reaches(list[i], header)) {
        includes[file, header] = 1
        return 1
      }
    }
    return 0
  }

  BEGIN {
    from("algorithm", "std::all_of std::any_of std::binary_search std::clamp std::copy " \
         "std::count_if std::equal std::fill std::find std::find_if std::lower_bound " \
         "std::max std::max_element std::min std::min_element std::none_of " \
         "std::nth_element std::remove_if std::reverse std::shuffle std::sort " \
         "std::stable_sort std::transform std::unique std::upper_bound")
    from("array", "std::array")
    from("atomic", "std::atomic")
    from("chrono", "std::chrono")
    from("condition_variable", "std::condition_variable std::condition_variable_any")
    from("cstring", "std::memcmp std::memcpy std::memset std::strlen")
    from("deque", "std::deque")
    from("filesystem", "std::filesystem")
    from("functional", "std::function")
    from("map", "std::map std::multimap")
    from("memory", "std::make_shared std::make_unique std::shared_ptr std::unique_ptr std::weak_ptr")
    from("mutex", "std::lock_guard std::mutex std::scoped_lock std::unique_lock")
    from("optional", "std::nullopt std::optional")
    from("random", "std::mt19937 std::mt19937_64 std::uniform_int_distribution")
    from("set", "std::multiset std::set")
    from("span", "std::span")
    from("string", "std::string std::to_string")
    from("string_view", "std::string_view")
    from("thread", "std::this_thread std::thread")
    from("utility", "std::exchange std::pair")
    from("vector", "std::vector")
    from("absl/status/status.h", "absl::Status absl::StatusCode absl::OkStatus absl::InvalidArgumentError")
    from("absl/status/statusor.h", "absl::StatusOr")
    from("absl/strings/str_cat.h", "absl::StrAppend absl::StrCat")
    from("nlohmann/json.hpp", "nlohmann::json")
    from("rocksdb/", "rocksdb::DB rocksdb::Iterator rocksdb::Options rocksdb::ReadOptions " \
         "rocksdb::Slice rocksdb::Status rocksdb::WriteBatch rocksdb::WriteOptions")
  }

  /^ *# *include *["<]/ {
    name = $0
    sub(/^[^"<]*["<]/, "", name)
    sub(/[">].*/, "", name)
    includes[FILENAME, name] = 1
    if (name ~ /^rocksdb\//) includes[FILENAME, "rocksdb/"] = 1
    if (name ~ /^(sketch|plugin|replication|bindings|examples|tools|tests)\//) {
      ours[FILENAME] = ours[FILENAME] " " name
    } else if (name ~ /^rocksync\//) {
      ours[FILENAME] = ours[FILENAME] " include/" name
    }
    next
  }

  {
    rest = $0
    sub(/\/\/.*/, "", rest)
    while (match(rest, /(std|absl|nlohmann|rocksdb)::[A-Za-z_0-9]+/)) {
      name = substr(rest, RSTART, RLENGTH)
      rest = substr(rest, RSTART + RLENGTH)
      if (name in header_of) names[FILENAME, header_of[name]] = name
    }
  }

  END {
    for (key in names) {
      split(key, part, SUBSEP)
      if (reaches(part[1], part[2])) continue
      print part[1] " names " names[key] " and does not include " part[2]
      ++failures
    }
    if (failures) exit 1
  }'
