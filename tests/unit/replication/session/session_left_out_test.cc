// Sessions of replicas that leave quarantined pairs out of their sets: equal
// digests prove nothing about these, and both sides say so.

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "replication/session/messages.h"
#include "tests/unit/replication/session/session_fixture.h"

namespace rocksync {
namespace {

class LeftOutTest : public SessionTest {
 protected:
  // Its value is not what the entry says, and the replica knows.
  static void Quarantine(MemoryStorage* storage, const std::string& key) {
    storage->Corrupt(0, key);
    ASSERT_EQ(storage->Scrub(), 1u);
  }

  // Whole at once, and batch by batch.
  static SessionRunOptions Options(bool batches) {
    SessionRunOptions options;
    if (batches) {
      options.initiator.max_batch_elements = 3;
      options.responder.max_batch_elements = 3;
    }
    return options;
  }

  static void ExpectNotProven(const SessionRunResult& result,
                              uint64_t initiator, uint64_t responder) {
    EXPECT_TRUE(result.initiator_status.ok()) << result.initiator_status;
    EXPECT_TRUE(result.responder_status.ok()) << result.responder_status;
    EXPECT_TRUE(result.finished);
    for (const SessionReport* report : {&result.initiator, &result.responder}) {
      EXPECT_TRUE(report->digests_equal);
      EXPECT_FALSE(report->proven_equal);
      EXPECT_FALSE(report->refused);
    }
    EXPECT_EQ(result.initiator.merged, result.responder.merged);
    EXPECT_EQ(result.initiator.left_out, initiator);
    EXPECT_EQ(result.initiator.peer_left_out, responder);
    EXPECT_EQ(result.responder.left_out, responder);
    EXPECT_EQ(result.responder.peer_left_out, initiator);
  }
};

TEST_F(LeftOutTest, EqualDigestsAreNoProof) {
  for (const bool a_quarantined : {false, true}) {
    for (const bool b_quarantined : {false, true}) {
      for (const bool batches : {false, true}) {
        for (const int others : {0, 1, 20}) {  // pairs that have to travel
          SCOPED_TRACE(
              absl::StrCat(a_quarantined, b_quarantined, batches, others));
          MemoryStorage a = Replica(1);
          MemoryStorage b = Replica(2);
          for (int i = 0; i < 40; ++i) a.Put(0, absl::StrCat("k", i), "value");
          ExpectProven(DriveSession(&a, &b));
          if (a_quarantined) {
            a.Put(0, "mine", "value");
            Quarantine(&a, "mine");
          }
          if (b_quarantined) {
            b.Put(0, "theirs", "value");
            Quarantine(&b, "theirs");
          }
          for (int i = 0; i < others; ++i) {
            (i % 2 == 0 ? a : b).Put(0, absl::StrCat("o", i), "value");
          }
          const SessionRunResult result =
              DriveSession(&a, &b, Options(batches));
          if (a_quarantined || b_quarantined) {
            ExpectNotProven(result, a_quarantined ? 1 : 0,
                            b_quarantined ? 1 : 0);
          } else {
            ExpectProven(result);
            ExpectEqual(a, b);
          }
          for (int i = 0; i < others; ++i) {
            EXPECT_TRUE(a.Get(0, absl::StrCat("o", i)).has_value());
            EXPECT_TRUE(b.Get(0, absl::StrCat("o", i)).has_value());
          }
        }
      }
    }
  }
}

// Both hold it, with other contents, and neither offers it.
TEST_F(LeftOutTest, OneKeyThatBothQuarantinedIsResolvedAndThenProven) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  a.Put(0, "k", "value");
  a.Put(0, "fine", "value");
  ExpectProven(DriveSession(&a, &b));
  a.Corrupt(0, "k");
  ASSERT_EQ(a.Scrub(), 1u);
  b.Put(0, "k", "other");
  Quarantine(&b, "k");
  ExpectNotProven(DriveSession(&a, &b), 1, 1);
  ExpectNotProven(DriveSession(&b, &a), 1, 1);
  // No peer knows better.
  EXPECT_EQ(a.ResolveQuarantined().size(), 1u);
  EXPECT_EQ(b.ResolveQuarantined().size(), 1u);
  ExpectProven(DriveSession(&b, &a));
  ExpectEqual(a, b);
}

// What the other side holds soundly is repaired by it, and no obstacle then.
TEST_F(LeftOutTest, WhatTheOtherSideHoldsIsRepairedAndProven) {
  for (const bool batches : {false, true}) {
    for (const bool of_initiator : {false, true}) {
      MemoryStorage a = Replica(1);
      MemoryStorage b = Replica(2);
      for (int i = 0; i < 20; ++i) a.Put(0, absl::StrCat("k", i), "value");
      ExpectProven(DriveSession(&a, &b));
      for (const int i : {3, 5}) {
        Quarantine(of_initiator ? &a : &b, absl::StrCat("k", i));
      }
      const SessionRunResult result = DriveSession(&a, &b, Options(batches));
      ExpectProven(result);
      ExpectEqual(a, b);
      EXPECT_EQ(result.initiator.left_out + result.responder.left_out, 0u);
      EXPECT_FALSE(a.HasQuarantined() || b.HasQuarantined());
    }
  }
}

// One of two is repaired, the other is not.
TEST_F(LeftOutTest, OnlyWhatIsRepairedIsCountedIn) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  a.Put(0, "both", "value");
  ExpectProven(DriveSession(&a, &b));
  a.Put(0, "mine alone", "value");
  Quarantine(&a, "mine alone");
  Quarantine(&a, "both");
  ExpectNotProven(DriveSession(&a, &b), 1, 0);
  EXPECT_EQ(a.Get(0, "both"), "value");
}

