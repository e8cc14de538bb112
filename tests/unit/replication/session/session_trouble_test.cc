// Sessions: what is held back, lost, or fails.

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "replication/session/messages.h"
#include "replication/text/storage_errors.h"
#include "tests/support/forwarding_view.h"
#include "tests/unit/replication/session/session_fixture.h"

namespace rocksync {
namespace {

class Failing final : public ForwardingView {
 public:
  Failing(StorageView* view, absl::Status status)
      : ForwardingView(view), status_(std::move(status)) {}
  absl::Status Sync() override { return status_; }

 private:
  const absl::Status status_;
};

TEST_F(SessionTest, VersionsFarInTheFutureAreHeldBackAndNeverCalledEqual) {
  for (const bool to_initiator : {false, true}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    MemoryStorage* from = to_initiator ? &b : &a;
    MemoryStorage* to = to_initiator ? &a : &b;
    for (int i = 0; i < 50; ++i) {
      from->Put(0, absl::StrCat(i), "value");
      to->Put(0, absl::StrCat(50 + i), "value");
    }
    wall_ms_ += 100'000;
    from->Put(0, "ahead", "value");
    wall_ms_ -= 100'000;
    const SessionRunResult result = DriveSession(&a, &b);
    EXPECT_TRUE(result.finished);
    EXPECT_FALSE(result.initiator.proven_equal);
    EXPECT_FALSE(result.responder.proven_equal);
    EXPECT_EQ(
        result.initiator.pairs_held_back + result.responder.pairs_held_back,
        1u);
    EXPECT_EQ(to->Get(0, "ahead"), std::nullopt);
    EXPECT_EQ(to->records().size(), 100u);
    wall_ms_ += 100'000;
    ExpectProven(DriveSession(&a, &b));
    ExpectEqual(a, b);
  }
}

TEST_F(SessionTest, InBatchesHeldBackPairsLeaveTheRestAlone) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  for (int i = 0; i < 500; ++i) {
    a.Put(0, absl::StrCat(i), "value");
    b.Put(0, absl::StrCat(500 + i), "value");
  }
  wall_ms_ += 100'000;
  a.Put(0, "ahead", "value");
  b.Put(0, "of b", "value");
  wall_ms_ -= 100'000;
  SessionRunOptions options;
  options.initiator.max_batch_elements = 100;
  options.responder.max_batch_elements = 100;
  const SessionRunResult result = DriveSession(&a, &b, options);
  EXPECT_TRUE(result.finished);
  EXPECT_FALSE(result.initiator.proven_equal);
  EXPECT_TRUE(result.responder.refused);
  EXPECT_EQ(a.records().size(), 1001u);
  EXPECT_EQ(b.records().size(), 1001u);
}

// It was told that "Wants" are missing, as if the peer spoke wrong.
TEST_F(SessionTest, WhoseStorageFailsIsToldAtTheOtherSide) {
  for (const bool initiator_fails : {false, true}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    for (int i = 0; i < 50; ++i) {
      a.Put(0, absl::StrCat("a", i), "value");
      b.Put(0, absl::StrCat("b", i), "value");
    }
    MemoryStorage* const full = initiator_fails ? &a : &b;
    Failing no_space(full, absl::ResourceExhaustedError("no space left"));
    const SessionRunResult result = initiator_fails
                                        ? DriveSession(&no_space, &b)
                                        : DriveSession(&a, &no_space);
    const absl::Status& told =
        initiator_fails ? result.responder_status : result.initiator_status;
    const absl::Status& failed =
        initiator_fails ? result.initiator_status : result.responder_status;
    EXPECT_EQ(failed, absl::ResourceExhaustedError("no space left"));
    EXPECT_EQ(told, absl::AbortedError(
                        "the peer's storage failed: RESOURCE_EXHAUSTED; its "
                        "log and `rocksync status` of it say why"));
  }
}

// Beside the peer's name it read as the peer's fault.
TEST_F(SessionTest, AnErrorSaysThatThisReplicasStorageFailed) {
  const std::pair<absl::Status, absl::Status> cases[] = {
      {absl::InternalError("IO error: While open: Too many open files"),
       absl::InternalError(
           "this replica's storage failed: While open: Too many open files; "
           "remove the cause, and restart this replica if it takes no "
           "writes")},
      {absl::DataLossError("Corruption: block checksum mismatch"),
       absl::DataLossError(
           "this replica's storage failed: block checksum mismatch; restart "
           "this replica, and if that comes back replace it by a new, empty "
           "one, which its peers fill")},
      // No fault of storage.
      {absl::UnavailableError("index build in progress"),
       absl::UnavailableError("index build in progress")},
      {absl::AbortedError("the replicator stops"),
       absl::AbortedError("the replicator stops")},
  };
  for (const auto& [failure, shown] : cases) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    a.Put(0, "of a", "value");
    b.Put(0, "of b", "value");
    Failing failing(&a, failure);
    EXPECT_EQ(DriveSession(&failing, &b).initiator_status, shown);
    Failing other(&b, failure);
    EXPECT_EQ(DriveSession(&a, &other).responder_status, shown);
  }
}

