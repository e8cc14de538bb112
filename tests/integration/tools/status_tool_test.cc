// rocksync status: what it prints of whatever a replica answers.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "replication/metrics/json.h"
#include "rocksync/metrics.h"
#include "tests/integration/tools/tool_fixture.h"
#include "tools/status.h"

namespace rocksync {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

using StatusToolTest = ToolTest;

constexpr char kIdAnd[] = R"({"replica_id":"00000000000000a1",)";

// A peer that holds the secret may answer anything.
TEST(StatusOfAnybodyTest, IsPrintedOrRefused) {
  const std::vector<std::string> values = {
      "null", "5",   "-1",   "1.5", "true", "\"x\"",
      "[]",   "[5]", "[[]]", "{}",  "[{}]", "{\"peers\":5}"};
  for (const char* name : {"peers", "clones", "wall_clock_ms", "cluster"}) {
    for (const std::string& value : values) {
      const std::string field = std::string("\"") + name + "\":" + value;
      std::ostringstream out;
      EXPECT_TRUE(IsOk(PrintStatus(kIdAnd + field + "}", false, out))) << field;
      EXPECT_TRUE(IsOk(
          PrintStatus(std::string(kIdAnd) + "\"peers\":[{\"stream\":" + value +
                          ",\"address\":" + value + ",\"sessions\":" + value +
                          ",\"in_session\":" + value + "}]}",
                      false, out)))
          << value;
    }
  }
  std::string deep;
  for (int i = 0; i < 200'000; ++i) deep += "{\"a\":";
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("x"), deep,
        deep + "1" + std::string(200'000, '}'), std::string("{}"),
        std::string(R"({"replica_id":"1","elements":5})")}) {
    for (const bool as_json : {false, true}) {
      std::ostringstream out;
      EXPECT_TRUE(PrintStatus(text, as_json, out).IsCorruption());
      EXPECT_EQ(out.str(), "");
    }
  }
}

// A terminal obeys control characters, and a line may be forged.
TEST(StatusOfAnybodyTest, IsPrintedWithoutControlCharacters) {
  std::ostringstream out;
  const std::string text = R"("\u001b[2J\nreplica_id x\r\u0000\u009b\u007f")";
  ASSERT_TRUE(IsOk(PrintStatus(
      std::string(kIdAnd) + text + ":1,\"last_refusal\":" + text +
          ",\"software\":{\"rocksync\":" + text + "},\"names\":[" + text +
          "],\"peers\":[{\"address\":" + text + ",\"last_error\":" + text +
          "}],\"clones\":[{\"replica_id\":" + text + "}]}",
      false, out)));
  const std::string said = out.str();
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 7) << said;
  for (const char c : said) EXPECT_TRUE(c == '\n' || (c >= ' ' && c <= '~'));
  EXPECT_THAT(said, HasSubstr("?[2J?replica_id x"));
  // Ours has none of these bytes.
  out.str("");
  const std::string raw = std::string(kIdAnd) + "\"a\":\"\xc2\x9b\x7f\"}";
  ASSERT_TRUE(IsOk(PrintStatus(raw, /*as_json=*/true, out)));
  EXPECT_EQ(out.str(), std::string(kIdAnd) + "\"a\":\"???\"}\n");
}

TEST(StatusOfAnybodyTest, ValuesAreInOneColumn) {
  std::ostringstream out;
  ASSERT_TRUE(IsOk(PrintStatus(
      std::string(kIdAnd) +
          R"("certificate_first_to_expire":"the CA","disk":{"free":1}})",
      false, out)));
  EXPECT_EQ(out.str(),
            "replica_id                  00000000000000a1\n"
            "certificate_first_to_expire the CA\n"
            "disk.free                   1\n");
}

// Who writes the next list needs the ids of this one.
TEST(StatusOfAnybodyTest, MembersAreNamed) {
  const auto table = [](const std::string& list) {
    std::ostringstream out;
    EXPECT_TRUE(IsOk(PrintStatus(std::string(kIdAnd) +
                                     "\"tombstone_gc\":{\"member_list\":[" +
                                     list + "]}}",
                                 false, out)));
    return out.str();
  };
  const std::string id = "replica_id               00000000000000a1\n";
  EXPECT_EQ(table(R"({"replica_id":"00000000000000a1","held_ms":5},)"
                  R"({"replica_id":"00000000000000b2"})"),
            id + "tombstone_gc.member_list 00000000000000a1 "
                 "00000000000000b2\n");
  EXPECT_EQ(table(""), "replica_id 00000000000000a1\n");
  // Of 1 024 a terminal shows some.
  std::string many = R"({"replica_id":"1"})";
  for (int i = 0; i < 33; ++i) many += R"(,{"replica_id":"2"})";
  EXPECT_THAT(table(many), testing::EndsWith(" 2 2 and 2 more (--json)\n"));
  for (const char* wrong : {"5", "[5]", "{}", "\"x\"", R"({"replica_id":5})"}) {
    table(wrong);
  }
}

