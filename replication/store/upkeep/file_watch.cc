#include "replication/store/upkeep/file_watch.h"

#include <cstdlib>
#include <utility>

#include "replication/store/index/family_table.h"

namespace rocksync {
namespace {

// Returns the number in "/directory/000123.sst"; 0 if it is not a file's.
uint64_t FileNumber(const std::string& path) {
  const size_t slash = path.rfind('/');
  const char* const name =
      path.c_str() + (slash == std::string::npos ? 0 : slash + 1);
  return std::strtoull(name, nullptr, 10);
}

std::vector<uint64_t> Inputs(const rocksdb::CompactionJobInfo& info) {
  std::vector<uint64_t> numbers;
  for (const rocksdb::CompactionFileInfo& file : info.input_file_infos) {
    numbers.push_back(file.file_number);
  }
  return numbers;
}

}  // namespace

void FileWatch::Start(const IndexReader* reader, CountedDB* db,
                      std::function<void()> notice) {
  const std::lock_guard lock(mutex_);
  reader_ = reader;
  db_ = db;
  notice_ = std::move(notice);
  const FamiliesInUse now = reader_->families();
  for (const Family& family : now->families()) LookAt(family);
}

void FileWatch::Stop() {
  const std::unique_lock nobody(running_);
  const std::lock_guard lock(mutex_);
  reader_ = nullptr;
  db_ = nullptr;
  notice_ = nullptr;
}

bool FileWatch::Look() {
  const std::lock_guard lock(mutex_);
  if (reader_ == nullptr) return true;
  bool sure = true;
  const FamiliesInUse now = reader_->families();
  for (const Family& family : now->families()) {
    uint64_t super_version = 0;
    const bool known = db_->GetIntProperty(
        family.handle(), rocksdb::DB::Properties::kCurrentSuperVersionNumber,
        &super_version);
    const auto files = families_.find(family.id);
    if (known && files != families_.end() &&
        files->second.super_version == super_version) {
      continue;
    }
    sure = LookAt(family) && sure;
  }
  std::erase_if(families_, [&now](const auto& entry) {
    return now->Find(entry.first) == nullptr;  // dropped
  });
  return sure;
}

bool FileWatch::LookAt(uint32_t family_id) {
  const FamiliesInUse now = reader_->families();
  const Family* const family = now->Find(family_id);
  return family == nullptr || LookAt(*family);
}

bool FileWatch::LookAt(const Family& family) {
  Files now;
  // The number is read first: a change in between is looked at once more.
  db_->GetIntProperty(family.handle(),
                      rocksdb::DB::Properties::kCurrentSuperVersionNumber,
                      &now.super_version);
  rocksdb::ColumnFamilyMetaData metadata;
  db_->GetColumnFamilyMetaData(family.handle(), &metadata);
  for (const rocksdb::LevelMetaData& level : metadata.levels) {
    for (const rocksdb::SstFileMetaData& file : level.files) {
      now.ranges[file.file_number] = {file.smallestkey, file.largestkey};
    }
  }
  Files* const before = &families_[family.id];
  std::vector<ForeignRange> vanished;
  for (const auto& [number, range] : before->ranges) {
    if (now.ranges.count(number) == 0 && inputs_.count(number) == 0) {
      vanished.push_back(
          {family.id, /*came=*/false, range.smallest, range.largest});
    }
  }
  if (!vanished.empty() && unannounced_.load() > 0) return false;
  *before = std::move(now);
  for (ForeignRange& range : vanished) found_.push_back(std::move(range));
  return true;
}

std::vector<ForeignRange> FileWatch::Found() const {
  const std::lock_guard lock(mutex_);
  return found_;
}

void FileWatch::Deal(size_t count) {
  const std::lock_guard lock(mutex_);
  found_.erase(found_.begin(),
               found_.begin() + static_cast<std::ptrdiff_t>(count));
}

// Ends a compaction or a flush. Files that were moved keep their numbers, and a
// call may delete them later.
void FileWatch::Finished(uint32_t family_id,
                         const std::vector<uint64_t>& inputs) {
  if (reader_ == nullptr) return;
  LookAt(family_id);
  for (const uint64_t number : inputs) {
    const auto input = inputs_.find(number);
    if (input != inputs_.end()) inputs_.erase(input);
  }
}

void FileWatch::Compacting::Done(uint32_t family_id,
                                 const std::vector<uint64_t>& inputs) {
  const std::lock_guard lock(watch_->mutex_);
  watch_->inputs_.insert(inputs.begin(), inputs.end());
  watch_->Finished(family_id, inputs);
}

void FileWatch::OnFlushCompleted(rocksdb::DB*,
                                 const rocksdb::FlushJobInfo& info) {
  const std::shared_lock here(running_);
  const std::lock_guard lock(mutex_);
  Finished(info.cf_id, {});
}

void FileWatch::OnCompactionBegin(rocksdb::DB*,
                                  const rocksdb::CompactionJobInfo& info) {
  const std::lock_guard lock(mutex_);
  const std::vector<uint64_t> inputs = Inputs(info);
  inputs_.insert(inputs.begin(), inputs.end());
}

void FileWatch::OnCompactionCompleted(rocksdb::DB*,
                                      const rocksdb::CompactionJobInfo& info) {
  const std::shared_lock here(running_);
  const std::lock_guard lock(mutex_);
  Finished(info.cf_id, Inputs(info));
}

void FileWatch::OnTableFileDeleted(const rocksdb::TableFileDeletionInfo& info) {
  const std::shared_lock here(running_);
  const uint64_t number = FileNumber(info.file_path);
  std::function<void()> notice;
  {
    const std::lock_guard lock(mutex_);
    if (reader_ == nullptr) return;
    for (const auto& [id, files] : families_) {
      if (files.ranges.count(number) == 0) continue;
      LookAt(id);
      break;
    }
    if (!found_.empty()) notice = notice_;
  }
  if (notice) notice();
}

void FileWatch::OnExternalFileIngested(
    rocksdb::DB*, const rocksdb::ExternalFileIngestionInfo& info) {
  const std::shared_lock here(running_);
  std::function<void()> notice;
  {
    const std::lock_guard lock(mutex_);
    if (reader_ == nullptr) return;
    const FamiliesInUse now = reader_->families();
    const Family* replicated = nullptr;
    for (const Family& family : now->families()) {
      if (family.name == info.cf_name) replicated = &family;
    }
    if (replicated == nullptr) {
      // Files of one call get sequence numbers in order; files of several
      // families get the same ones.
      if (info.global_seqno > ingested_) {
        ingested_ = info.global_seqno;
        db_->Ingested(1);
      }
      return;
    }
    LookAt(*replicated);
    ForeignRange range{replicated->id, /*came=*/true, "", ""};
    const Files& files = families_[replicated->id];
    const auto file = files.ranges.find(FileNumber(info.internal_file_path));
    if (file != files.ranges.end()) {
      range.smallest = file->second.smallest;
      range.largest = file->second.largest;
      found_.push_back(std::move(range));
    } else {
      // The file is compacted already: its pairs are anywhere between the first
      // file and the last one.
      for (const auto& [number, other] : files.ranges) {
        found_.push_back(
            {replicated->id, /*came=*/true, other.smallest, other.largest});
      }
    }
    notice = notice_;
  }
  if (notice) notice();
}

}  // namespace rocksync