// The peer took the End for the first message of another session, and said
// "End: before the hello".
TEST_F(SessionTest, WhoFailsAsItHearsEqualSaysNothingMore) {
  class NoSync final : public ForwardingView {
   public:
    using ForwardingView::ForwardingView;
    absl::Status Sync() override { return absl::InternalError("IO error: x"); }
  };
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  a.Put(0, "key", "value");
  ExpectProven(DriveSession(&a, &b));
  NoSync broken(&a);
  SessionContext context;
  context.now_ms = [] { return 0; };
  context.storage = &broken;
  const auto initiator = NewSession(Role::kInitiator, {}, {}, context);
  context.storage = &b;
  const auto responder = NewSession(Role::kResponder, {}, {}, context);
  std::string message;
  ASSERT_TRUE(initiator->NextMessage(&message));
  ASSERT_TRUE(responder->Receive(message).ok());
  ASSERT_TRUE(responder->NextMessage(&message));
  EXPECT_EQ(message[0] & kTypeMask, static_cast<int>(MessageType::kEqual));
  EXPECT_TRUE(responder->done());
  EXPECT_FALSE(initiator->Receive(message).ok());
  EXPECT_FALSE(initiator->NextMessage(&message));
  EXPECT_TRUE(initiator->done());
  EXPECT_EQ(initiator->status(),
            absl::InternalError(
                "this replica's storage failed: x; remove the cause, and "
                "restart this replica if it takes no writes"));
}

TEST_F(SessionTest, WhoIsSendingLearnsThatThePeerTakesNoMore) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  for (int i = 0; i < 3; ++i) {
    a.Put(0, absl::StrCat(i), std::string(3 << 20, 'x'));
  }
  absl::Status full = absl::ResourceExhaustedError("/private/b is full");
  full.SetPayload(kNoSpacePayload, absl::Cord());
  b.FailApply(full);
  SessionContext context;
  context.now_ms = [] { return 0; };
  context.storage = &a;
  const auto sender = NewSession(Role::kInitiator, {}, {}, context);
  context.storage = &b;
  const auto receiver = NewSession(Role::kResponder, {}, {}, context);
  Session* speaker = sender.get();
  Session* listener = receiver.get();
  std::string message;
  absl::Status failed;
  while (failed.ok()) {
    ASSERT_FALSE(speaker->done());
    while (failed.ok() && speaker->NextMessage(&message)) {
      failed = listener->Receive(message);
    }
    std::swap(speaker, listener);
  }
  absl::Status own = absl::ResourceExhaustedError(
      "this replica's storage failed: /private/b is full");
  own.SetPayload(kNoSpacePayload, absl::Cord());
  EXPECT_EQ(receiver->status(), own);
  ASSERT_TRUE(sender->NextMessage(&message)) << "it is in its turn";
  ASSERT_TRUE(receiver->NextMessage(&message));
  EXPECT_TRUE(receiver->done());
  EXPECT_TRUE(sender->Receive(message).ok());
  EXPECT_EQ(sender->status(),
            absl::AbortedError("the peer's storage failed: no space is left on "
                               "its disk; make room there"));
  EXPECT_TRUE(sender->done());
  EXPECT_FALSE(sender->NextMessage(&message));
}

TEST_F(SessionTest, ACorruptedValueIsNotOffered) {
  for (const bool initiator_corrupted : {true, false}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    MemoryStorage* corrupted = initiator_corrupted ? &a : &b;
    for (int i = 0; i < 50; ++i) {
      a.Put(0, absl::StrCat("a", i), "value");
      b.Put(0, absl::StrCat("b", i), "value");
    }
    corrupted->Corrupt(0, initiator_corrupted ? "a7" : "b7");
    const SessionRunResult result = DriveSession(&a, &b);
    EXPECT_TRUE(result.finished);
    EXPECT_FALSE(result.initiator.proven_equal ||
                 result.responder.proven_equal);
    EXPECT_TRUE(result.initiator.refused);
    EXPECT_EQ(
        result.initiator.pairs_unreadable + result.responder.pairs_unreadable,
        1u);
    EXPECT_EQ(a.records().size() + b.records().size(), 199u);
  }
}

