#include "replication/store/open/kept_options_file.h"

#include <initializer_list>
#include <string_view>
#include <utility>

#include "replication/base/directories.h"
#include "replication/base/durable_file.h"
#include "replication/store/open/newer_rocksdb.h"
#include "replication/store/open/options_file.h"

namespace rocksync {
namespace {

using rocksdb::Env;
using rocksdb::Status;

constexpr std::string_view kDBOptions = "[DBOptions]\n";

// Returns the begin and the length of a DBOption's line. RocksDB writes no line
// for an empty option.
std::pair<size_t, size_t> LineOf(const std::string& bytes,
                                 const std::string& option) {
  const size_t found = bytes.find("\n  " + option + "=");
  if (found == std::string::npos) return {0, 0};
  return {found + 1, bytes.find('\n', found + 1) - found};
}

// Returns the option's value. REQUIRES: `line` is such a line, or empty.
std::string ValueIn(const std::string& line) {
  const size_t value = line.find('=') + 1;
  return line.empty() ? "" : line.substr(value, line.size() - value - 1);
}

}  // namespace

Status KeptOptionsFile::ReadFrom(const std::string& from) {
  std::string name;
  const Status status = ReadOptionsFile(env_, from, &name, &bytes_);
  any_ = status.ok();
  return status.IsNotFound() || status.IsPathNotFound() ? Status::OK() : status;
}

void KeptOptionsFile::LeaveOut(const std::string& family) {
  const std::string of_family = " \"" + family + "\"]\n";
  size_t line = 0;
  bool left_out = false;
  std::string rest;
  while (line < bytes_.size()) {
    size_t end = bytes_.find('\n', line);
    end = end == std::string::npos ? bytes_.size() : end + 1;
    const std::string_view text(bytes_.data() + line, end - line);
    if (text.starts_with('[')) left_out = text.ends_with(of_family);
    if (!left_out) rest += text;
    line = end;
  }
  bytes_ = std::move(rest);
}

Status KeptOptionsFile::PutBack() const {
  std::string name;
  std::string written;
  const Status status = ReadOptionsFile(env_, directory_, &name, &written);
  if (status.IsNotFound() || status.IsPathNotFound()) return Status::OK();
  if (!status.ok()) return status;
  if (!any_) return RemoveFile(env_, directory_, name);
  std::string bytes = bytes_;
  const size_t section = bytes.find(kDBOptions);
  // The file that was read is damaged; the one that RocksDB wrote is not.
  if (section == std::string::npos) return status;
  const auto place = [&](const std::string& line) {
    const std::string path = ValueIn(line);
    return AbsolutePath(env_, path.empty() ? directory_ : path);
  };
  for (const char* option : {"wal_dir", "db_log_dir"}) {
    const auto [now, length] = LineOf(written, option);
    const auto [before, length_before] = LineOf(bytes, option);
    const std::string here = written.substr(now, length);
    if (place(here) == place(bytes.substr(before, length_before))) continue;
    bytes.erase(before, length_before);
    bytes.insert(section + kDBOptions.size(), here);
  }
  // The version comes last, as its section is further up.
  if (IsOfNewerRocksDB(written, bytes)) {
    const auto [now, length] = LineOf(written, "rocksdb_version");
    const auto [before, length_before] = LineOf(bytes, "rocksdb_version");
    bytes.replace(before, length_before, written, now, length);
  }
  return bytes == written ? status : ReplaceFile(env_, directory_, name, bytes);
}

}  // namespace rocksync
