// Watches the files of the replicated families, for data that come or go as
// files, by foreign writes and without a write that a sequence number would
// tell of.

#ifndef ROCKSYNC_REPLICATION_STORE_UPKEEP_FILE_WATCH_H_
#define ROCKSYNC_REPLICATION_STORE_UPKEEP_FILE_WATCH_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <vector>

#include "replication/store/format/meta_records.h"
#include "replication/store/index/index_reader.h"
#include "replication/store/write/counted_db.h"
#include "rocksdb/db.h"
#include "rocksdb/listener.h"

namespace rocksync {

// Notices files that a call ingests or deletes.
//
// RocksDB changes the set of a family's files by flushes and compactions, which
// leave the data as they are. A file that vanishes from the set otherwise was
// deleted by a call (DeleteFilesInRange, DeleteFile): while a database is open
// nothing else takes one out, whatever the disk does. RocksDB tells of a file
// that was ingested.
//
// So this remembers the files that were there, with their ranges of keys, and
// the inputs of compactions under way; RocksDB tells of both before the set
// changes. Whether the set has changed at all is one number of RocksDB's.
//
// Thread-safe. RocksDB calls it without locks of its own.
class FileWatch final : public rocksdb::EventListener {
 public:
  // Begins to watch. `notice` is called by a thread of RocksDB or the
  // application's in the middle of a call: it must not wait for either.
  // `reader` and `db` must outlive Stop.
  void Start(const IndexReader* reader, CountedDB* db,
             std::function<void()> notice);
  // Ends the watch. No call of `notice` is under way when it returns, and none
  // follows.
  void Stop();

  // Compares the present files with the remembered ones. Returns false if a
  // call is under way (see Compacting) that may explain what is missing.
  bool Look();

  // Returns what was found so far and is not dealt with.
  std::vector<ForeignRange> Found() const;
  // Removes the first `count` of what was found: they are dealt with.
  void Deal(size_t count);

  // Brackets a call that compacts files and tells of it only afterwards.
  class Compacting {
   public:
    explicit Compacting(FileWatch* watch) : watch_(watch) {
      ++watch_->unannounced_;
    }
    ~Compacting() { --watch_->unannounced_; }
    Compacting(const Compacting&) = delete;
    Compacting& operator=(const Compacting&) = delete;
    void Done(uint32_t family_id, const std::vector<uint64_t>& inputs);

   private:
    FileWatch* const watch_;
  };

  void OnFlushCompleted(rocksdb::DB* db,
                        const rocksdb::FlushJobInfo& info) override;
  void OnCompactionBegin(rocksdb::DB* db,
                         const rocksdb::CompactionJobInfo& info) override;
  void OnCompactionCompleted(rocksdb::DB* db,
                             const rocksdb::CompactionJobInfo& info) override;
  void OnTableFileDeleted(const rocksdb::TableFileDeletionInfo& info) override;
  void OnExternalFileIngested(
      rocksdb::DB* db, const rocksdb::ExternalFileIngestionInfo& info) override;

 private:
  struct Range {
    std::string smallest;
    std::string largest;
  };
  struct Files {
    uint64_t super_version = 0;        // RocksDB's, when the files were read
    std::map<uint64_t, Range> ranges;  // by number
  };

  // REQUIRES: mutex_ is held, for all of these.
  bool LookAt(const Family& family);
  bool LookAt(uint32_t family_id);
  void Finished(uint32_t family_id, const std::vector<uint64_t>& inputs);

  std::shared_mutex running_;  // shared: a call from RocksDB is under way
  mutable std::mutex mutex_;
  const IndexReader* reader_ = nullptr;  // null: not watching
  CountedDB* db_ = nullptr;
  std::function<void()> notice_;
  std::map<uint32_t, Files> families_;  // by id
  // Inputs of compactions under way. A file that one compaction has moved may
  // be an input of the next one before RocksDB tells that the first is done.
  std::multiset<uint64_t> inputs_;
  std::vector<ForeignRange> found_;
  uint64_t ingested_ = 0;  // the latest sequence number of an ingested file
  std::atomic<int> unannounced_{0};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_UPKEEP_FILE_WATCH_H_
