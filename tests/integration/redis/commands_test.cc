#include "examples/replicated_store/commands.h"

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "examples/replicated_store/resp.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rocksdb/db.h"
#include "tests/support/open_plain.h"
#include "tests/support/temporary_directory.h"

namespace rocksync {
namespace {

using rocksdb::Status;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class FakeReplicator : public Replicator {
 public:
  void Stop() override {}
  Status SyncNow(const std::string& peer) override {
    calls.push_back("sync " + peer);
    return status;
  }
  Status Verify(const std::string&, const VerifyOptions&,
                const DifferenceCallback&, VerifyResult*) override {
    return status;
  }
  Status ScrubNow() override {
    calls.push_back("scrub");
    if (while_scrubbing) while_scrubbing();
    return status;
  }
  Status SetPeers(const std::vector<std::string>&) override {
    return Status::OK();
  }
  void Pause() override { calls.push_back("pause"); }
  void Resume() override { calls.push_back("resume"); }
  Status SetLimits(const ReplicatorLimits&) override { return Status::OK(); }
  ReplicatorLimits limits() const override { return {}; }
  ReplicationStats stats() const override {
    ReplicationStats stats;
    stats.pairs_sent = 42;
    return stats;
  }
  std::string StatusJson() const override { return "{}"; }
  std::string listen_address() const override { return ""; }

  std::vector<std::string> calls;
  std::function<void()> while_scrubbing;
  Status status;
};

class CommandsTest : public ::testing::Test {
 protected:
  CommandsTest() {
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* db = nullptr;
    const rocksdb::Status status = OpenPlain(options, directory_.path(), &db);
    EXPECT_TRUE(status.ok()) << status.ToString();
    db_.reset(db);
    CommandOptions command_options;
    command_options.peers = {"b", "c"};
    command_options.max_reply_bytes = 1000;
    commands_ = std::make_unique<Commands>(db, &replicator_, command_options);
  }
  // The reply to words separated by single spaces.
  std::string Do(const std::string& line) {
    RespParser parser;
    RespRequest request;
    const std::string text = line + "\n";
    std::string_view input = text;
    EXPECT_EQ(parser.Next(&input, &request), RespParser::Outcome::kRequest);
    return Do(request);
  }
  std::string Do(const RespRequest& request) {
    std::string reply;
    open_ = commands_->Execute(request, &reply);
    return reply;
  }