TEST_F(StatusToolTest, NamesAPeerByItsIdOrSaysThatItWasNotMet) {
  std::ostringstream out;
  ASSERT_TRUE(IsOk(PrintStatus(
      std::string(kIdAnd) +
          R"("peers":[{"address":"a:1","replica_id":"0000000000000000"},)"
          R"({"address":"b:2","replica_id":"0000000000000012"}]})",
      false, out)));
  EXPECT_THAT(out.str(), HasSubstr("peer a:1 (not met since its start): "));
  EXPECT_THAT(out.str(), HasSubstr("peer b:2 (0000000000000012): "));
}

TEST_F(StatusToolTest, OfARunningReplica) {
  TestReplica::Setting setting = SettingOf("a");
  setting.adjust = [](rocksdb::Options*, ReplicatedDBOptions* options) {
    options->families = {"defualt", "default"};
  };
  const auto a = std::make_unique<TestReplica>(setting);
  ASSERT_TRUE(a->Open()) << a->open_status().ToString();
  const auto b = NewReplica("b");
  ASSERT_TRUE(IsOk(a->Start()));
  ASSERT_TRUE(IsOk(b->Start()));
  a->Put("key", "value");
  ASSERT_TRUE(IsOk(a->replicator()->SyncNow(b->address())));
  StatusToolOptions options;
  options.replica = a->address();
  options.credentials = TestCredentials();
  options.json = true;
  ASSERT_EQ(RunStatus(options, out_, err_), 0) << err_.str();
  const auto status = nlohmann::json::parse(out_.str());
  EXPECT_EQ(status["cluster"], "test");
  EXPECT_EQ(status["families"], nlohmann::json::array({"default"}));
  EXPECT_EQ(status["families_not_there"], nlohmann::json::array({"defualt"}));
  EXPECT_EQ(status["pairs_sent"], 1);
  EXPECT_EQ(status["index"]["done"], true);
  EXPECT_EQ(status["pairs_quarantined"], 0);
  EXPECT_EQ(status["scrub"]["corruption_found"], 0);
  ASSERT_EQ(status["peers"].size(), 1u);
  EXPECT_EQ(status["peers"][0]["address"], b->address());
  EXPECT_GT(status["peers"][0]["last_proven_equal_ms"], 0);
  EXPECT_GT(status["certificate_expires_ms"], 0);
  EXPECT_FALSE(status.contains("held_back_replica")) << "nothing is held back";
  for (const auto name : {"pairs_too_large", "foreign_writes", "wrong_digests",
                          "digest_rescans", "digest_entries_read"}) {
    EXPECT_TRUE(status.contains(name)) << name;
  }
  // Nothing that the replica's own program is told is lost on the wire.
  auto own = nlohmann::json::parse(StatsJson(a->replicator()->stats()));
  EXPECT_EQ(status["disk"]["writes_refused"], false);
  EXPECT_EQ(status["disk"]["min_free_bytes"], own["disk"]["min_free_bytes"]);
  own.erase("disk");  // what is free may be another figure by now
  for (const auto& [name, value] : own.items()) {
    EXPECT_EQ(status[name], value) << name;
  }

  options.json = false;
  out_.str("");
  ASSERT_EQ(RunStatus(options, out_, err_), 0);
  EXPECT_THAT(out_.str(), ContainsRegex("cluster +test\n"));
  EXPECT_THAT(out_.str(), HasSubstr("peer " + b->address()));
  EXPECT_THAT(
      out_.str(),
      ContainsRegex("certificate_expires_ms +[0-9]{4}-[0-9]{2}-[0-9]{2} "
                    "[0-9:]{8} UTC \\(in [0-9]+ days\\)\n"));
  EXPECT_THAT(
      out_.str(),
      ContainsRegex("certificate_first_to_expire +the certificate in /.+\n"));
  EXPECT_THAT(out_.str(), ContainsRegex("scrub.last_finished_ms +[0-9-]{10} "
                                        "[0-9:]{8} UTC \\([0-9]+ s ago\\)\n"));
  EXPECT_THAT(out_.str(), ContainsRegex("tombstone_gc.stable_ms +never\n"));
  EXPECT_THAT(out_.str(), ContainsRegex("stream.lag_ms +0\n"));
  EXPECT_THAT(out_.str(), ContainsRegex("disk.writes_refused +false\n"));
  for (const char* list : {"member_list", "clones"}) {
    EXPECT_THAT(out_.str(), Not(HasSubstr(list))) << "an empty one, too";
  }

  // The replica's own program is told the same; after the end, too.
  const auto here = nlohmann::json::parse(a->replicator()->StatusJson());
  a->replicator()->Stop();
  const auto last = nlohmann::json::parse(a->replicator()->StatusJson());
  for (const auto& [name, value] : status.items()) {
    EXPECT_TRUE(here.contains(name)) << name;
    EXPECT_TRUE(last.contains(name)) << name;
  }
  EXPECT_EQ(here.size(), status.size());
  EXPECT_EQ(last["cluster"], "test");
}

}  // namespace
}  // namespace rocksync
