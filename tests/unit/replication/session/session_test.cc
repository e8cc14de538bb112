#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replication/session/messages.h"
#include "tests/unit/replication/session/session_fixture.h"

namespace rocksync {
namespace {

TEST_F(SessionTest, TwoEmptyReplicasAreEqual) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  const SessionRunResult result = DriveSession(&a, &b);
  ExpectProven(result);
  EXPECT_EQ(result.initiator.round_trips, 1u);
}

// What the first exchange of a session says, for two replicas that always hold
// the same.
TEST_F(SessionTest, EverySessionAndEverySideHasItsPartInTheMapping) {
  const auto first_payload = [&](const SessionSeed& seed) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    for (int i = 0; i < 500; ++i) {
      a.PutUnversioned(0, absl::StrCat("a", i), "value");
      b.PutUnversioned(0, absl::StrCat("b", i), "value");
    }
    SessionRunOptions options;
    options.initiator.exchange.mode = ExchangeMode::kBloom;
    options.seed = seed;
    std::string payload;
    options.tamper = [&](Role, std::string* message) {
      if (payload.empty() && ((*message)[0] & kTypeMask) ==
                                 static_cast<uint8_t>(MessageType::kPayload)) {
        payload = *message;
      }
    };
    ExpectProven(DriveSession(&a, &b, options));
    EXPECT_FALSE(payload.empty());
    return payload;
  };
  const SessionSeed seed = {
      .dialer_nonce = {1}, .listener_nonce = {2}, .session_number = 3};
  SessionSeed other_session = seed;
  other_session.session_number = 4;
  SessionSeed other_dialer = seed;
  other_dialer.dialer_nonce = {5};
  SessionSeed other_listener = seed;
  other_listener.listener_nonce = {6};
  EXPECT_EQ(first_payload(seed), first_payload(seed));
  EXPECT_NE(first_payload(seed), first_payload(other_session));
  EXPECT_NE(first_payload(seed), first_payload(other_dialer));
  EXPECT_NE(first_payload(seed), first_payload(other_listener));
}

TEST_F(SessionTest, OneFillsTheOther) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  for (int i = 0; i < 1000; ++i) a.Put(0, absl::StrCat("key", i), "value");
  const SessionRunResult result = DriveSession(&a, &b);
  ExpectProven(result);
  ExpectEqual(a, b);
  EXPECT_EQ(result.initiator.pairs_sent, 1000u);
}

// What the first exchange probably hid sizes the first sketch of the retry, so
// that one word each way is enough.
TEST_F(SessionTest, ARetryKnowsWhatIsLeft) {
  uint32_t retries = 0;
  for (uint64_t id = 0; id < 6; ++id) {
    MemoryStorage a = Replica(2 * id + 1);
    MemoryStorage b = Replica(2 * id + 2);
    for (int i = 0; i < 1500; ++i) {
      a.Put(0, absl::StrCat("a", i), "value");
      b.Put(0, absl::StrCat("b", i), "value");
    }
    for (int i = 0; i < 8000; ++i) {
      a.PutUnversioned(0, absl::StrCat("both", i), "value");
      b.PutUnversioned(0, absl::StrCat("both", i), "value");
    }
    const SessionRunResult result = DriveSession(&a, &b);
    ExpectProven(result);
    if (result.initiator.exchanges == 1) continue;
    ++retries;
    // The plan of the second exchange, on the side that planned it.
    const std::string plan = result.initiator.plan + result.responder.plan;
    EXPECT_THAT(plan, testing::ContainsRegex(
                          "; (sketch of ([4-9]|[1-9][0-9])|, sketch d~)"))
        << plan;
  }
  EXPECT_GT(retries, 0u);
}

TEST_F(SessionTest, TheOtherWayRound) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  for (int i = 0; i < 1000; ++i) a.Put(0, absl::StrCat("key", i), "value");
  const SessionRunResult result = DriveSession(&b, &a);
  ExpectProven(result);
  ExpectEqual(a, b);
  EXPECT_EQ(result.responder.pairs_sent, 1000u);
}

TEST_F(SessionTest, OverwritesAndDeletesOnBothSides) {
  for (const ExchangeMode mode :
       {ExchangeMode::kBloom, ExchangeMode::kAdaptive}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    for (int i = 0; i < 1000; ++i) a.Put(i % 2, absl::StrCat("key", i), "old");
    ExpectProven(DriveSession(&a, &b));
    for (int i = 0; i < 100; ++i) a.Put(i % 2, absl::StrCat("key", i), "of a");
    for (int i = 50; i < 150; ++i) b.Put(i % 2, absl::StrCat("key", i), "of b");
    for (int i = 140; i < 170; ++i) a.Delete(i % 2, absl::StrCat("key", i));
    for (int i = 200; i < 220; ++i) b.Delete(i % 2, absl::StrCat("key", i));
    SessionRunOptions options;
    options.initiator.exchange.mode = mode;
    const SessionRunResult result = DriveSession(&a, &b, options);
    ExpectProven(result);
    ExpectEqual(a, b);
    // 50 keys are of a, 90 of b, 50 are deleted; each pair goes one way, once.
    // The adaptive exchange may miss an element, and then a loser travels.
    const uint64_t sent =
        result.initiator.pairs_sent + result.responder.pairs_sent;
    EXPECT_GE(sent, 190u);
    EXPECT_LE(sent, mode == ExchangeMode::kBloom ? 190u : 195u);
    EXPECT_GE(result.initiator.value_bytes, 4u * 140);
    EXPECT_LE(result.initiator.value_bytes, 4u * 145);
    EXPECT_EQ(result.initiator.value_bytes, result.responder.value_bytes);
    // Who gets a loser does not count it.
    EXPECT_NEAR(static_cast<double>(result.initiator.key_bytes),
                static_cast<double>(result.responder.key_bytes),
                mode == ExchangeMode::kBloom ? 0 : 6.0 * (sent - 190));
    EXPECT_EQ(result.initiator.bytes_sent, result.responder.bytes_received);
    EXPECT_EQ(result.initiator.bytes_received, result.responder.bytes_sent);
  }
}