TEST_F(SessionTest, WhatTravelsIsDurableAtItsSender) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  a.Put(0, "of a", "x");
  b.Delete(0, "of b");
  SessionRunOptions options;
  int offers = 0;
  options.tamper = [&](Role from, std::string* message) {
    const auto type = static_cast<MessageType>((*message)[0] & kTypeMask);
    if (type != MessageType::kOffers && type != MessageType::kPairs) return;
    ++offers;
    const MemoryStorage& sender = from == Role::kInitiator ? a : b;
    EXPECT_EQ(sender.synced_records().count(
                  {0, from == Role::kInitiator ? "of a" : "of b"}),
              1u);
  };
  ExpectProven(DriveSession(&a, &b, options));
  EXPECT_EQ(offers, 2);
}

TEST_F(SessionTest, BusyComesBackLater) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  a.Put(0, "key", "value");
  SessionRunOptions options;
  options.responder_busy = true;
  const SessionRunResult result = DriveSession(&a, &b, options);
  EXPECT_TRUE(result.finished);
  EXPECT_TRUE(result.initiator.busy);
  EXPECT_FALSE(result.initiator.proven_equal);
  EXPECT_TRUE(result.initiator_status.ok());
}

// A version is issued once, so this is damage; both sides must still come to
// the same content, whoever begins and whatever else differs.
TEST_F(SessionTest, OtherContentAtOneVersionIsResolvedByHash) {
  for (const bool bloom : {false, true}) {
    for (const size_t turn_bytes : {size_t{1} << 20, size_t{200}}) {
      MemoryStorage a = Replica(1);
      MemoryStorage b = Replica(2);
      for (int i = 0; i < 300; ++i) a.Put(0, absl::StrCat("key", i), "value");
      ExpectProven(DriveSession(&a, &b));
      for (int i = 0; i < 60; ++i) {
        const std::string key = absl::StrCat("key", i);
        if (i % 3 != 0) a.Forge(0, key, absl::StrCat("a", i));
        if (i % 3 != 1) b.Forge(0, key, absl::StrCat("b", i));
        a.Put(1, absl::StrCat("a", i), "x");
        b.Put(1, absl::StrCat("b", i), "x");
      }
      SessionRunOptions options;
      options.initiator.max_turn_bytes = turn_bytes;
      options.responder.max_turn_bytes = turn_bytes;
      if (bloom) options.initiator.exchange.mode = ExchangeMode::kBloom;
      ExpectProven(DriveSession(&a, &b, options));
      ExpectEqual(a, b);
    }
  }
}

// Each of few pairs is offered, answered by the other side's, and sent after
// all.
TEST_F(SessionTest, FewPairsThatAllDifferAtOneVersion) {
  for (const int pairs : {1, 2, 5}) {
    for (const bool at_initiator : {true, false}) {
      MemoryStorage a = Replica(1);
      MemoryStorage b = Replica(2);
      for (int i = 0; i < pairs; ++i) a.Put(0, absl::StrCat("k", i), "value");
      ExpectProven(DriveSession(&a, &b));
      // Some of the forged ones win, whatever their hashes.
      for (int round = 0; round < 8; ++round) {
        MemoryStorage& forged = at_initiator ? a : b;
        for (int i = 0; i < pairs; ++i) {
          forged.Forge(0, absl::StrCat("k", i), absl::StrCat(round, "-", i));
        }
        ExpectProven(DriveSession(&a, &b));
        ExpectEqual(a, b);
      }
    }
  }
}

// Of a value that takes several turns, the last one says that it may be
// answered.
TEST_F(SessionTest, LargeValuesThatDifferAtOneVersion) {
  for (int seed = 0; seed < 6; ++seed) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    for (int i = 0; i < 30; ++i) a.Put(0, absl::StrCat("k", i), "value");
    ExpectProven(DriveSession(&a, &b));
    a.Forge(0, "k7", absl::StrCat("a", seed, std::string(3 << 20, 'a')));
    b.Forge(0, "k7", absl::StrCat("b", seed, std::string(3 << 20, 'b')));
    ExpectProven(DriveSession(&a, &b));
    ExpectEqual(a, b);
  }
}