// A pair is quarantined after the snapshot, and the peer's replaces it: that
// is not the one which the snapshot left out.
TEST_F(LeftOutTest, WhatWasQuarantinedMeanwhileIsNotCountedIn) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  a.Put(0, "later", "value");
  ExpectProven(DriveSession(&a, &b));
  b.Put(0, "later", "newer");
  a.Put(0, "mine alone", "value");
  Quarantine(&a, "mine alone");
  bool marked = false;
  a.SetBeforeApply([&] {
    if (!marked) Quarantine(&a, "later");
    marked = true;
  });
  ExpectNotProven(DriveSession(&a, &b), 1, 0);
  EXPECT_TRUE(marked);
  EXPECT_EQ(a.Get(0, "later"), "newer");
}

TEST_F(LeftOutTest, ComparingAloneSaysSoToo) {
  for (const bool batches : {false, true}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    for (int i = 0; i < 20; ++i) a.Put(0, absl::StrCat("k", i), "value");
    ExpectProven(DriveSession(&a, &b));
    a.Put(0, "mine alone", "value");
    Quarantine(&a, "mine alone");
    Quarantine(&b, "k7");  // and this is a difference
    VerifyTask task;
    std::string found;
    task.found = [&found](const Difference& difference) {
      found += difference.key;
      return true;
    };
    SessionRunOptions options = Options(batches);
    options.verify = &task;
    const SessionRunResult result = DriveSession(&a, &b, options);
    EXPECT_TRUE(result.initiator.compared);
    EXPECT_EQ(found, "k7");
    EXPECT_EQ(result.initiator.left_out, 1u);
    EXPECT_EQ(result.initiator.peer_left_out, 0u);
    EXPECT_EQ(result.responder.left_out, 0u);
    EXPECT_EQ(result.responder.peer_left_out, 1u);
  }
}

// Only what ends a session may say that pairs are left out.
TEST_F(LeftOutTest, OfOneBatchNothingIsSaid) {
  for (const MessageType type : {MessageType::kEqual, MessageType::kSummary}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    // A search does not find them: their leaves hold as many on both sides.
    for (int i = 0; i < 20; ++i) {
      a.Put(0, absl::StrCat("k", i), "of a");
      b.Put(0, absl::StrCat("k", i), "of b");
    }
    SessionRunOptions options = Options(/*batches=*/true);
    bool changed = false;
    options.tamper = [&](Role, std::string* message) {
      const auto head = static_cast<uint8_t>((*message)[0]);
      const bool total = type == MessageType::kSummary && (head & kFlagTotal);
      if (changed || total ||
          static_cast<MessageType>(head & kTypeMask) != type) {
        return;
      }
      message->push_back('\x01');
      changed = true;
    };
    const SessionRunResult result = DriveSession(&a, &b, options);
    EXPECT_TRUE(changed);
    EXPECT_TRUE(absl::IsInvalidArgument(result.initiator_status) ||
                absl::IsInvalidArgument(result.responder_status))
        << result.initiator_status << result.responder_status;
  }
}

}  // namespace
}  // namespace rocksync
