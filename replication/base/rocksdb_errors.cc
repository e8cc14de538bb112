#include "replication/base/rocksdb_errors.h"

#include <cctype>
#include <cstddef>

namespace rocksync {
namespace {

using rocksdb::Status;

constexpr std::string_view kTable = ".sst";
// The extension of LevelDB's tables. Some versions of RocksDB try this name
// last when a table is missing, and report this one.
constexpr std::string_view kOldTable = ".ldb";

bool Has(const Status& status, std::string_view part) {
  return status.ToString().find(part) != std::string::npos;
}

bool IsDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

// Returns the path of the first file in `text` that has a number and
// `extension`.
std::string NumberedFile(const std::string& text, const std::string& directory,
                         std::string_view extension) {
  const size_t suffix = text.find(extension);
  if (suffix == std::string::npos) return "";
  size_t first = suffix;
  while (first > 0 && IsDigit(text[first - 1])) --first;
  if (first == suffix) return "";
  // The path is taken as the text has it, if the text has all of it.
  const size_t name = text.find(directory + "/");
  const size_t word = text.rfind(' ', first) + 1;
  const size_t path = name < first ? name : word;
  const std::string file = text.substr(path, suffix + extension.size() - path);
  return path < first ? file : directory + "/" + file;
}

}  // namespace

bool IsOurError(const Status& status) { return Has(status, "rocksync: "); }

bool IsLockHeld(const Status& status) {
  return !status.IsPathNotFound() && !status.IsNoSpace() &&
         !Has(status, "open a file for lock");
}

const char* WhoHasItOpen(const Status& status) {
  if (Has(status, "lock hold by current process")) {
    return "is open in this process already, close it first";
  }
  if (Has(status, "While lock file") &&
      Has(status, "temporarily unavailable")) {
    return "is in use by another process, stop that one first";
  }
  return nullptr;
}

DirectoryFault DirectoryFaultOf(const Status& status) {
  if (Has(status, "exists but is not a directory")) {
    return DirectoryFault::kIsFile;
  }
  if (!Has(status, "While mkdir")) return DirectoryFault::kNone;
  return IsMissingFile(status) ? DirectoryFault::kNoParent
                               : DirectoryFault::kOther;
}

bool IsMissingFile(const Status& status) {
  return !status.ok() && Has(status, "No such file");
}

DamagedPart DamagedPartOf(const Status& status) {
  // The texts of older and of newer versions.
  if (Has(status, "ahead of WALs") ||
      Has(status, "beyond the point of corruption")) {
    return DamagedPart::kLog;
  }
  if (status.IsCorruption() && Has(status, "CURRENT file")) {
    return DamagedPart::kCurrent;
  }
  if (Has(status, "entry in MANIFEST")) return DamagedPart::kManifestEntry;
  return Has(status, "MANIFEST") ? DamagedPart::kInManifest
                                 : DamagedPart::kNone;
}

std::string TableOf(const Status& status, const std::string& directory) {
  return NumberedFile(status.ToString(), directory, kTable);
}

std::string TableNotFound(const Status& status, const std::string& directory) {
  const std::string old = NumberedFile(status.ToString(), directory, kOldTable);
  if (old.empty()) return TableOf(status, directory);
  return old.substr(0, old.size() - kOldTable.size()).append(kTable);
}

bool NamesFile(const Status& status, std::string_view extension) {
  const std::string text = status.ToString();
  for (size_t at = text.find(extension); at != text.npos;
       at = text.find(extension, at + 1)) {
    const size_t after = at + extension.size();
    const bool ends =
        after == text.size() ||
        (std::isalnum(static_cast<unsigned char>(text[after])) == 0 &&
         text[after] != '/');
    if (at > 0 && IsDigit(text[at - 1]) && ends) return true;
  }
  return false;
}

bool NamesManifest(const Status& status) { return Has(status, "/MANIFEST-"); }

bool OnlyLacksOptionsFile(const Status& status) {
  return status.IsIOError() && Has(status, "Unable to persist options");
}

bool IsUnknownTableFormat(const Status& status) {
  return status.IsInvalidArgument() && Has(status, "format_version");
}

bool LacksMergeOperator(const Status& status) {
  return status.IsInvalidArgument() && Has(status, "merge_operator");
}

bool IsOfTableOrder(const Status& status) {
  return status.IsCorruption() && Has(status, "force_consistency_checks");
}

}  // namespace rocksync