TEST_F(SessionTest, AnAdoptionIsNamed) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  a.Put(0, "key", "value");
  b.SetIndexBuild("adopting, 43 %");
  SessionRunResult result = DriveSession(&a, &b);
  EXPECT_TRUE(result.finished);
  EXPECT_EQ(result.initiator_status,
            absl::UnavailableError("the peer cannot compare now: adopting, "
                                   "43 %"));
  EXPECT_TRUE(result.responder_status.ok());
  EXPECT_TRUE(result.initiator.index_build && result.responder.index_build);
  result = DriveSession(&b, &a);
  EXPECT_EQ(result.initiator_status, IndexBuildError("adopting, 43 %"));
  EXPECT_TRUE(result.initiator.index_build);
  EXPECT_TRUE(result.transcript.empty());
}

TEST_F(SessionTest, BothSidesKnowThatAnIndexBuildEndedTheSession) {
  for (const bool initiator_fails : {true, false}) {
    for (const bool builds : {true, false}) {
      MemoryStorage a = Replica(1);
      MemoryStorage b = Replica(2);
      a.Put(0, "of a", "value");
      b.Put(0, "of b", "value");
      Failing failing(initiator_fails ? &a : &b,
                      builds ? IndexBuildError("re-checking, 0 %")
                             : absl::UnavailableError("families changed"));
      const SessionRunResult result = initiator_fails
                                          ? DriveSession(&failing, &b)
                                          : DriveSession(&a, &failing);
      EXPECT_TRUE(absl::IsUnavailable(result.initiator_status));
      EXPECT_TRUE(absl::IsUnavailable(result.responder_status));
      EXPECT_EQ(result.initiator.index_build, builds);
      EXPECT_EQ(result.responder.index_build, builds);
    }
  }
}

TEST_F(SessionTest, AFailedApplyEndsTheSessionAndLosesNothing) {
  for (const bool at_initiator : {true, false}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    for (int i = 0; i < 50; ++i) {
      a.Put(0, absl::StrCat("a", i), "value");
      b.Put(0, absl::StrCat("b", i), "value");
    }
    (at_initiator ? a : b).FailApply(absl::ResourceExhaustedError("disk full"));
    const SessionRunResult result = DriveSession(&a, &b);
    EXPECT_EQ((at_initiator ? result.initiator_status : result.responder_status)
                  .message(),
              "disk full");
    EXPECT_FALSE(result.initiator.proven_equal ||
                 result.responder.proven_equal);
    ExpectProven(DriveSession(&a, &b));
    ExpectEqual(a, b);
  }
}

TEST_F(SessionTest, AnOldSnapshotEndsTheSessionAndTheNextGoesOn) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  for (int i = 0; i < 100'000; ++i) a.Put(0, absl::StrCat(i), "value");
  uint64_t now = 0;
  SessionRunOptions options;
  options.initiator.max_batch_elements = 6000;
  options.responder.max_batch_elements = 6000;
  options.now_ms = [&now] { return now; };
  options.between_turns = [&now] { now += 20'000; };
  int sessions = 0;
  while (true) {
    const SessionRunResult result = DriveSession(&a, &b, options);
    ASSERT_TRUE(result.finished);
    if (result.proven()) break;
    EXPECT_TRUE(result.initiator.expired && result.responder.expired);
    ASSERT_LT(++sessions, 50);
  }
  EXPECT_GT(sessions, 1);
  ExpectEqual(a, b);
}

TEST_F(SessionTest, Cancelled) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  for (int i = 0; i < 300; ++i) a.Put(0, absl::StrCat(i), "value");
  for (int polls = 0;; ++polls) {
    int left = polls;
    SessionRunOptions options;
    options.cancelled = [&left] { return left-- <= 0; };
    const SessionRunResult result = DriveSession(&a, &b, options);
    if (result.proven()) break;
    EXPECT_FALSE(result.initiator_status.ok() && result.responder_status.ok());
    ASSERT_LT(polls, 10'000);
  }
  ExpectEqual(a, b);
}

TEST_F(SessionTest, WhatIsProvenIsSynced) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  for (int i = 0; i < 50; ++i) {
    a.Put(0, absl::StrCat("a", i), "value");
    b.Put(0, absl::StrCat("b", i), "value");
  }
  ExpectProven(DriveSession(&a, &b));
  a.Crash();
  b.Crash();
  EXPECT_EQ(a.records().size(), 100u);
  EXPECT_EQ(b.records().size(), 100u);
}

}  // namespace
}  // namespace rocksync
