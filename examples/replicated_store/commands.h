// What each Redis command does to the database. No sockets here: a request in,
// a reply out.
//
// PING ECHO SET GET MSET MGET DEL EXISTS SCAN DBSIZE INFO FLUSHALL COMMAND
// CONFIG QUIT as in Redis, where these differ:
// - values have no types and no time to live: SET takes no options;
// - DBSIZE counts by reading all keys; FLUSHALL deletes in batches, and a pair
//   written meanwhile may survive it; a cursor of SCAN may expire;
// - a key is at most 64 KiB long.
//
// REPLICATION is ours:
//   REPLICATION STATUS         the replication section of INFO
//   REPLICATION PAUSE          begins no session and refuses those of peers
//   REPLICATION RESUME
//   REPLICATION SYNC [address] syncs with a peer, or with each of them, until
//                              proven equal; replies then
//   REPLICATION MEMBERS epoch id [id ...]  sets the member list
//   REPLICATION COLLECT        collects tombstones that all members hold
//   REPLICATION SCRUB          compares all values with the index, or waits for
//                              the scrub that runs; replies then

#ifndef EXAMPLES_REPLICATED_STORE_COMMANDS_H_
#define EXAMPLES_REPLICATED_STORE_COMMANDS_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "examples/replicated_store/cursors.h"
#include "examples/replicated_store/resp.h"
#include "rocksdb/db.h"
#include "rocksdb/options.h"
#include "rocksync/replicator.h"

namespace rocksync {

struct CommandOptions {
  bool sync_writes = false;
  std::vector<std::string> peers;  // of REPLICATION SYNC without an address
  // Of REPLICATION MEMBERS and REPLICATION COLLECT.
  std::function<rocksdb::Status(uint64_t epoch, const std::vector<uint64_t>&)>
      set_members;
  std::function<rocksdb::Status()> collect;
  size_t max_key_bytes = size_t{64} << 10;
  size_t max_reply_bytes = size_t{256} << 20;
};

// Thread-safe.
class Commands {
 public:
  // `db` and `replicator` must outlive this; without a replicator (null)
  // REPLICATION is refused.
  Commands(rocksdb::DB* db, Replicator* replicator,
           const CommandOptions& options);

  // May take long: belongs on a thread where it holds nobody up.
  static bool IsSlow(const RespRequest& request);

  // Appends one reply. False: the client wants to end the connection.
  bool Execute(const RespRequest& request, std::string* reply);

 private:
  struct Command;
  static const std::vector<Command>& Table();
  static const Command* Lookup(const std::string& name);

  void Ping(const RespRequest& request, std::string* reply);
  void Echo(const RespRequest& request, std::string* reply);
  void Set(const RespRequest& request, std::string* reply);
  void Get(const RespRequest& request, std::string* reply);
  void MultiSet(const RespRequest& request, std::string* reply);
  void MultiGet(const RespRequest& request, std::string* reply);
  void Delete(const RespRequest& request, std::string* reply);
  void Exists(const RespRequest& request, std::string* reply);
  void Scan(const RespRequest& request, std::string* reply);
  void CountKeys(const RespRequest& request, std::string* reply);
  void Info(const RespRequest& request, std::string* reply);
  void FlushAll(const RespRequest& request, std::string* reply);
  void Describe(const RespRequest& request, std::string* reply);
  void Config(const RespRequest& request, std::string* reply);
  void Quit(const RespRequest& request, std::string* reply);
  void Replication(const RespRequest& request, std::string* reply);
  void SetMembers(const RespRequest& request, std::string* reply);
  void Scrub(std::string* reply);
  void Sync(const std::vector<std::string>& peers, std::string* reply);

  // Whether `key` can be a key; appends an error if not.
  bool CheckKey(const std::string& key, std::string* reply) const;
  // Why a write failed, and what to do if all do.
  void AppendWriteStatus(const rocksdb::Status& status,
                         std::string* reply) const;
  rocksdb::Status Read(const std::string& key, rocksdb::PinnableSlice* value);

  rocksdb::DB* const db_;
  Replicator* const replicator_;
  const CommandOptions options_;
  const std::chrono::steady_clock::time_point started_;
  rocksdb::WriteOptions write_options_;
  Cursors cursors_;
  std::atomic<uint64_t> executed_{0};
  std::atomic<bool> scrub_awaited_{false};
  std::atomic<int> syncs_{0};
};

}  // namespace rocksync

#endif  // EXAMPLES_REPLICATED_STORE_COMMANDS_H_
