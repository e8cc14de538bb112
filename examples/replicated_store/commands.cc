#include "examples/replicated_store/commands.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "examples/replicated_store/glob.h"
#include "examples/replicated_store/info.h"
#include "rocksdb/iterator.h"
#include "rocksdb/write_batch.h"
#include "rocksync/replica_id.h"

namespace rocksync {
namespace {

using rocksdb::Status;

constexpr size_t kMaxCursors = 4096;
constexpr uint64_t kDefaultScanCount = 10;
constexpr uint64_t kMaxScanCount = 1'000'000;
// A scan pauses when its reply holds this much, whatever COUNT says.
constexpr size_t kMaxScanBytes = size_t{16} << 20;
constexpr uint32_t kFlushBatchKeys = 1000;

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return lower;
}

std::optional<uint64_t> ParseCount(std::string_view text) {
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

void AppendStatus(const Status& status, std::string* reply) {
  AppendError(reply, "ERR " + status.ToString());
}

// A scan over all keys that leaves the block cache to others.
rocksdb::ReadOptions WholeScan() {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  options.total_order_seek = true;
  return options;
}

}  // namespace

struct Commands::Command {
  const char* name;
  int arity;  // words with the name; negative: at least that many
  const char* flag;
  int first_key;  // 0: none
  int last_key;   // from the end if negative
  int key_step;
  bool slow;
  void (Commands::*execute)(const RespRequest&, std::string*);
};

const std::vector<Commands::Command>& Commands::Table() {
  static const std::vector<Command> table = {
      {"ping", -1, "fast", 0, 0, 0, false, &Commands::Ping},
      {"echo", 2, "fast", 0, 0, 0, false, &Commands::Echo},
      {"set", -3, "write", 1, 1, 1, false, &Commands::Set},
      {"get", 2, "readonly", 1, 1, 1, false, &Commands::Get},
      {"mset", -3, "write", 1, -1, 2, false, &Commands::MultiSet},
      {"mget", -2, "readonly", 1, -1, 1, false, &Commands::MultiGet},
      {"del", -2, "write", 1, -1, 1, false, &Commands::Delete},
      {"exists", -2, "readonly", 1, -1, 1, false, &Commands::Exists},
      {"scan", -2, "readonly", 0, 0, 0, false, &Commands::Scan},
      {"dbsize", 1, "readonly", 0, 0, 0, true, &Commands::CountKeys},
      {"info", -1, "fast", 0, 0, 0, false, &Commands::Info},
      {"flushall", -1, "write", 0, 0, 0, true, &Commands::FlushAll},
      {"command", -1, "fast", 0, 0, 0, false, &Commands::Describe},
      {"config", -2, "admin", 0, 0, 0, false, &Commands::Config},
      {"quit", -1, "fast", 0, 0, 0, false, &Commands::Quit},
      {"replication", -1, "admin", 0, 0, 0, true, &Commands::Replication},
  };
  return table;
}

const Commands::Command* Commands::Lookup(const std::string& name) {
  const std::string lower = Lower(name);
  for (const Command& command : Table()) {
    if (lower == command.name) return &command;
  }
  return nullptr;
}

Commands::Commands(rocksdb::DB* db, Replicator* replicator,
                   const CommandOptions& options)
    : db_(db),
      replicator_(replicator),
      options_(options),
      started_(std::chrono::steady_clock::now()),
      cursors_(kMaxCursors) {
  write_options_.sync = options.sync_writes;
}

bool Commands::IsSlow(const RespRequest& request) {
  const Command* command = Lookup(request[0]);
  if (command == nullptr || !command->slow) return false;
  // Of the replicator, those that are asked for while others wait.
  const std::string what = request.size() > 1 ? Lower(request[1]) : "";
  return command->execute != &Commands::Replication ||
         (what != "status" && what != "pause" && what != "resume");
}

bool Commands::Execute(const RespRequest& request, std::string* reply) {
  executed_.fetch_add(1, std::memory_order_relaxed);
  const Command* command = Lookup(request[0]);
  if (command == nullptr) {
    AppendError(reply,
                "ERR unknown command '" + request[0].substr(0, 128) + "'");
    return true;
  }
  const auto words = static_cast<int64_t>(request.size());
  if (command->arity >= 0 ? words != command->arity : words < -command->arity) {
    AppendError(reply, "ERR wrong number of arguments for '" +
                           std::string(command->name) + "' command");
    return true;
  }
  (this->*command->execute)(request, reply);
  return command->execute != &Commands::Quit;
}

bool Commands::CheckKey(const std::string& key, std::string* reply) const {
  if (key.size() <= options_.max_key_bytes) return true;
  AppendError(reply, "ERR a key of " + std::to_string(key.size()) +
                         " bytes; at most " +
                         std::to_string(options_.max_key_bytes) + " are taken");
  return false;
}

Status Commands::Read(const std::string& key, rocksdb::PinnableSlice* value) {
  return db_->Get(rocksdb::ReadOptions(), db_->DefaultColumnFamily(), key,
                  value);
}

void Commands::Ping(const RespRequest& request, std::string* reply) {
  if (request.size() > 2) {
    AppendError(reply, "ERR wrong number of arguments for 'ping' command");
  } else if (request.size() == 2) {
    AppendBulk(reply, request[1]);
  } else {
    AppendSimple(reply, "PONG");
  }
}

void Commands::Echo(const RespRequest& request, std::string* reply) {
  AppendBulk(reply, request[1]);
}

void Commands::AppendWriteStatus(const Status& status,
                                 std::string* reply) const {
  std::string text = "ERR " + status.ToString();
  const std::string stopped =
      replicator_ == nullptr ? "" : replicator_->stats().disk.write_error;
  if (!stopped.empty() && stopped.find(status.ToString()) != 0) {
    text += "; RocksDB takes no writes: " + stopped;
  } else if (!stopped.empty()) {
    text = "ERR " + stopped;
  }
  AppendError(reply, text);
}

void Commands::Set(const RespRequest& request, std::string* reply) {
  if (request.size() != 3) {
    AppendError(reply, "ERR SET takes a key and a value, no options");
    return;
  }
  if (!CheckKey(request[1], reply)) return;
  const Status status = db_->Put(write_options_, request[1], request[2]);
  if (!status.ok()) return AppendWriteStatus(status, reply);
  AppendSimple(reply, "OK");
}

void Commands::Get(const RespRequest& request, std::string* reply) {
  rocksdb::PinnableSlice value;
  const Status status = Read(request[1], &value);
  if (status.ok()) {
    AppendBulk(reply, value.ToStringView());
  } else if (status.IsNotFound()) {
    AppendNull(reply);
  } else {
    AppendStatus(status, reply);
  }
}

void Commands::MultiSet(const RespRequest& request, std::string* reply) {
  if (request.size() % 2 == 0) {
    AppendError(reply, "ERR wrong number of arguments for 'mset' command");
    return;
  }
  rocksdb::WriteBatch batch;
  for (size_t i = 1; i < request.size(); i += 2) {
    if (!CheckKey(request[i], reply)) return;
    const Status status = batch.Put(request[i], request[i + 1]);
    if (!status.ok()) return AppendStatus(status, reply);
  }
  const Status status = db_->Write(write_options_, &batch);
  if (!status.ok()) return AppendWriteStatus(status, reply);
  AppendSimple(reply, "OK");
}

void Commands::MultiGet(const RespRequest& request, std::string* reply) {
  const size_t begin = reply->size();
  AppendArray(reply, request.size() - 1);
  for (size_t i = 1; i < request.size(); ++i) {
    rocksdb::PinnableSlice value;
    const Status status = Read(request[i], &value);
    if (!status.ok() && !status.IsNotFound()) {
      reply->resize(begin);
      return AppendStatus(status, reply);
    }
    if (reply->size() - begin + value.size() > options_.max_reply_bytes) {
      reply->resize(begin);
      AppendError(reply, "ERR the values are more than " +
                             std::to_string(options_.max_reply_bytes) +
                             " bytes; ask for fewer keys at once");
      return;
    }
    if (status.ok()) {
      AppendBulk(reply, value.ToStringView());
    } else {
      AppendNull(reply);
    }
  }
}

void Commands::Delete(const RespRequest& request, std::string* reply) {
  // Another client may write between the look and the delete: the count is then
  // off, the delete is not. A key that is absent needs no tombstone.
  int64_t count = 0;
  rocksdb::WriteBatch batch;
  std::vector<std::string> keys(request.begin() + 1, request.end());
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (const std::string& key : keys) {
    rocksdb::PinnableSlice value;
    Status status = Read(key, &value);
    if (status.IsNotFound()) continue;
    if (status.ok()) status = batch.Delete(key);
    if (!status.ok()) return AppendStatus(status, reply);
    ++count;
  }
  if (count > 0) {
    const Status status = db_->Write(write_options_, &batch);
    if (!status.ok()) return AppendWriteStatus(status, reply);
  }
  AppendInteger(reply, count);
}

void Commands::Exists(const RespRequest& request, std::string* reply) {
  int64_t count = 0;
  for (size_t i = 1; i < request.size(); ++i) {
    rocksdb::PinnableSlice value;
    const Status status = Read(request[i], &value);
    if (status.ok()) {
      ++count;
    } else if (!status.IsNotFound()) {
      return AppendStatus(status, reply);
    }
  }
  AppendInteger(reply, count);
}

void Commands::Scan(const RespRequest& request, std::string* reply) {
  const std::optional<uint64_t> cursor = ParseCount(request[1]);
  if (!cursor) return AppendError(reply, "ERR invalid cursor");
  std::string pattern = "*";
  uint64_t count = kDefaultScanCount;
  for (size_t i = 2; i < request.size(); i += 2) {
    const std::string option = Lower(request[i]);
    if (i + 1 == request.size()) return AppendError(reply, "ERR syntax error");
    const std::string& value = request[i + 1];
    if (option == "match") {
      pattern = value;
    } else if (option == "count") {
      const std::optional<uint64_t> number = ParseCount(value);
      if (!number || *number == 0) {
        return AppendError(reply, "ERR COUNT must be a positive number");
      }
      count = std::min(*number, kMaxScanCount);
    } else if (option != "type" || Lower(value) != "string") {
      return AppendError(
          reply, "ERR SCAN takes MATCH pattern, COUNT number and TYPE string");
    }
  }

  std::optional<std::string> begin = std::string();
  if (*cursor != 0) begin = cursors_.Find(*cursor);
  if (!begin) {
    return AppendError(reply, "ERR the cursor has expired; begin again at 0");
  }
  const std::unique_ptr<rocksdb::Iterator> it(
      db_->NewIterator(rocksdb::ReadOptions()));
  std::string keys;
  size_t found = 0;
  for (it->Seek(*begin); it->Valid() && count > 0; it->Next(), --count) {
    if (keys.size() > kMaxScanBytes) break;
    if (!GlobMatches(pattern, it->key().ToStringView())) continue;
    AppendBulk(&keys, it->key().ToStringView());
    ++found;
  }
  if (!it->status().ok()) return AppendStatus(it->status(), reply);
  const uint64_t next = it->Valid() ? cursors_.Add(it->key().ToString()) : 0;
  AppendArray(reply, 2);
  AppendBulk(reply, std::to_string(next));
  AppendArray(reply, found);
  reply->append(keys);
}

void Commands::CountKeys(const RespRequest& request, std::string* reply) {
  const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(WholeScan()));
  int64_t count = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) ++count;
  if (!it->status().ok()) return AppendStatus(it->status(), reply);
  AppendInteger(reply, count);
}

