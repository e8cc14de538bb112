#include "replication/statistics/stats_board.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace rocksync {
namespace {

// The peer is not removed meanwhile.
const std::atomic<bool> kStays{false};

SessionReport Report(uint64_t pairs_sent) {
  SessionReport report;
  report.elements = 1000;
  report.pairs_sent = pairs_sent;
  report.bytes_sent = pairs_sent * 10;
  report.bytes_received = 5;
  return report;
}

TEST(StatsBoard, CountsARunningSessionOnce) {
  StatsBoard board(7, {"a:1"}, nullptr);
  const auto line = board.Begin("a:1", 0xa);
  line->Update(Report(10));
  EXPECT_EQ(board.stats().pairs_sent, 10u);
  EXPECT_EQ(board.stats().sessions, 0u);
  line->Update(Report(30));
  SessionReport last = Report(35);
  last.proven_equal = true;
  line->Finish(last, rocksdb::Status::OK());
  const ReplicationStats stats = board.stats();
  EXPECT_EQ(stats.replica_id, 7u);
  EXPECT_EQ(stats.pairs_sent, 35u);
  EXPECT_EQ(stats.bytes_total, 355u);
  EXPECT_EQ(stats.elements, 1000u);
  EXPECT_EQ(stats.sessions, 1u);
  ASSERT_EQ(stats.peers.size(), 1u);
  EXPECT_EQ(stats.peers[0].sessions, 1u);
  EXPECT_GT(stats.peers[0].last_proven_equal_ms, 0u);
  EXPECT_TRUE(stats.peers[0].last.finished);
}

// It was frozen, say, and another one has begun and ended meanwhile.
TEST(StatsBoard, ASessionThatFailsLateSaysNothingOfThePeer) {
  StatsBoard board(7, {"a:1"}, nullptr);
  const auto late = board.Begin("a:1", 0xa);
  const auto good = board.Begin("a:1", 0xa);
  good->Finish(Report(10), rocksdb::Status::OK());
  late->Finish(Report(1), rocksdb::Status::IOError("closed"));
  const ReplicationStats stats = board.stats();
  EXPECT_EQ(stats.peers.at(0).last_error, "");
  EXPECT_EQ(stats.peers.at(0).last.pairs_sent, 10u);
  EXPECT_EQ(stats.sessions_failed, 1u);
  board.Begin("a:1", 0xa)->Finish({}, rocksdb::Status::IOError("again"));
  EXPECT_NE(board.stats().peers.at(0).last_error, "");
}

// The session that follows may take hours.
TEST(StatsBoard, AnIndexBuildIsOverOnceASessionCompares) {
  StatsBoard board(7, {"a:1"}, nullptr);
  const rocksdb::Status building =
      rocksdb::Status::TryAgain("the peer cannot compare now: adopting, 85 %");
  SessionReport report;
  report.index_build = true;
  board.Begin("a:1", 0xa)->Finish(report, building);
  EXPECT_TRUE(board.stats().peers.at(0).waits_for_index_build);
  auto line = board.Begin("a:1", 0xa);
  report.index_build = false;
  report.bytes_received = 5;
  line->Update(report);
  EXPECT_EQ(board.stats().peers.at(0).last_error, building.ToString())
      << "the peer may say so again";
  report.pairs_to_receive = 1;
  line->Update(report);
  EXPECT_EQ(board.stats().peers.at(0).last_error, "");
  EXPECT_FALSE(board.stats().peers.at(0).waits_for_index_build);

  // Other errors are of the last session until this one has ended.
  board.Begin("a:1", 0xa)->Finish({}, rocksdb::Status::IOError("other"));
  line = board.Begin("a:1", 0xa);
  line->Update(report);
  EXPECT_NE(board.stats().peers.at(0).last_error, "");
}

TEST(StatsBoard, AnIndexBuildOfThisReplicaThatIsOverIsNoError) {
  StatsBoard board(7, {"a:1", "b:2"}, nullptr);
  SessionReport report;
  report.index_build = true;
  board.Begin("a:1", 0xa)->Finish(report, rocksdb::Status::TryAgain("a, 5 %"));
  board.Begin("b:2", 0xb)->Finish({}, rocksdb::Status::IOError("other"));
  board.ForgetIndexBuild();
  EXPECT_EQ(board.stats().peers.at(0).last_error, "");
  EXPECT_EQ(board.stats().peers.at(0).sessions_failed, 1u);
  EXPECT_NE(board.stats().peers.at(1).last_error, "");
}

TEST(StatsBoard, TheLagIsThatOfTheMomentWhileTheStreamIsOpen) {
  StatsBoard board(7, {"a:1", "b:2"}, nullptr);
  board.RecordMeeting("a:1", 0xa, {}, kStays);
  board.RecordMeeting("b:2", 0xb, {}, kStays);
  const StatsBoard::Clock::time_point now = StatsBoard::Clock::now();
  StreamLag lag;
  auto stream = board.BeginStream("a:1", 0xa, {}, Role::kInitiator,
                                  [&lag] { return lag; });
  EXPECT_EQ(board.stats(now).peers.at(0).stream.lag_pairs, 0u);
  lag = {.changes = 5, .since = now - std::chrono::seconds(3)};
  const ReplicationStats stats = board.stats(now);
  EXPECT_EQ(stats.peers.at(0).stream.lag_pairs, 5u);
  EXPECT_EQ(stats.peers.at(0).stream.lag_ms, 3000u);
  EXPECT_EQ(stats.peers.at(1).stream.lag_pairs, 0u);
  EXPECT_EQ(stats.stream.lag_pairs, 5u);
  EXPECT_EQ(stats.stream.lag_ms, 3000u);
  stream.reset();
  EXPECT_EQ(board.stats(now).peers.at(0).stream.lag_pairs, 0u);
}

TEST(StatsBoard, AReplicaThatWasEmptiedHasNoElements) {
  StatsBoard board(7, {"a:1"}, nullptr);
  board.Begin("a:1", 0xa)->Finish(Report(10), rocksdb::Status::OK());
  EXPECT_EQ(board.stats().elements, 1000u);
  const auto line = board.Begin("a:1", 0xa);
  SessionReport empty;
  line->Update(empty);
  EXPECT_EQ(board.stats().elements, 1000u);
  empty.proven_equal = true;
  line->Finish(empty, rocksdb::Status::OK());
  EXPECT_EQ(board.stats().elements, 0u);
}

TEST(StatsBoard, WhatIsSaidInVainIsBytesAndNoSession) {
  StatsBoard board(7, {"a:1"}, nullptr);
  const auto line = board.Begin("a:1", 0xa);
  SessionReport report;
  report.bytes_sent = 18;
  line->Update(report);
  report.bytes_received = 2;
  report.busy = true;
  line->GiveUp(report);
  const ReplicationStats stats = board.stats();
  EXPECT_EQ(stats.bytes_total, 20u);
  EXPECT_EQ(stats.sessions, 0u);
  EXPECT_EQ(stats.peers.at(0).sessions, 0u);
  EXPECT_TRUE(stats.peers.at(0).last.peer.empty());
}

// Over a slow link the first answer takes minutes, in which nothing told that
// the session runs.
TEST(StatsBoard, ASessionWithoutAnAnswerIsShownAfterASecond) {
  StatsBoard board(7, {"a:1", "b:2"}, nullptr);
  SessionReport before = Report(3);
  before.proven_equal = true;
  board.Begin("a:1", 0xa)->Finish(before, rocksdb::Status::OK());
  const StatsBoard::Clock::time_point began{std::chrono::hours(1)};
  auto line = board.Begin("a:1", 0xa, {}, Role::kInitiator, began);
  SessionReport report;
  report.bytes_sent = 18;
  line->Update(report);
  const auto shown = [&](std::chrono::milliseconds after) {
    return board.stats(began + after).peers.at(0).last;
  };
  using std::chrono::milliseconds;
  EXPECT_TRUE(shown(milliseconds(999)).finished) << "it may be busy";
  EXPECT_EQ(shown(milliseconds(999)).pairs_sent, 3u);
  EXPECT_FALSE(shown(milliseconds(1000)).finished);
  EXPECT_EQ(shown(milliseconds(1000)).peer, "a:1");
  EXPECT_EQ(shown(milliseconds(1000)).bytes_total, 18u);
  EXPECT_TRUE(
      board.stats(began + milliseconds(1000)).peers.at(1).last.peer.empty());
  report.busy = true;
  line->GiveUp(report);
  EXPECT_EQ(shown(milliseconds(2000)).pairs_sent, 3u) << "what was known";
  EXPECT_TRUE(shown(milliseconds(2000)).finished);

  line = board.Begin("a:1", 0xa, {}, Role::kInitiator, began);
  line->Update(Report(5));
  EXPECT_EQ(shown(milliseconds(0)).pairs_sent, 5u) << "it was answered";
  line.reset();
  line = board.Begin("a:1", 0xa, {}, Role::kInitiator, began);
  line.reset();  // it never began
  EXPECT_EQ(shown(milliseconds(5000)).pairs_sent, 5u);
  // One that a peer began is shown by what it said.
  line = board.Begin("a:1", 0xa, {}, Role::kResponder, began);
  EXPECT_EQ(shown(milliseconds(5000)).pairs_sent, 5u);
}

TEST(StatsBoard, AnIncomingPeerWhoseAddressIsLearntIsOnePeer) {
  StatsBoard board(7, {"a:1", "b:2"}, nullptr);
  SessionReport proven = Report(1);
  proven.proven_equal = true;
  board.Begin("10.0.0.1:50000", 0xa)->Finish(proven, rocksdb::Status::OK());
  board.Begin("10.0.0.1:50001", 0xa)->Finish(proven, rocksdb::Status::OK());
  board.RecordFailure("a:1", rocksdb::Status::IOError("refused"), false,
                      kStays);
  ASSERT_EQ(board.stats().peers.size(), 3u);
  EXPECT_EQ(board.stats().peers[2].address, "10.0.0.1:50000");
  EXPECT_EQ(board.stats().peers[2].sessions, 2u);
  board.RecordMeeting("a:1", 0xa, {}, kStays);
  const ReplicationStats stats = board.stats();
  ASSERT_EQ(stats.peers.size(), 2u);
  EXPECT_EQ(stats.peers[0].address, "a:1");
  EXPECT_EQ(stats.peers[0].replica_id, 0xau);
  EXPECT_EQ(stats.peers[0].sessions, 2u);
  EXPECT_EQ(stats.peers[0].last.peer, "a:1");
  EXPECT_EQ(stats.peers[0].last_error, "") << "it can be reached after all";
  board.Begin("10.0.0.1:50002", 0xa)->Finish(proven, rocksdb::Status::OK());
  EXPECT_EQ(board.stats().peers[0].sessions, 3u);
}

TEST(StatsBoard, AnotherReplicaAtAnAddressInheritsNothing) {
  StatsBoard board(7, {"a:1"}, nullptr);
  SessionReport proven = Report(1);
  proven.proven_equal = true;
  proven.digests_equal = true;
  board.RecordMeeting("a:1", 0xa, {}, kStays);
  board.Begin("a:1", 0xa)->Finish(proven, rocksdb::Status::OK());
  const auto running = board.Begin("a:1", 0xa);
  auto stream = board.BeginStream("a:1", 0xa, {}, Role::kResponder, [] {
    return StreamLag{.changes = 1, .since = StreamCounters::Clock::now()};
  });
  EXPECT_GT(board.stats().peers.at(0).last_proven_equal_ms, 0u);

  board.RecordMeeting("a:1", 0xb, {}, kStays);
  const auto expect_new = [&board] {
    const ReplicationStats stats = board.stats();
    ASSERT_EQ(stats.peers.size(), 1u);
    const PeerStats& peer = stats.peers[0];
    EXPECT_EQ(peer.address, "a:1");
    EXPECT_EQ(peer.replica_id, 0xbu);
    EXPECT_TRUE(peer.configured);
    EXPECT_EQ(peer.sessions, 0u);
    EXPECT_EQ(peer.last_proven_equal_ms, 0u);
    EXPECT_EQ(peer.equal_as_of_ms, 0u);
    EXPECT_EQ(peer.digests_equal_as_of_ms, 0u);
    EXPECT_EQ(peer.stream.open, 0u);
    EXPECT_EQ(peer.stream.pairs_sent, 0u);
    EXPECT_EQ(peer.stream.lag_pairs, 0u);
    EXPECT_FALSE(peer.last.proven_equal);
  };
  expect_new();
  // What the first one was in the middle of ends.
  running->Finish(proven, rocksdb::Status::OK());
  stream->AddSent(1, 10);
  stream.reset();
  expect_new();
  // A connection with the first one that was kept is used once more.
  const auto link = std::make_shared<int>();
  board.Begin("a:1", 0xa, link, Role::kInitiator)
      ->Finish(proven, rocksdb::Status::OK());
  board.BeginStream("a:1", 0xa, link, Role::kInitiator)->AddSent(1, 10);
  expect_new();
  EXPECT_EQ(board.stats().sessions, 3u);
  EXPECT_EQ(board.stats().stream.open, 0u);
}

TEST(StatsBoard, WhatAStreamBringsIsCounted) {
  StatsBoard board(7, {}, nullptr);
  const auto stream = board.BeginStream("a:1", 0xa);
  stream->AddReceivedPairs(/*pairs=*/7, /*applied=*/4, /*duplicates=*/1,
                           /*held_back=*/2);
  const ReplicationStats stats = board.stats();
  EXPECT_EQ(stats.stream.pairs_received, 7u);
  EXPECT_EQ(stats.stream.pairs_applied, 4u);
  EXPECT_EQ(stats.stream.duplicates, 1u);
  EXPECT_EQ(stats.pairs_held_back, 2u);
}

TEST(StatsBoard, TwoReplicasFromOnePortAreTwoPeers) {
  StatsBoard board(7, {}, nullptr);
  SessionReport proven = Report(1);
  proven.proven_equal = true;
  board.Begin("10.0.0.1:50000", 0xc)->Finish(proven, rocksdb::Status::OK());
  board.Begin("10.0.0.1:50000", 0xd)
      ->Finish(Report(1), rocksdb::Status::IOError("cut"));
  const ReplicationStats stats = board.stats();
  ASSERT_EQ(stats.peers.size(), 2u);
  EXPECT_GT(stats.peers[0].last_proven_equal_ms, 0u);
  EXPECT_EQ(stats.peers[1].replica_id, 0xdu);
  EXPECT_EQ(stats.peers[1].last_proven_equal_ms, 0u);
}

TEST(StatsBoard, TwoAddressesOfOneReplicaBothStay) {
  StatsBoard board(7, {"a:1", "localhost:1"}, nullptr);
  board.RecordMeeting("a:1", 0xa, {}, kStays);
  board.RecordMeeting("localhost:1", 0xa, {}, kStays);
  EXPECT_EQ(board.stats().peers.size(), 2u);
}

TEST(StatsBoard, AnotherNameOfAConfiguredPeerIsThatPeer) {
  StatsBoard board(7, {"a:1", "b:2"}, nullptr);
  // SyncNow was given a name that is not in the options.
  board.RecordMeeting("localhost:1", 0xa, {}, kStays);
  board.RecordFailure("localhost:1", rocksdb::Status::IOError("cut"), false,
                      kStays);
  EXPECT_EQ(board.stats().peers.size(), 3u);
  board.RecordMeeting("a:1", 0xa, {}, kStays);
  const auto connection = std::make_shared<int>();
  ASSERT_TRUE(board.RecordMeeting("localhost:1", 0xa, connection, kStays));
  SessionReport proven = Report(1);
  proven.proven_equal = true;
  board.Begin("localhost:1", 0xa, connection, Role::kInitiator)
      ->Finish(proven, rocksdb::Status::OK());
  const ReplicationStats stats = board.stats();
  ASSERT_EQ(stats.peers.size(), 2u);
  EXPECT_EQ(stats.peers[0].address, "a:1");
  EXPECT_EQ(stats.peers[0].sessions, 1u);
  EXPECT_EQ(stats.peers[0].sessions_failed, 1u);
  EXPECT_EQ(stats.peers[0].last_error, "");
  EXPECT_GT(stats.peers[0].last_proven_equal_ms, 0u);
  EXPECT_EQ(stats.peers[1].address, "b:2");
}

TEST(StatsBoard, WhoIsNoPeerAnyMoreIsForgottenUnlessConnected) {
  StatsBoard board(7, {"a:1", "b:2", "c:3"}, nullptr);
  auto connection = std::make_shared<int>();
  board.Begin("b:2", 0xb, connection)->Finish(Report(1), rocksdb::Status::OK());
  board.Begin("c:3", 0xc)->Finish(Report(1), rocksdb::Status::OK());
  board.RecordFailure("a:1", rocksdb::Status::IOError("refused"), false,
                      kStays);
  board.SetPeers({"d:4", "c:3", "d:4"});
  const std::vector<PeerStats> peers = board.stats().peers;
  ASSERT_EQ(peers.size(), 3u);
  EXPECT_EQ(peers[0].address, "d:4");
  EXPECT_EQ(peers[1].address, "c:3");
  EXPECT_EQ(peers[1].sessions, 1u) << "it stays";
  EXPECT_EQ(peers[2].address, "b:2");
  EXPECT_TRUE(peers[0].configured);
  EXPECT_FALSE(peers[2].configured);
  connection.reset();
  EXPECT_EQ(board.stats().peers.size(), 2u);
  board.RecordFailure("b:2", rocksdb::Status::IOError("asked for by name"),
                      false, kStays);
  EXPECT_EQ(board.stats().peers.size(), 3u);
  board.SetPeers({"b:2"});
  ASSERT_EQ(board.stats().peers.size(), 1u);
  EXPECT_EQ(board.stats().peers[0].sessions, 1u);
}

TEST(StatsBoard, WhoIsOnTheWayToARemovedPeerDoesNotAddItAgain) {
  StatsBoard board(7, {"a:1", "b:2"}, nullptr);
  std::atomic<bool> removed{false};
  auto link = std::make_shared<int>();
  ASSERT_TRUE(board.RecordMeeting("b:2", 0xb, link, removed));
  removed = true;
  board.SetPeers({"a:1"});
  ASSERT_EQ(board.stats().peers.size(), 2u) << "the link is still there";
  board.Begin("b:2", 0xb, link, Role::kInitiator)
      ->Finish(Report(1), rocksdb::Status::OK());
  link.reset();
  EXPECT_EQ(board.stats().peers.size(), 1u);
  EXPECT_FALSE(board.RecordMeeting("b:2", 0xb, link, removed));
  EXPECT_FALSE(board.RecordFailure("b:2", rocksdb::Status::IOError("refused"),
                                   false, removed));
  EXPECT_EQ(board.stats().peers.size(), 1u);
  EXPECT_EQ(board.stats().sessions_failed, 0u);
  // It comes here itself.
  board.Begin("10.0.0.1:50000", 0xb)->Finish(Report(1), rocksdb::Status::OK());
  EXPECT_EQ(board.stats().peers.size(), 2u);
}

TEST(StatsBoard, TheOldestOfManyOtherAddressesIsForgotten) {
  StatsBoard board(7, {"a:1"}, nullptr);
  const auto fail = [&board](uint64_t i) {
    board.Begin("x:" + std::to_string(i), 0x100 + i)
        ->Finish(Report(1), rocksdb::Status::IOError("cut"));
  };
  for (uint64_t i = 0; i < 64; ++i) fail(i);
  fail(0);
  fail(64);
  const std::vector<PeerStats> peers = board.stats().peers;
  ASSERT_EQ(peers.size(), 1u + 64);
  EXPECT_EQ(peers[0].address, "a:1");
  EXPECT_EQ(peers[1].address, "x:0");
  EXPECT_EQ(peers[2].address, "x:2");
  EXPECT_EQ(peers[64].address, "x:64");
  EXPECT_EQ(board.stats().sessions_failed, 66u);
}

TEST(StatsBoard, WhoIsConnectedIsNotForgotten) {
  StatsBoard board(7, {}, nullptr);
  auto connection = std::make_shared<int>();
  uint64_t others = 0x100;
  const auto fail_at_others = [&](const std::string& prefix) {
    for (int i = 0; i < 100; ++i) {
      board.Begin(prefix + std::to_string(i), others++)
          ->Finish(Report(1), rocksdb::Status::IOError("cut"));
    }
  };
  board.Begin("10.0.0.1:50000", 0xa, connection)
      ->Finish(Report(1), rocksdb::Status::OK());
  fail_at_others("x:");
  ASSERT_EQ(board.stats().peers.size(), 1u + 64);
  EXPECT_EQ(board.stats().peers[0].replica_id, 0xau);
  board.RecordMeeting("a:1", 0xa, {}, kStays);
  fail_at_others("y:");
  ASSERT_EQ(board.stats().peers.size(), 1u + 64);
  EXPECT_EQ(board.stats().peers[0].replica_id, 0xau);
  connection.reset();
  fail_at_others("z:");
  ASSERT_EQ(board.stats().peers.size(), 64u);
  EXPECT_EQ(board.stats().peers[0].address, "z:36");
}

TEST(StatsBoard, AnAddressAtWhichNobodyWasMetIsNoPeer) {
  StatsBoard board(7, {"a:1"}, nullptr);
  const auto down = rocksdb::Status::IOError("refused");
  EXPECT_TRUE(board.RecordFailure("mistyped:1", down, false, kStays));
  EXPECT_TRUE(board.RecordFailure("mistyped:1", down, false, kStays));
  EXPECT_EQ(board.stats().peers.size(), 1u);
  EXPECT_EQ(board.stats().sessions_failed, 2u);
}

TEST(StatsBoard, AReplicaIsNoPeerOfItself) {
  StatsBoard board(7, {"a:1"}, nullptr);
  // By an address of its own, as a member.
  board.RecordRefusal("10.0.0.1:50000", 7, StatsBoard::Standing::kMember,
                      rocksdb::Status::InvalidArgument("leads back"));
  EXPECT_EQ(board.stats().peers.size(), 1u);
  EXPECT_EQ(board.stats().connections_refused, 1u);
  EXPECT_NE(board.stats().last_refusal.find("leads back"), std::string::npos);
}

TEST(StatsBoard, AFailureIsNewsOnlyOnce) {
  StatsBoard board(7, {"a:1"}, nullptr);
  const auto down = rocksdb::Status::IOError("refused");
  EXPECT_TRUE(board.RecordFailure("a:1", down, false, kStays));
  EXPECT_FALSE(board.RecordFailure("a:1", down, false, kStays));
  EXPECT_TRUE(board.RecordFailure("a:1", rocksdb::Status::TimedOut("silent"),
                                  false, kStays));
  EXPECT_EQ(board.stats().peers[0].sessions_failed, 3u);
  EXPECT_EQ(board.stats().sessions_failed, 3u);
  board.Begin("a:1", 0xa)->Finish(Report(0), rocksdb::Status::OK());
  EXPECT_EQ(board.stats().peers[0].last_error, "");
  EXPECT_TRUE(board.RecordFailure("a:1", down, false, kStays));
}

// A session or a stream that begins refutes it; what a session failed of, only
// the end of another one does.
TEST(StatsBoard, AnAttemptThatFailedIsForgottenOnceTheyAreConnected) {
  StatsBoard board(7, {"a:1", "b:2"}, nullptr);
  const auto down = rocksdb::Status::IOError("refused");
  const auto error = [&](size_t peer) {
    return board.stats().peers.at(peer).last_error;
  };
  board.RecordFailure("a:1", down, false, kStays);
  auto session = board.Begin("a:1", 0xa);
  EXPECT_EQ(error(0), "");
  const auto broken = rocksdb::Status::Corruption("a pair");
  session->Finish(Report(1), broken);
  session = board.Begin("a:1", 0xa);
  EXPECT_EQ(error(0), broken.ToString());
  session->Finish(Report(1), rocksdb::Status::OK());
  EXPECT_EQ(error(0), "");
  board.RecordFailure("a:1", down, false, kStays);
  EXPECT_EQ(error(0), down.ToString());
  const auto stream = board.BeginStream("a:1", 0xa);
  EXPECT_EQ(error(0), "");

  // It called in before this side knew that it is the one at b:2.
  board.RecordFailure("b:2", down, false, kStays);
  const auto connection = std::make_shared<int>();
  const auto called = board.Begin("10.0.0.1:50000", 0xb, connection);
  EXPECT_EQ(error(1), down.ToString());
  board.RecordMeeting("b:2", 0xb, {}, kStays);
  EXPECT_EQ(error(1), "");
}

// It may name a peer's id, and changes nothing of that one.
TEST(StatsBoard, AStrangerIsCountedAndChangesNoPeer) {
  StatsBoard board(7, {"a:1"}, nullptr);
  board.Begin("a:1", 0xa)->Finish(Report(1), rocksdb::Status::OK());
  const auto why = rocksdb::Status::InvalidArgument("another\nsecret");
  EXPECT_EQ(board.stats().last_refusal_ms, 0u);
  const uint64_t before_ms = WallClockMs();
  board.RecordRefusedDialer("10.0.0.9:50000", 0xa, why);
  ReplicationStats stats = board.stats();
  EXPECT_EQ(stats.connections_refused, 1u);
  EXPECT_GE(stats.last_refusal_ms, before_ms);
  EXPECT_EQ(stats.last_refusal,
            "replica 000000000000000a at 10.0.0.9:50000: Invalid argument: "
            "another\\x0asecret");
  ASSERT_EQ(stats.peers.size(), 1u);
  EXPECT_EQ(stats.peers[0].last_error, "");
  EXPECT_EQ(stats.sessions_failed, 0u);
  board.RecordRefusedDialer("10.0.0.9:50000", 0, why);
  EXPECT_EQ(board.stats().last_refusal.find("a caller at 10.0.0.9:50000: "),
            0u);
}

// It refuses this side at its address, and is refused when it calls: one peer.
TEST(StatsBoard, APeerThatRefusesIsKnownByItsCertificate) {
  StatsBoard board(7, {"a:1"}, nullptr);
  const auto why = rocksdb::Status::InvalidArgument("removed");
  board.RecordRefusal("10.0.0.1:50000", 0xa, StatsBoard::Standing::kMember,
                      why);
  board.RecordFailure("a:1", why, false, kStays);
  ASSERT_EQ(board.stats().peers.size(), 2u);
  board.RecordIdentity("a:1", 0xa, kStays);
  const ReplicationStats stats = board.stats();
  ASSERT_EQ(stats.peers.size(), 1u);
  EXPECT_EQ(stats.peers[0].address, "a:1");
  EXPECT_EQ(stats.peers[0].replica_id, 0xau);
  EXPECT_EQ(stats.peers[0].last_error, why.ToString());
  EXPECT_EQ(stats.peers[0].sessions_failed, 2u);
  // Asked for by name, and no peer.
  board.RecordFailure("x:9", why, false, kStays);
  board.RecordIdentity("x:9", 0xb, kStays);
  EXPECT_EQ(board.stats().peers.size(), 1u);
}

TEST(StatsBoard, ACopyIsRememberedForAWhile) {
  StatsBoard board(7, {"a:1"}, nullptr);
  const auto now = StreamCounters::Clock::now();
  EXPECT_EQ(board.RecentCopy(), 0u);
  const auto why = rocksdb::Status::InvalidArgument("one of two");
  board.RecordRefusedCopy("a:1", 0xa, Role::kInitiator, why);
  EXPECT_EQ(board.RecentCopy(), 0xau);
  EXPECT_EQ(board.stats().connections_refused, 0u);
  board.RecordRefusedCopy("10.0.0.9:50000", 0xa, Role::kResponder, why);
  EXPECT_EQ(board.stats().connections_refused, 1u);
  EXPECT_EQ(board.stats().last_refusal,
            "replica 000000000000000a at 10.0.0.9:50000: " + why.ToString());
  board.Begin("a:1", 0xa)->Finish(Report(1), rocksdb::Status::OK());
  EXPECT_EQ(board.RecentCopy(now + std::chrono::minutes(9)), 0xau);
  EXPECT_EQ(board.RecentCopy(now + std::chrono::minutes(11)), 0u);
}

TEST(StatsBoard, ACallerThatIsRefusedIsNoPeer) {
  using Standing = StatsBoard::Standing;
  StatsBoard board(7, {"a:1"}, nullptr);
  const auto why = rocksdb::Status::InvalidArgument("families differ");
  board.RecordRefusal("10.0.0.9:50000", 0xbad, Standing::kNoList, why);
  ReplicationStats stats = board.stats();
  EXPECT_EQ(stats.peers.size(), 1u);
  EXPECT_EQ(stats.connections_refused, 1u);
  EXPECT_EQ(stats.last_refusal,
            "replica 0000000000000bad at 10.0.0.9:50000: " + why.ToString());
  EXPECT_EQ(stats.sessions_failed, 0u);
  // One with which there were sessions is one, unless it was removed.
  board.Begin("10.0.0.2:50001", 0xb)->Finish(Report(1), rocksdb::Status::OK());
  board.RecordRefusal("10.0.0.2:50002", 0xb, Standing::kNoList, why);
  stats = board.stats();
  ASSERT_EQ(stats.peers.size(), 2u);
  EXPECT_EQ(stats.peers[1].last_error, why.ToString());
  EXPECT_EQ(stats.connections_refused, 1u);
  EXPECT_EQ(stats.sessions_failed, 1u);
  board.RecordRefusal("10.0.0.2:50003", 0xb, Standing::kNotNamed, why);
  EXPECT_EQ(board.stats().connections_refused, 2u);
  EXPECT_EQ(board.stats().sessions_failed, 1u);
  // A member is one from the beginning.
  board.RecordRefusal("10.0.0.3:50004", 0xc, Standing::kMember, why);
  stats = board.stats();
  ASSERT_EQ(stats.peers.size(), 3u);
  EXPECT_EQ(stats.peers[2].last_error, why.ToString());
}

TEST(StatsBoard, TheApplicationIsToldOfSessionsThatCouldNotBegin) {
  std::vector<SessionProgress> told;
  StatsBoard board(7, {"a:1"}, [&](const SessionProgress& progress) {
    told.push_back(progress);
  });
  board.RecordFailure("a:1", rocksdb::Status::IOError("refused"), false,
                      kStays);
  board.RecordFailure("a:1", rocksdb::Status::IOError("refused"), false,
                      kStays);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[1].peer, "a:1");
  EXPECT_TRUE(told[1].finished);
  EXPECT_FALSE(told[1].proven_equal);
  EXPECT_NE(told[1].error.find("refused"), std::string::npos);
}

TEST(StatsBoard, ProgressIsToldSeldomAndAtTheEnd) {
  int told = 0;
  SessionProgress last;
  StatsBoard board(7, {}, [&](const SessionProgress& progress) {
    ++told;
    last = progress;
  });
  const auto line = board.Begin("a:1", 0xa);
  const auto began = std::chrono::steady_clock::now();
  for (uint64_t i = 1; i <= 1000; ++i) line->Update(Report(i));
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_GE(told, 1);
  EXPECT_LE(told, 1 + took / std::chrono::milliseconds(100));
  line->Finish(Report(1001), rocksdb::Status::Corruption("damaged"));
  EXPECT_TRUE(last.finished);
  EXPECT_EQ(last.pairs_sent, 1001u);
  EXPECT_NE(last.error.find("damaged"), std::string::npos);
}

}  // namespace
}  // namespace rocksync
