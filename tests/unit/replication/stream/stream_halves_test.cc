// The two halves of a stream, each against a host that writes down in which
// order it was asked for what.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "replication/stream/incoming_changes.h"
#include "replication/stream/outgoing_changes.h"
#include "tests/support/spreading_host.h"

namespace rocksync {
namespace {

constexpr uint64_t kPeer = SpreadingHost::kPeer;

class FakeHost final : public SpreadingHost {
 public:
  FakeHost() {
    facts_ = {.peer_id = kPeer,
              .peer_name = "peer",
              .dialed = true,
              .mine = {1000, 10'000, ""},
              .theirs = {1000, 10'000, ""}};
  }

  void Write(const std::string& key) {
    written_.push_back(key);
    ++last_;
  }
  // The peer has no neighbour but this replica, or one more, so that hashes
  // count.
  void SetMeshed(bool meshed) {
    spread_.SetNeighbours(kPeer,
                          meshed ? std::vector<Neighbour>{{1, ""}}
                                 : std::vector<Neighbour>{{1, ""}, {9, ""}});
  }

  StreamFacts facts_;
  uint64_t now_ms = 1000;
  uint64_t lost = 0;
  bool terms_hold = true;
  std::vector<std::string> events;  // but for neighbours

  // StreamHost.
  const StreamFacts& facts() const override { return facts_; }
  uint64_t NowMs() const override { return now_ms; }
  absl::Status Take(size_t max_bytes, ChangeBatch* taken) override {
    taken->changes.clear();
    taken_ = std::exchange(written_, {});
    for (const std::string& key : taken_) {
      taken->changes.push_back({0, key, {5, 1}, false, "value"});
    }
    taken->lost = std::exchange(lost, 0);
    taken->last = last_;
    return absl::OkStatus();
  }
  absl::Status MakeDurable(uint64_t number) override {
    events.push_back("durable up to " + std::to_string(number));
    return absl::OkStatus();
  }
  absl::Status MakeAllDurable() override {
    events.emplace_back("all durable");
    return absl::OkStatus();
  }
  absl::Status Send(std::string_view message) override {
    const auto type = static_cast<StreamMessageType>(message[0]);
    if (type == StreamMessageType::kNeighbours) return absl::OkStatus();
    if (type == StreamMessageType::kChanges) bytes_sent += message.size();
    events.push_back("sends " + std::to_string(static_cast<int>(type)));
    return absl::OkStatus();
  }
  bool TermsHold() const override { return terms_hold; }
  uint32_t FamilyCount() const override { return 1; }
  ElementHash HashOf(const Pair& pair) const override {
    return {std::hash<std::string>()(pair.key), 0};
  }
  absl::Status ReadPair(uint32_t family, std::string_view key,
                        Pair* pair) const override {
    *pair = {family, std::string(key), {5, 1}, false, "value"};
    return absl::OkStatus();
  }
  absl::Status Apply(std::vector<Pair>* pairs,
                     std::vector<ApplyOutcome>* outcomes) override {
    events.push_back("applies " + std::to_string(pairs->size()));
    outcomes->assign(pairs->size(), ApplyOutcome::kApplied);
    return absl::OkStatus();
  }
  void BeginRepair() override { events.emplace_back("repairs"); }
  void Wake() override { ++wakes; }
  bool AskForMissing(uint64_t now) override { return false; }

  size_t bytes_sent = 0;  // of kChanges
  int wakes = 0;

 private:
  std::vector<std::string> written_;
  std::vector<std::string> taken_;
  uint64_t last_ = 0;
};

using Events = std::vector<std::string>;

std::string MessageOf(const std::string& key) {
  ChangesEncoder encoder;
  encoder.Add(0, key, {5, kPeer}, false, "value");
  return encoder.message();
}

TEST(OutgoingChanges, WhatTravelsIsDurable) {
  FakeHost host;
  host.SetMeshed(true);
  OutgoingChanges outgoing(&host);
  outgoing.Begin();
  host.Write("a");
  host.Write("b");
  ASSERT_TRUE(outgoing.Step().ok());
  EXPECT_EQ(host.events, (Events{"durable up to 2", "sends 1"}));
  ASSERT_TRUE(outgoing.Step().ok());
  EXPECT_EQ(host.events.size(), 2u) << "nothing is written";
}

TEST(OutgoingChanges, NothingIsSentByTermsThatHoldNoLonger) {
  FakeHost host;
  host.SetMeshed(true);
  OutgoingChanges outgoing(&host);
  outgoing.Begin();
  host.Write("a");
  host.terms_hold = false;
  EXPECT_TRUE(absl::IsUnavailable(outgoing.Step()));
  EXPECT_EQ(host.events, (Events{"durable up to 1"}));
}

TEST(OutgoingChanges, AGapIsToldAndRepairedByWhoDialed) {
  FakeHost host;
  OutgoingChanges outgoing(&host);
  outgoing.Begin();
  host.lost = 7;
  ASSERT_TRUE(outgoing.Step().ok());
  EXPECT_EQ(host.events, (Events{"sends 3", "repairs"}));
  host.events.clear();
  host.facts_.dialed = false;
  host.lost = 7;
  ASSERT_TRUE(outgoing.Step().ok());
  EXPECT_EQ(host.events, (Events{"sends 3"}));
}

TEST(OutgoingChanges, WhoWasDialedAsksForARepair) {
  FakeHost host;
  host.facts_.dialed = false;
  OutgoingChanges outgoing(&host);
  outgoing.Begin();
  host.Repair();
  EXPECT_EQ(host.wakes, 1);
  ASSERT_TRUE(outgoing.Step().ok());
  EXPECT_EQ(host.events, (Events{"sends 3"}));
}

TEST(OutgoingChanges, TheWindowOfThePeerIsKept) {
  FakeHost host;
  host.SetMeshed(true);
  host.facts_.theirs.window_bytes = 1;
  OutgoingChanges outgoing(&host);
  IncomingChanges incoming(&host);
  outgoing.Begin();
  host.Write("a");
  ASSERT_TRUE(outgoing.Step().ok());
  EXPECT_EQ(outgoing.Window(), 0u);
  host.Write("b");
  ASSERT_TRUE(outgoing.Step().ok());
  EXPECT_EQ(host.events, (Events{"durable up to 1", "sends 1"}));
  const size_t under_way = host.bytes_sent;
  EXPECT_TRUE(absl::IsInvalidArgument(incoming.Receive(
      EncodeStreamCount(StreamMessageType::kAck, under_way + 1))));
  ASSERT_TRUE(
      incoming.Receive(EncodeStreamCount(StreamMessageType::kAck, under_way))
          .ok());
  ASSERT_TRUE(outgoing.Step().ok());
  EXPECT_EQ(host.events.back(), "sends 1");
  EXPECT_EQ(host.events.size(), 4u);
}

// What the peer was announced it asks for, all at once.
TEST(OutgoingChanges, WhatIsAskedForWaitsForTheWindow) {
  FakeHost host;
  host.SetMeshed(false);
  OutgoingChanges outgoing(&host);
  IncomingChanges incoming(&host);
  outgoing.Begin();
  ASSERT_TRUE(
      incoming
          .Receive(EncodeStreamList(StreamMessageType::kPrune, {{uint64_t{1}}}))
          .ok());
  std::vector<uint64_t> hashes;
  for (const char* key : {"a", "b", "c"}) {
    host.Write(key);
    hashes.push_back(host.HashOf({0, key, {5, 1}, false, ""}).high);
  }
  ASSERT_TRUE(outgoing.Step().ok());
  EXPECT_EQ(host.events, (Events{"durable up to 3", "sends 7"}));
  host.events.clear();
  host.facts_.theirs.window_bytes = 1;
  ASSERT_TRUE(
      incoming.Receive(EncodeStreamList(StreamMessageType::kGraft, hashes))
          .ok());
  for (const char* key : {"a", "b", "c"}) {
    ASSERT_TRUE(outgoing.Step().ok());
    ASSERT_TRUE(outgoing.Step().ok()) << "the window is closed";
    EXPECT_EQ(host.events, (Events{"all durable", "sends 1"})) << key;
    host.events.clear();
    ASSERT_TRUE(
        incoming
            .Receive(EncodeStreamCount(StreamMessageType::kAck,
                                       std::exchange(host.bytes_sent, 0)))
            .ok());
  }
  ASSERT_TRUE(outgoing.Step().ok());
  EXPECT_TRUE(host.events.empty());
}

TEST(OutgoingChanges, SaysSomethingWithinAQuarterOfThePatience) {
  FakeHost host;
  OutgoingChanges outgoing(&host);
  outgoing.Begin();
  EXPECT_EQ(outgoing.NextDueMs(), 3500u);
  host.now_ms = 3499;
  ASSERT_TRUE(outgoing.Step().ok());
  EXPECT_EQ(host.events, Events{}) << "but neighbours, in this step";
  host.now_ms = outgoing.NextDueMs();
  ASSERT_TRUE(outgoing.Step().ok());
  EXPECT_EQ(host.events, (Events{"sends 4"}));
}

TEST(IncomingChanges, NothingIsTakenByTermsThatHoldNoLonger) {
  FakeHost host;
  IncomingChanges incoming(&host);
  host.terms_hold = false;
  EXPECT_TRUE(absl::IsUnavailable(incoming.Receive(MessageOf("a"))));
  EXPECT_TRUE(host.events.empty());
  EXPECT_FALSE(incoming.carried());
}

TEST(IncomingChanges, WhatIsTakenIsToldSoon) {
  FakeHost host;
  IncomingChanges incoming(&host);
  OutgoingChanges outgoing(&host);
  outgoing.Begin();
  ASSERT_TRUE(incoming.Receive(MessageOf("a")).ok());
  EXPECT_TRUE(incoming.carried());
  EXPECT_EQ(host.wakes, 1);
  EXPECT_EQ(outgoing.NextDueMs(), host.now_ms + 5);
  ASSERT_TRUE(outgoing.Step().ok());
  EXPECT_EQ(host.events, (Events{"applies 1"})) << "not yet";
  host.now_ms += 5;
  ASSERT_TRUE(outgoing.Step().ok());
  EXPECT_EQ(host.events, (Events{"applies 1", "sends 2"}));
}

TEST(IncomingChanges, AGapIsRepairedByWhoDialed) {
  FakeHost host;
  IncomingChanges incoming(&host);
  const std::string gap = EncodeStreamCount(StreamMessageType::kGap, 3);
  ASSERT_TRUE(incoming.Receive(gap).ok());
  EXPECT_EQ(host.events, (Events{"repairs"}));
  host.facts_.dialed = false;
  ASSERT_TRUE(incoming.Receive(gap).ok());
  EXPECT_EQ(host.events.size(), 1u) << "the peer begins it";
}

TEST(IncomingChanges, RefusesWhatIsNoMessage) {
  FakeHost host;
  IncomingChanges incoming(&host);
  for (const std::string message : {"\x01", "\x04x", "\x09", "\x63"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(incoming.Receive(message)));
  }
}

}  // namespace
}  // namespace rocksync