void Commands::Info(const RespRequest& request, std::string* reply) {
  ServerInfo server;
  server.uptime_seconds =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                std::chrono::steady_clock::now() - started_)
                                .count());
  server.commands_processed = executed_.load(std::memory_order_relaxed);
  if (!db_->GetIntProperty(rocksdb::DB::Properties::kEstimateNumKeys,
                           &server.estimated_keys)) {
    server.estimated_keys = 0;
  }
  ReplicationStats stats;
  if (replicator_ != nullptr) stats = replicator_->stats();
  AppendBulk(reply, FormatInfo(request.size() > 1 ? request[1] : "", server,
                               replicator_ != nullptr ? &stats : nullptr));
}

void Commands::FlushAll(const RespRequest& request, std::string* reply) {
  const std::string mode = request.size() > 1 ? Lower(request[1]) : "sync";
  if (request.size() > 2 || (mode != "sync" && mode != "async")) {
    return AppendError(reply, "ERR FLUSHALL takes SYNC, ASYNC or nothing");
  }
  const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(WholeScan()));
  uint64_t deleted = 0;
  Status status;
  for (it->SeekToFirst(); status.ok() && it->Valid();) {
    rocksdb::WriteBatch batch;
    for (; status.ok() && it->Valid() && batch.Count() < kFlushBatchKeys;
         it->Next()) {
      status = batch.Delete(it->key());
    }
    if (status.ok()) status = db_->Write(write_options_, &batch);
    if (status.ok()) deleted += batch.Count();
  }
  if (status.ok()) status = it->status();
  if (status.ok()) return AppendSimple(reply, "OK");
  AppendError(reply, "ERR " + std::to_string(deleted) +
                         " keys were deleted, then: " + status.ToString());
}