  const TemporaryDirectory directory_;
  std::unique_ptr<rocksdb::DB> db_;
  FakeReplicator replicator_;
  std::unique_ptr<Commands> commands_;
  bool open_ = true;
};

TEST_F(CommandsTest, PingEchoQuit) {
  EXPECT_EQ(Do("PING"), "+PONG\r\n");
  EXPECT_EQ(Do("ping hello"), "$5\r\nhello\r\n");
  EXPECT_EQ(Do("PING a b"),
            "-ERR wrong number of arguments for 'ping' command\r\n");
  EXPECT_EQ(Do("ECHO \"a b\""), "$3\r\na b\r\n");
  EXPECT_TRUE(open_);
  EXPECT_EQ(Do("QUIT"), "+OK\r\n");
  EXPECT_FALSE(open_);
}

TEST_F(CommandsTest, SetGetDel) {
  EXPECT_EQ(Do("GET k"), "$-1\r\n");
  EXPECT_EQ(Do("SET k v"), "+OK\r\n");
  EXPECT_EQ(Do("GET k"), "$1\r\nv\r\n");
  EXPECT_EQ(Do("SET k \"\""), "+OK\r\n");
  EXPECT_EQ(Do("GET k"), "$0\r\n\r\n");
  EXPECT_EQ(Do("SET l w"), "+OK\r\n");
  EXPECT_EQ(Do("EXISTS k l m k"), ":3\r\n");
  EXPECT_EQ(Do("DEL k l m k"), ":2\r\n");
  EXPECT_EQ(Do("EXISTS k l"), ":0\r\n");
  EXPECT_EQ(Do("DEL k"), ":0\r\n");
}

TEST_F(CommandsTest, KeysAndValuesHoldAnyBytes) {
  const std::string key("\r\n\0k", 4);
  const std::string value("\0\xff$1\r\n", 6);
  EXPECT_EQ(Do(RespRequest{"SET", key, value}), "+OK\r\n");
  EXPECT_EQ(Do(RespRequest{"GET", key}), "$6\r\n" + value + "\r\n");
}

TEST_F(CommandsTest, Multiple) {
  EXPECT_EQ(Do("MSET a 1 b 2"), "+OK\r\n");
  EXPECT_EQ(Do("MGET a x b"), "*3\r\n$1\r\n1\r\n$-1\r\n$1\r\n2\r\n");
  EXPECT_EQ(Do("MSET a 1 b"),
            "-ERR wrong number of arguments for 'mset' command\r\n");
  // The last one counts, as in Redis.
  EXPECT_EQ(Do("MSET a 3 a 4"), "+OK\r\n");
  EXPECT_EQ(Do("GET a"), "$1\r\n4\r\n");
}

TEST_F(CommandsTest, MultipleGetIsBounded) {
  Do(RespRequest{"SET", "k", std::string(600, 'x')});
  EXPECT_THAT(Do("MGET k"), StartsWith("*1\r\n$600\r\n"));
  EXPECT_THAT(Do("MGET k k"), StartsWith("-ERR the values are more than 1000"));
}

TEST_F(CommandsTest, Errors) {
  EXPECT_EQ(Do("NOSUCH a b"), "-ERR unknown command 'NOSUCH'\r\n");
  EXPECT_EQ(Do("GET"), "-ERR wrong number of arguments for 'get' command\r\n");
  EXPECT_EQ(Do("SET k v EX 10"),
            "-ERR SET takes a key and a value, no options\r\n");
  EXPECT_THAT(Do(RespRequest{"SET", std::string(70'000, 'k'), "v"}),
              StartsWith("-ERR a key of 70000 bytes"));
  EXPECT_EQ(Do("CONFIG SET save x"), "-ERR only CONFIG GET is supported\r\n");
}

TEST_F(CommandsTest, ScanSeesEveryKeyOnce) {
  for (int i = 100; i < 200; ++i) Do("SET key:" + std::to_string(i) + " v");
  std::vector<std::string> keys;
  std::string cursor = "0";
  int calls = 0;
  do {
    const std::string reply = Do("SCAN " + cursor + " COUNT 7");
    // *2 $n cursor *n { $n key }
    RespParser parser;
    std::vector<std::string> words;
    for (size_t at = 0; at < reply.size();) {
      const size_t end = reply.find("\r\n", at);
      words.push_back(reply.substr(at, end - at));
      at = end + 2;
    }
    cursor = words[2];
    for (size_t i = 5; i < words.size(); i += 2) keys.push_back(words[i]);
    ++calls;
  } while (cursor != "0" && calls < 100);
  ASSERT_EQ(keys.size(), 100u);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(keys[i], "key:" + std::to_string(100 + i));
  }
  EXPECT_EQ(calls, 15);
}

TEST_F(CommandsTest, ScanMatches) {
  Do("MSET a1 v a2 v b1 v");
  EXPECT_EQ(Do("SCAN 0 MATCH a* COUNT 100"),
            "*2\r\n$1\r\n0\r\n*2\r\n$2\r\na1\r\n$2\r\na2\r\n");
  EXPECT_EQ(Do("SCAN 0 MATCH c* TYPE string"), "*2\r\n$1\r\n0\r\n*0\r\n");
  EXPECT_EQ(Do("SCAN 0 COUNT 1"), "*2\r\n$1\r\n1\r\n*1\r\n$2\r\na1\r\n");
  EXPECT_EQ(Do("SCAN 1 COUNT 2"),
            "*2\r\n$1\r\n0\r\n*2\r\n$2\r\na2\r\n$2\r\nb1\r\n");
  // A cursor may be used again.
  EXPECT_EQ(Do("SCAN 1 COUNT 2"),
            "*2\r\n$1\r\n0\r\n*2\r\n$2\r\na2\r\n$2\r\nb1\r\n");
}

TEST_F(CommandsTest, ScanRefuses) {
  EXPECT_EQ(Do("SCAN x"), "-ERR invalid cursor\r\n");
  EXPECT_EQ(Do("SCAN -1"), "-ERR invalid cursor\r\n");
  EXPECT_THAT(Do("SCAN 77"), HasSubstr("expired"));
  EXPECT_EQ(Do("SCAN 0 COUNT"), "-ERR syntax error\r\n");
  EXPECT_THAT(Do("SCAN 0 COUNT 0"), StartsWith("-ERR COUNT"));
  EXPECT_THAT(Do("SCAN 0 TYPE hash"), StartsWith("-ERR SCAN takes"));
}

TEST_F(CommandsTest, CountAndFlush) {
  EXPECT_EQ(Do("DBSIZE"), ":0\r\n");
  for (int i = 0; i < 2500; ++i) Do("SET " + std::to_string(i) + " v");
  EXPECT_EQ(Do("DBSIZE"), ":2500\r\n");
  EXPECT_THAT(Do("FLUSHALL k"), StartsWith("-ERR FLUSHALL takes"));
  EXPECT_EQ(Do("DBSIZE"), ":2500\r\n");
  EXPECT_EQ(Do("FLUSHALL ASYNC"), "+OK\r\n");
  EXPECT_EQ(Do("DBSIZE"), ":0\r\n");
}

TEST_F(CommandsTest, CommandAndConfig) {
  EXPECT_EQ(Do("COMMAND COUNT"), ":16\r\n");
  EXPECT_EQ(Do("COMMAND DOCS"), "*0\r\n");
  EXPECT_EQ(
      Do("COMMAND INFO get nosuch"),
      "*2\r\n*6\r\n$3\r\nget\r\n:2\r\n*1\r\n+readonly\r\n:1\r\n:1\r\n:1\r\n"
      "*-1\r\n");
  EXPECT_THAT(Do("COMMAND"), StartsWith("*16\r\n*6\r\n$4\r\nping\r\n"));
  EXPECT_EQ(Do("CONFIG GET save"), "*2\r\n$4\r\nsave\r\n$0\r\n\r\n");
  EXPECT_EQ(Do("CONFIG GET nosuch"), "*0\r\n");
  EXPECT_THAT(Do("CONFIG GET *"), StartsWith("*6\r\n"));
}

TEST_F(CommandsTest, Replication) {
  EXPECT_EQ(Do("REPLICATION PAUSE"), "+OK\r\n");
  EXPECT_EQ(Do("replication resume"), "+OK\r\n");
  EXPECT_EQ(Do("REPLICATION SYNC"), "+OK\r\n");
  EXPECT_EQ(Do("REPLICATION SYNC d"), "+OK\r\n");
  EXPECT_THAT(replicator_.calls,
              ElementsAre("pause", "resume", "sync b", "sync c", "sync d"));
  EXPECT_THAT(Do("REPLICATION STATUS"), HasSubstr("\r\npairs_sent:42\r\n"));
  EXPECT_THAT(Do("INFO replication"), HasSubstr("\r\npairs_sent:42\r\n"));
  for (const char* line :
       {"REPLICATION", "REPLICATION HELP", "REPLICATION NOSUCH"}) {
    EXPECT_THAT(Do(line), StartsWith("-ERR REPLICATION takes STATUS, PAUSE"));
  }
  replicator_.status = rocksdb::Status::IOError("nobody there");
  EXPECT_EQ(Do("REPLICATION SYNC d"),
            "-ERR no sync with d: IO error: nobody there\r\n");
}

TEST_F(CommandsTest, Scrub) {
  // As a client does on another connection.
  replicator_.while_scrubbing = [this] {
    EXPECT_THAT(Do("REPLICATION SCRUB"), StartsWith("-ERR another client"));
    EXPECT_THAT(Do("REPLICATION STATUS"), HasSubstr("\r\nscrub_running:"));
  };
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Do("REPLICATION SCRUB"), "+OK\r\n");
  EXPECT_THAT(replicator_.calls, ElementsAre("scrub", "scrub"));
  EXPECT_THAT(Do("REPLICATION SCRUB now"),
              StartsWith("-ERR REPLICATION takes"));
  replicator_.status = Status::Incomplete("passed over");
  EXPECT_EQ(Do("REPLICATION SCRUB"), "-ERR Result incomplete: passed over\r\n");
}

TEST_F(CommandsTest, Members) {
  CommandOptions options;
  std::vector<uint64_t> members;
  uint64_t epoch = 0;
  int collections = 0;
  options.set_members = [&](uint64_t e, const std::vector<uint64_t>& ids) {
    epoch = e;
    members = ids;
    return ids.size() < 3 ? rocksdb::Status::OK()
                          : rocksdb::Status::InvalidArgument("too many");
  };
  options.collect = [&] {
    ++collections;
    return rocksdb::Status::OK();
  };
  Commands commands(db_.get(), &replicator_, options);
  const auto say = [&](const RespRequest& request) {
    std::string reply;
    commands.Execute(request, &reply);
    return reply;
  };
  const std::string ff = "00000000000000ff";
  const std::string ten = "000000000000000a";
  EXPECT_EQ(say({"REPLICATION", "MEMBERS", "3", ff, ten}), "+OK\r\n");
  EXPECT_EQ(epoch, 3u);
  EXPECT_THAT(members, ElementsAre(255u, 10u));
  EXPECT_EQ(say({"REPLICATION", "MEMBERS", "3", ff, ten, ff}),
            "-ERR Invalid argument: too many\r\n");
  EXPECT_THAT(say({"REPLICATION", "MEMBERS", "x", ff}),
              StartsWith("-ERR REPLICATION MEMBERS takes an epoch"));
  for (const std::string& id :
       {std::string("a"), ff.substr(1), ff + "0", "x" + ff.substr(1)}) {
    EXPECT_THAT(say({"REPLICATION", "MEMBERS", "3", ff, id}),
                StartsWith("-ERR REPLICATION MEMBERS takes an epoch"))
        << id << " is a part of an id, or none";
  }
  EXPECT_EQ(epoch, 3u);
  EXPECT_EQ(say({"REPLICATION", "COLLECT"}), "+OK\r\n");
  EXPECT_EQ(collections, 1);
}

TEST_F(CommandsTest, WithoutReplication) {
  Commands commands(db_.get(), nullptr, {});
  std::string reply;
  commands.Execute({"REPLICATION", "PAUSE"}, &reply);
  EXPECT_EQ(reply, "-ERR this store runs without replication\r\n");
}

TEST(CommandsSlow, WhatTakesLong) {
  EXPECT_TRUE(Commands::IsSlow({"replication", "sync"}));
  for (const char* quick : {"status", "pause", "resume"}) {
    EXPECT_FALSE(Commands::IsSlow({"replication", quick})) << quick;
  }
  EXPECT_TRUE(Commands::IsSlow({"FLUSHALL"}));
  EXPECT_FALSE(Commands::IsSlow({"GET", "k"}));
  EXPECT_FALSE(Commands::IsSlow({"nosuch"}));
}

}  // namespace
}  // namespace rocksync
