#include "replication/store/offline/file_copies.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "replication/store/format/current_manifest.h"
#include "replication/store/open/log_files.h"
#include "replication/store/open/log_records.h"

namespace rocksync {

using rocksdb::Env;
using rocksdb::Status;

Status CopyFile(Env* env, const std::string& from, const std::string& to) {
  constexpr size_t kBlock = 1 << 20;
  const rocksdb::EnvOptions options;
  std::unique_ptr<rocksdb::SequentialFile> source;
  std::unique_ptr<rocksdb::WritableFile> target;
  Status status = env->NewSequentialFile(from, &source, options);
  if (status.ok()) status = env->NewWritableFile(to, &target, options);
  std::string scratch(kBlock, '\0');
  rocksdb::Slice block;
  while (status.ok()) {
    status = source->Read(kBlock, &block, scratch.data());
    if (!status.ok() || block.empty()) break;
    status = target->Append(block);
  }
  if (status.ok()) status = target->Sync();
  return status.ok() ? target->Close() : status;
}

Status CopyLogs(Env* env, const std::string& wal_dir,
                const std::string& directory, CopiedLogs* copied) {
  std::set<std::string> logs;
  std::set<std::string> ours;
  Status status = ListLogFiles(env, wal_dir, &logs);
  if (status.ok()) status = ListLogFiles(env, directory, &ours);
  for (const std::string& log : ours) {
    if (status.ok()) status = env->DeleteFile(directory + "/" + log);
  }
  std::vector<std::string> used;
  if (status.ok()) status = env->GetChildren(directory, &used);
  uint64_t number = NewestManifest(env, directory);
  for (const std::string& name : used) {
    number =
        std::max<uint64_t>(number, std::strtoull(name.c_str(), nullptr, 10));
  }
  std::map<uint64_t, std::string> in_order;
  for (const std::string& log : logs) {
    in_order[LogNumber(log)] = log;
  }
  for (const auto& [old_number, log] : in_order) {
    bool named = false;
    if (status.ok()) {
      status = RecordsNameTheLog(env, wal_dir + "/" + log, &named);
    }
    if (!status.ok()) return status;
    if (named) {
      if (copied->unreadable.empty()) {
        copied->unreadable = log +
                             " was written with recycle_log_file_num, and can "
                             "be read in its database alone";
      }
      continue;
    }
    SoundBatches sound;
    status = CountSoundBatches(env, wal_dir + "/" + log, old_number,
                               /*known=*/0, &sound);
    if (!status.ok()) return status;
    copied->sound_batches += sound.count;
    if (sound.behind_damage && copied->damaged.empty()) copied->damaged = log;
    std::string fresh = std::to_string(++number);
    fresh.insert(0, fresh.size() < 6 ? 6 - fresh.size() : 0, '0');
    status =
        CopyFile(env, wal_dir + "/" + log, directory + "/" + fresh + ".log");
  }
  return status;
}

}  // namespace rocksync