void Commands::Describe(const RespRequest& request, std::string* reply) {
  const std::string what = request.size() > 1 ? Lower(request[1]) : "";
  if (what == "count") {
    return AppendInteger(reply, static_cast<int64_t>(Table().size()));
  }
  if (what == "docs") return AppendArray(reply, 0);
  if (!what.empty() && what != "info") {
    return AppendError(reply, "ERR COMMAND takes COUNT, DOCS, INFO or nothing");
  }
  std::vector<const Command*> commands;
  if (request.size() > 2) {
    for (size_t i = 2; i < request.size(); ++i) {
      commands.push_back(Lookup(request[i]));
    }
  } else {
    for (const Command& command : Table()) commands.push_back(&command);
  }
  AppendArray(reply, commands.size());
  for (const Command* command : commands) {
    if (command == nullptr) {
      reply->append("*-1\r\n");
      continue;
    }
    AppendArray(reply, 6);
    AppendBulk(reply, command->name);
    AppendInteger(reply, command->arity);
    AppendArray(reply, 1);
    AppendSimple(reply, command->flag);
    AppendInteger(reply, command->first_key);
    AppendInteger(reply, command->last_key);
    AppendInteger(reply, command->key_step);
  }
}

void Commands::Config(const RespRequest& request, std::string* reply) {
  if (Lower(request[1]) != "get" || request.size() < 3) {
    return AppendError(reply, "ERR only CONFIG GET is supported");
  }
  // What redis-benchmark asks for: no snapshots and no append-only file of
  // Redis' kind here.
  const std::pair<const char*, const char*> parameters[] = {
      {"appendonly", "no"}, {"databases", "1"}, {"save", ""}};
  std::string found;
  size_t count = 0;
  for (const auto& [name, value] : parameters) {
    const bool wanted = std::any_of(request.begin() + 2, request.end(),
                                    [n = name](const auto& pattern) {
                                      return GlobMatches(Lower(pattern), n);
                                    });
    if (!wanted) continue;
    AppendBulk(&found, name);
    AppendBulk(&found, value);
    count += 2;
  }
  AppendArray(reply, count);
  reply->append(found);
}

