// Sessions over sets that are far larger than a batch, of which so much differs
// that finer leaves are searched.

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "replication/session/messages.h"
#include "tests/unit/replication/session/session_fixture.h"

namespace rocksync {
namespace {

class FinerTest : public SessionTest {
 protected:
  static constexpr int kPairs = 20'000;
  static constexpr int kLeafBits = 12;

  FinerTest() {
    for (int i = 0; i < kPairs; ++i) a_.Put(0, absl::StrCat("key", i), "old");
    ExpectProven(DriveSession(&a_, &b_));
    options_.initiator.max_batch_elements = kPairs / 2 + 1000;
    options_.responder = options_.initiator;
    options_.initiator.eager_parities = true;
    options_.responder.eager_parities = true;
    options_.tamper = [this](Role from, std::string* message) {
      Count(from, message);
    };
  }

  MemoryStorage Replica(uint64_t id) {
    MemoryStorage::Options options;
    options.replica_id = id;
    options.families = {"default", "other"};
    options.leaf_bits = kLeafBits;
    options.wall_ms = [this] { return ++wall_ms_; };
    return MemoryStorage(&hasher_, options);
  }

  void Change(int on_a, int on_b, int on_both) {
    for (int i = 0; i < on_a; ++i) a_.Put(1, absl::StrCat("a", i), "new");
    for (int i = 0; i < on_b; ++i) b_.Put(1, absl::StrCat("b", i), "new");
    for (int i = 0; i < on_both; ++i) b_.Put(0, absl::StrCat("key", i), "new");
  }

  void Count(Role from, std::string* message) {
    const auto head = static_cast<uint8_t>((*message)[0]);
    const auto type = static_cast<MessageType>(head & kTypeMask);
    const bool batch = type == MessageType::kLeafBatch;
    const bool pure = batch && (head & kFlagPureLeaves) != 0;
    if (asked_ && from != asking_) refused_ += batch && !pure ? 1 : 0;
    if (from != asking_) asked_ = false;
    if (type == MessageType::kLocate && (head & kFlagFiner) == kFlagFiner) {
      ++finer_;
      asked_ = true;
      asking_ = from;
      if (bits_ != 0) message->back() = bits_;
    }
    pure_ += pure ? 1 : 0;
    batches_ += batch && !pure ? 1 : 0;
  }

  void ExpectEqualAfterSession() {
    const SessionRunResult result = DriveSession(&a_, &b_, options_);
    ExpectProven(result);
    ExpectEqual(a_, b_);
  }

  MemoryStorage a_ = Replica(1);
  MemoryStorage b_ = Replica(2);
  SessionRunOptions options_;
  char bits_ = 0;       // replaces what a Locate says, if not 0
  bool asked_ = false;  // for finer leaves, by `asking_`, in its latest turn
  Role asking_ = Role::kInitiator;
  int refused_ = 0;
  int finer_ = 0;
  int pure_ = 0;
  int batches_ = 0;
};

TEST_F(FinerTest, TakeOneRoundInsteadOfBatches) {
  Change(900, 900, 0);
  ExpectEqualAfterSession();
  EXPECT_EQ(finer_, 1);
  EXPECT_GE(pure_, 1);
  EXPECT_EQ(batches_, 0);
}

TEST_F(FinerTest, FindChangesOfAllKinds) {
  Change(900, 850, 200);
  ExpectEqualAfterSession();
  EXPECT_EQ(finer_, 1);
}

// So much differs that parities do not tell the leaves: batches follow.
TEST_F(FinerTest, GiveWayToBatchesWhereTooMuchDiffers) {
  Change(6000, 6000, 3000);
  ExpectEqualAfterSession();
  EXPECT_GE(batches_, 1);
}

// The exchange over the leaves that symbols do not tell is too large for one
// side, which says so by a batch of coarse leaves.
TEST_F(FinerTest, GiveWayToBatchesOfASideWithLessMemory) {
  options_.responder.max_batch_elements = 4200;
  Change(900, 900, 0);
  ExpectEqualAfterSession();
  EXPECT_GE(finer_, 1);
}

// What follows is as if nothing had been asked for: exchanges go on with the
// same seeds on both sides.
TEST_F(FinerTest, AreRefusedByASideThatCannotHoldThem) {
  for (const bool initiator : {true, false}) {
    batches_ = 0;
    const int refused = refused_;
    SessionOptions& less = initiator ? options_.initiator : options_.responder;
    SessionOptions& more = initiator ? options_.responder : options_.initiator;
    more.max_batch_elements = kPairs / 2 + 1000;
    less.max_batch_elements = 900;
    for (int i = 0; i < 900; ++i) {
      a_.Put(1, absl::StrCat("a", initiator, i), "new");
      b_.Put(1, absl::StrCat("b", initiator, i), "new");
    }
    const SessionRunResult result = DriveSession(&a_, &b_, options_);
    ExpectProven(result);
    ExpectEqual(a_, b_);
    if (refused_ == refused) continue;  // the side with less memory has asked
    EXPECT_GE(batches_, 10) << initiator;
    // Under different seeds nearly every element would seem to be missing.
    EXPECT_LE(result.initiator.pairs_to_send, 1000u);
  }
  EXPECT_GE(refused_, 1);
}

TEST_F(FinerTest, OfASizeThatCannotBeAreRefused) {
  Change(900, 900, 0);
  for (const int bits : {1, kLeafBits, 23, 127}) {
    bits_ = static_cast<char>(bits);
    const SessionRunResult result = DriveSession(&a_, &b_, options_);
    EXPECT_FALSE(result.proven());
    const std::string said = absl::StrCat(result.initiator_status.message(),
                                          result.responder_status.message());
    EXPECT_NE(said.find("finer leaves of a wrong size"), std::string::npos)
        << said;
  }
}

}  // namespace
}  // namespace rocksync
