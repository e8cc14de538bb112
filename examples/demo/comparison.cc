#include "examples/demo/comparison.h"

#include <chrono>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "rocksdb/iterator.h"
#include "rocksdb/options.h"
#include "rocksync/rocksdb_version.h"

namespace rocksync {
namespace {

using rocksdb::Status;

constexpr int kOpenAttempts = 20;

// One view, read in order of keys.
class Reader {
 public:
  explicit Reader(rocksdb::DB* view) {
    rocksdb::ReadOptions options;
    options.readahead_size = size_t{1} << 20;
    it_.reset(view->NewIterator(options));
    it_->SeekToFirst();
  }
  bool Valid() const { return it_->Valid(); }
  std::string_view Key() const { return it_->key().ToStringView(); }
  // The value if the reader stands at `key`.
  std::optional<std::string_view> At(std::string_view key) const {
    if (!it_->Valid() || Key() != key) return std::nullopt;
    return it_->value().ToStringView();
  }
  void Leave(std::string_view key) {
    if (it_->Valid() && Key() == key) it_->Next();
  }
  Status status() const { return it_->status(); }

 private:
  std::unique_ptr<rocksdb::Iterator> it_;
};

}  // namespace

// RocksDB gives a database in a plain pointer up to 9.10.
#if ROCKSYNC_ROCKSDB_AT_LEAST(9, 11)
using Opened = std::unique_ptr<rocksdb::DB>;
#else
using Opened = rocksdb::DB*;
#endif

Status OpenView(const std::string& directory,
                std::unique_ptr<rocksdb::DB>* view) {
  // A file may go, by a compaction in the process that writes, between the
  // reading of the manifest and the opening of the file. All files are open
  // from then on, and stay readable.
  rocksdb::Options options;
  options.max_open_files = -1;
  Opened opened{};
  Status status;
  for (int attempt = 0; attempt < kOpenAttempts; ++attempt) {
    status = rocksdb::DB::OpenForReadOnly(options, directory, &opened);
    if (status.ok()) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  if (status.ok()) *view = std::unique_ptr<rocksdb::DB>(std::move(opened));
  return status;
}

Status Compare(const std::vector<std::unique_ptr<rocksdb::DB>>& before,
               const std::vector<std::unique_ptr<rocksdb::DB>>& after,
               ScanComparison* comparison) {
  *comparison = {};
  comparison->equal = true;
  std::vector<Reader> old_readers;
  std::vector<Reader> new_readers;
  for (const auto& view : before) old_readers.emplace_back(view.get());
  for (const auto& view : after) new_readers.emplace_back(view.get());

  for (;;) {
    std::optional<std::string> key;
    for (const auto* readers : {&old_readers, &new_readers}) {
      for (const Reader& reader : *readers) {
        if (!reader.status().ok()) {
          comparison->equal = false;
          return reader.status();
        }
        if (reader.Valid() && (!key || reader.Key() < *key)) {
          key = reader.Key();
        }
      }
    }
    if (!key) return Status::OK();

    bool counted = false;
    for (size_t i = 0; i < after.size(); ++i) {
      const auto value = new_readers[i].At(*key);
      if (value != new_readers[0].At(*key) && comparison->equal) {
        comparison->equal = false;
        comparison->first_difference = "replica " + std::to_string(i + 1) +
                                       " differs from replica 1 at " + *key;
      }
      if (value && !counted) {
        counted = true;
        ++comparison->keys;
        comparison->key_bytes += key->size();
        comparison->value_bytes += value->size();
      }
      if (value != old_readers[i].At(*key)) {
        ++comparison->pairs_needed;
        comparison->key_bytes_needed += key->size();
        comparison->value_bytes_needed += value ? value->size() : 0;
      }
    }
    for (Reader& reader : old_readers) reader.Leave(*key);
    for (Reader& reader : new_readers) reader.Leave(*key);
  }
}

}  // namespace rocksync