void Commands::Quit(const RespRequest& request, std::string* reply) {
  AppendSimple(reply, "OK");
}

// REPLICATION MEMBERS epoch id [id ...], ids as INFO shows them.
void Commands::SetMembers(const RespRequest& request, std::string* reply) {
  const std::optional<uint64_t> epoch = ParseCount(request[2]);
  std::vector<uint64_t> ids;
  for (size_t i = 3; i < request.size(); ++i) {
    const std::optional<uint64_t> id = ParseReplicaId(request[i]);
    if (id.has_value()) ids.push_back(*id);
  }
  if (!epoch.has_value() || ids.size() != request.size() - 3) {
    return AppendError(reply,
                       "ERR REPLICATION MEMBERS takes an epoch and replica ids"
                       " of 16 hex digits, as INFO shows them");
  }
  const Status status = options_.set_members(*epoch, ids);
  if (!status.ok()) return AppendError(reply, "ERR " + status.ToString());
  AppendSimple(reply, "OK");
}

// Others would take the threads of slow commands for hours.
void Commands::Scrub(std::string* reply) {
  if (scrub_awaited_.exchange(true)) {
    return AppendError(reply,
                       "ERR another client waits for the end of a scrub");
  }
  const Status status = replicator_->ScrubNow();
  scrub_awaited_ = false;
  if (!status.ok()) return AppendError(reply, "ERR " + status.ToString());
  AppendSimple(reply, "OK");
}

// A peer that is slow or silent keeps a thread for long; one is left to other
// slow commands.
void Commands::Sync(const std::vector<std::string>& peers, std::string* reply) {
  constexpr int kMaxSyncs = 2;
  if (++syncs_ > kMaxSyncs) {
    --syncs_;
    return AppendError(reply,
                       "ERR two clients wait for a REPLICATION SYNC already");
  }
  Status status;
  for (const std::string& peer : peers) {
    status = replicator_->SyncNow(peer);
    if (status.ok()) continue;
    AppendError(reply, "ERR no sync with " + peer + ": " + status.ToString());
    break;
  }
  --syncs_;
  if (status.ok()) AppendSimple(reply, "OK");
}

void Commands::Replication(const RespRequest& request, std::string* reply) {
  if (replicator_ == nullptr) {
    return AppendError(reply, "ERR this store runs without replication");
  }
  const size_t words = request.size();
  const std::string what = words > 1 ? Lower(request[1]) : "";
  if (what == "status" && words == 2) {
    return Info({"info", "replication"}, reply);
  }
  if (what == "members" && words >= 4 && options_.set_members) {
    return SetMembers(request, reply);
  }
  if (what == "scrub" && words == 2) return Scrub(reply);
  if (what == "collect" && words == 2 && options_.collect) {
    const Status status = options_.collect();
    if (!status.ok()) return AppendError(reply, "ERR " + status.ToString());
  } else if (what == "pause" && words == 2) {
    replicator_->Pause();
  } else if (what == "resume" && words == 2) {
    replicator_->Resume();
  } else if (what == "sync" && words <= 3) {
    std::vector<std::string> peers = options_.peers;
    if (words == 3) peers = {request[2]};
    if (peers.empty()) {
      return AppendError(reply,
                         "ERR no --peer is configured: name an address, as in "
                         "REPLICATION SYNC host:port");
    }
    return Sync(peers, reply);
  } else {
    return AppendError(reply,
                       "ERR REPLICATION takes STATUS, PAUSE, RESUME, SYNC "
                       "[address], MEMBERS epoch id ..., COLLECT or SCRUB");
  }
  AppendSimple(reply, "OK");
}

}  // namespace rocksync
