#include "replication/store/format/dropped_batches.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include "replication/base/durable_file.h"

namespace rocksync {
namespace {

using rocksdb::Env;
using rocksdb::Status;

// Removes from the line a number and the character behind it.
bool TakeNumber(std::string_view* line, char behind, uint64_t* number) {
  const char* const end = line->data() + line->size();
  const auto [after, error] = std::from_chars(line->data(), end, *number);
  if (error != std::errc() || after == end || *after != behind) return false;
  line->remove_prefix(static_cast<size_t>(after + 1 - line->data()));
  return true;
}

void ParseLines(std::string_view text, DroppedBatches* dropped) {
  for (size_t lines = 0; !text.empty() && lines < kMaxDroppedLogs; ++lines) {
    const size_t end = std::min(text.find('\n'), text.size() - 1);
    std::string_view line = text.substr(0, end + 1);
    text.remove_prefix(end + 1);
    uint64_t log = 0;
    uint64_t batches = 0;
    if (TakeNumber(&line, ' ', &log) && TakeNumber(&line, '\n', &batches)) {
      dropped->try_emplace(log, batches);
    }
  }
}

}  // namespace

uint64_t TotalOf(const DroppedBatches& dropped) {
  uint64_t total = 0;
  for (const auto& [log, batches] : dropped) total += batches;
  return total;
}

Status ReadDroppedBatches(Env* env, const std::string& directory,
                          DroppedBatches* dropped) {
  const std::string path = directory + "/" + kDroppedBatchesFileName;
  Status status = env->FileExists(path);
  if (status.IsNotFound()) return Status::OK();
  std::string text;
  if (status.ok()) status = rocksdb::ReadFileToString(env, path, &text);
  if (status.ok()) ParseLines(text, dropped);
  return status;
}

Status NoteDroppedBatches(Env* env, const std::string& directory,
                          DroppedBatches* dropped) {
  const Status status = ReadDroppedBatches(env, directory, dropped);
  if (!status.ok()) return status;
  std::erase_if(*dropped, [](const auto& log) { return log.second == 0; });
  while (dropped->size() > kMaxDroppedLogs) dropped->erase(dropped->begin());
  std::string text;
  for (const auto& [log, batches] : *dropped) {
    text += std::to_string(log) + " " + std::to_string(batches) + "\n";
  }
  return ReplaceFile(env, directory, kDroppedBatchesFileName, text);
}

Status ForgetDroppedBatches(Env* env, const std::string& directory) {
  return RemoveFile(env, directory, kDroppedBatchesFileName);
}

}  // namespace rocksync
