#include "examples/demo/redis_client.h"

#include <hiredis/hiredis.h>

#include <algorithm>
#include <string_view>

namespace rocksync {
namespace {

using rocksdb::Status;

constexpr size_t kMaxQueued = 200;
constexpr size_t kMaxQueuedBytes = size_t{1} << 20;

Status ErrorOf(const redisContext* context) {
  return Status::IOError("connection to the Redis port", context == nullptr
                                                             ? "out of memory"
                                                             : context->errstr);
}

int Append(redisContext* context, const std::vector<std::string>& words) {
  std::vector<const char*> data;
  std::vector<size_t> sizes;
  for (const std::string& word : words) {
    data.push_back(word.data());
    sizes.push_back(word.size());
  }
  return redisAppendCommandArgv(context, static_cast<int>(words.size()),
                                data.data(), sizes.data());
}

}  // namespace

void RedisClient::Free::operator()(redisContext* context) const {
  redisFree(context);
}

Status RedisClient::Connect(uint16_t port,
                            std::unique_ptr<RedisClient>* client) {
  client->reset(new RedisClient(redisConnect("127.0.0.1", port)));
  const redisContext* context = (*client)->context_.get();
  if (context == nullptr || context->err != 0) return ErrorOf(context);
  return Status::OK();
}

Status RedisClient::Reply(std::string* text) {
  void* raw = nullptr;
  if (redisGetReply(context_.get(), &raw) != REDIS_OK) {
    return ErrorOf(context_.get());
  }
  const auto free = [](redisReply* reply) { freeReplyObject(reply); };
  const std::unique_ptr<redisReply, decltype(free)> reply(
      static_cast<redisReply*>(raw), free);
  std::string bytes;
  if (reply->str != nullptr) bytes.assign(reply->str, reply->len);
  if (reply->type == REDIS_REPLY_ERROR) return Status::Aborted(bytes);
  if (text != nullptr) *text = std::move(bytes);
  return Status::OK();
}

Status RedisClient::Call(const std::vector<std::string>& words) {
  if (Append(context_.get(), words) != REDIS_OK) return ErrorOf(context_.get());
  return Reply(nullptr);
}

Status RedisClient::Queue(const std::vector<std::string>& words) {
  if (Append(context_.get(), words) != REDIS_OK) return ErrorOf(context_.get());
  ++queued_;
  for (const std::string& word : words) queued_bytes_ += word.size();
  if (queued_ < kMaxQueued && queued_bytes_ < kMaxQueuedBytes) {
    return Status::OK();
  }
  return Flush();
}

Status RedisClient::Flush() {
  for (; queued_ > 0; --queued_) {
    const Status status = Reply(nullptr);
    if (!status.ok()) return status;
  }
  queued_bytes_ = 0;
  return Status::OK();
}

Status RedisClient::ReplicationInfo(Fields* fields) {
  if (Append(context_.get(), {"INFO", "replication"}) != REDIS_OK) {
    return ErrorOf(context_.get());
  }
  std::string text;
  const Status status = Reply(&text);
  if (!status.ok()) return status;
  fields->clear();
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find("\r\n"));
    rest.remove_prefix(std::min(rest.size(), line.size() + 2));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    fields->emplace(line.substr(0, colon), line.substr(colon + 1));
  }
  return status;
}

}  // namespace rocksync
