// A client of one replica's Redis port.

#ifndef EXAMPLES_DEMO_REDIS_CLIENT_H_
#define EXAMPLES_DEMO_REDIS_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/status.h"

struct redisContext;

namespace rocksync {

// Not thread-safe. After an error the connection is of no more use, except that
// an error reply to Call leaves it good.
class RedisClient {
 public:
  static rocksdb::Status Connect(uint16_t port,
                                 std::unique_ptr<RedisClient>* client);

  // One command. Aborted holds an error reply; IOError a lost connection.
  rocksdb::Status Call(const std::vector<std::string>& words);

  // Queues a command whose reply is not looked at, unless it is an error; sends
  // the queue when it is worth it. Flush sends the rest and waits for all
  // replies.
  rocksdb::Status Queue(const std::vector<std::string>& words);
  rocksdb::Status Flush();

  // The fields of the replication section of INFO.
  using Fields = std::map<std::string, std::string>;
  rocksdb::Status ReplicationInfo(Fields* fields);

 private:
  struct Free {
    void operator()(redisContext* context) const;
  };

  explicit RedisClient(redisContext* context) : context_(context) {}
  rocksdb::Status Reply(std::string* text);

  std::unique_ptr<redisContext, Free> context_;
  size_t queued_ = 0;
  size_t queued_bytes_ = 0;
};

}  // namespace rocksync

#endif  // EXAMPLES_DEMO_REDIS_CLIENT_H_