TEST_F(SessionTest, LocalWritesDuringTheSessionDoNotDisturbIt) {
  for (const ExchangeMode mode :
       {ExchangeMode::kBloom, ExchangeMode::kAdaptive}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    for (int i = 0; i < 300; ++i) {
      a.Put(0, absl::StrCat("a", i), "of a");
      b.Put(0, absl::StrCat("b", i), "of b");
    }
    int writes = 0;
    const auto write = [&] {
      ++writes;
      for (MemoryStorage* replica : {&a, &b}) {
        replica->Put(0, absl::StrCat("a", writes % 300), "raced");
        replica->Delete(0, absl::StrCat("b", writes % 300));
        replica->Put(1, absl::StrCat("new", writes), "raced");
      }
    };
    b.SetBeforeApply(write);
    SessionRunOptions options;
    options.initiator.exchange.mode = mode;
    options.between_turns = write;
    const SessionRunResult result = DriveSession(&a, &b, options);
    ExpectProven(result);  // as of the snapshots
    // 600 and what was written before the second snapshot.
    EXPECT_EQ(result.initiator.merged.count, 601u);
    EXPECT_EQ(b.Get(0, "a1"), "raced");
    EXPECT_EQ(a.Get(0, "b1"), std::nullopt);
    ExpectProven(DriveSession(&a, &b));
    b.SetBeforeApply(nullptr);
    ExpectProven(DriveSession(&a, &b));
    ExpectEqual(a, b);
  }
}

// What ids of an exchange have surely hidden another one finds, without a
// summary between them.
class AtOnceTest : public SessionTest {
 protected:
  AtOnceTest() {
    for (int i = 0; i < 20'000; ++i) a_.Put(0, absl::StrCat("key", i), "old");
    ExpectProven(DriveSession(&a_, &b_));
    for (int i = 0; i < 4000; ++i) {
      (i % 2 == 0 ? a_ : b_).Put(0, absl::StrCat("new", i), "new");
    }
    options_.tamper = [this](Role, std::string* message) {
      const auto head = static_cast<uint8_t>((*message)[0]);
      const auto type = static_cast<MessageType>(head & kTypeMask);
      differs_ += type == MessageType::kDiffers;
      summaries_ += type == MessageType::kSummary;
      if (tamper_) tamper_(type, message);
    };
  }

  // What the side says that fails.
  std::string Fails() {
    const SessionRunResult result = DriveSession(&a_, &b_, options_);
    EXPECT_FALSE(result.proven());
    for (const absl::Status& status :
         {result.initiator_status, result.responder_status}) {
      if (!status.ok()) return std::string(status.message());
    }
    return "";
  }

  MemoryStorage a_ = Replica(1);
  MemoryStorage b_ = Replica(2);
  SessionRunOptions options_;
  std::function<void(MessageType, std::string*)> tamper_;
  int differs_ = 0;
  int summaries_ = 0;
};

TEST_F(AtOnceTest, AnotherRoundWithoutASummary) {
  const SessionRunResult result = DriveSession(&a_, &b_, options_);
  ExpectProven(result);
  ExpectEqual(a_, b_);
  EXPECT_EQ(differs_, 2);
  EXPECT_EQ(summaries_, 1);
}

// The count of the second Differs stands for both, and may be off.
TEST_F(AtOnceTest, ACountThatIsOffIsNoHarm) {
  tamper_ = [this](MessageType type, std::string* message) {
    if (type == MessageType::kDiffers && differs_ == 2) (*message)[1] ^= 3;
  };
  ExpectProven(DriveSession(&a_, &b_, options_));
  ExpectEqual(a_, b_);
}

TEST_F(AtOnceTest, NotTwice) {
  tamper_ = [](MessageType type, std::string* message) {
    if (type == MessageType::kSummary) *message = "\x83\x05";
  };
  EXPECT_EQ(Fails(), "Differs: before all was sent");
}

TEST_F(AtOnceTest, NotBeforeOffersAreAnswered) {
  tamper_ = [](MessageType type, std::string* message) {
    if (type == MessageType::kWants) *message = "\x83\x05";
  };
  EXPECT_EQ(Fails(), "Wants: missing: offers went unanswered");
}

}  // namespace
}  // namespace rocksync
