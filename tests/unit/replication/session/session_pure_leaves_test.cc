// Sessions in which a search finds elements by itself, without an exchange.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "replication/session/messages.h"
#include "replication/session/whole_set_round.h"
#include "tests/sanitized.h"
#include "tests/unit/replication/session/session_fixture.h"

namespace rocksync {
namespace {

class FindsTest : public SessionTest {
 protected:
  explicit FindsTest(int pairs = 10'000) {
    for (int i = 0; i < pairs; ++i) a_.Put(0, absl::StrCat("key", i), "old");
    options_.initiator.max_batch_elements = pairs / 4;
    options_.responder.max_batch_elements = pairs / 4;
    ExpectProven(DriveSession(&a_, &b_, options_));
    options_.tamper = [this](Role from, std::string* message) {
      const auto head = static_cast<uint8_t>((*message)[0]);
      const auto type = static_cast<MessageType>(head & kTypeMask);
      finds_ +=
          type == MessageType::kLeafBatch && (head & kFlagPureLeaves) != 0;
      batches_ +=
          type == MessageType::kLeafBatch && (head & kFlagPureLeaves) == 0;
      // Some leaves are unknown, and none is asked for.
      const bool begun = type == MessageType::kLeafBatch &&
                         (head & kFlagPureLeaves) != 0 && message->size() > 1 &&
                         ((*message)[1] & 3) == 1;
      exchanges_ += type == MessageType::kDiffers || begun;
      begun_ += begun;
      failures_ += type == MessageType::kDiffers && (head & kFlagFailed) != 0;
      locates_ += type == MessageType::kLocate;
      summaries_ += type == MessageType::kSummary;
      if (tamper_) tamper_(from, type, message);
    };
  }

  // `count` new pairs of a, of b, and changed on a.
  void Change(int of_a, int of_b, int changed) {
    for (int i = 0; i < of_a; ++i) a_.Put(0, absl::StrCat("a", i), "new");
    for (int i = 0; i < of_b; ++i) b_.Put(1, absl::StrCat("b", i), "new");
    for (int i = 0; i < changed; ++i) {
      a_.Put(0, absl::StrCat("key", i), "changed");
    }
  }

  void ExpectEqualAfterSession() {
    const SessionRunResult result = DriveSession(&a_, &b_, options_);
    ExpectProven(result);
    ExpectEqual(a_, b_);
    EXPECT_EQ(result.initiator.pairs_unreadable, 0u);
    EXPECT_EQ(result.responder.pairs_unreadable, 0u);
  }

  // The session fails at the side that receives what `change` makes of the
  // first LeafBatch; its message.
  std::string Refused(std::function<void(std::string*)> change) {
    tamper_ = [change](Role, MessageType type, std::string* message) {
      if (type == MessageType::kLeafBatch) change(message);
    };
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
  std::function<void(Role, MessageType, std::string*)> tamper_;
  int finds_ = 0;
  int batches_ = 0;
  int exchanges_ = 0;
  int begun_ = 0;
  int failures_ = 0;
  int locates_ = 0;
  int summaries_ = 0;
};

TEST_F(FindsTest, PairsThatAreNewOnEitherSideNeedNoExchange) {
  Change(3, 0, 0);
  ExpectEqualAfterSession();
  Change(0, 3, 0);
  ExpectEqualAfterSession();
  EXPECT_EQ(finds_, 2);
  EXPECT_EQ(exchanges_, 0);
  EXPECT_EQ(batches_, 0);
}

TEST_F(FindsTest, AnExchangeTellsOfChangedPairs) {
  Change(20, 20, 20);
  ExpectEqualAfterSession();
  EXPECT_EQ(finds_, 1);
  EXPECT_EQ(exchanges_, 1);
  EXPECT_EQ(batches_, 0);
  EXPECT_EQ(locates_, 1);
}

// So many pairs that leaves have others beside those that are overwritten.
class OverwrittenTest : public FindsTest {
 protected:
  OverwrittenTest() : FindsTest(60'000) {}
};

// Most of them by parities of keys, and the rest by another search.
TEST_F(OverwrittenTest, ManyOverwrittenPairsAreFoundByTheirKeys) {
  for (const bool compared : {false, true}) {
    Change(0, 0, 1500);
    VerifyTask task;
    int found = 0;
    task.found = [&found](const Difference&) { return ++found > 0; };
    if (compared) options_.verify = &task;
    const SessionRunResult result = DriveSession(&a_, &b_, options_);
    const std::string plans = result.initiator.plan + result.responder.plan;
    EXPECT_NE(plans.find("parities of keys decoded"), std::string::npos)
        << plans;
    if (compared) {
      EXPECT_TRUE(result.initiator.compared);
      EXPECT_EQ(found, 1500);
    } else {
      ExpectProven(result);
      ExpectEqual(a_, b_);
    }
  }
}

// A pair overwritten on both sides is one key; whichever side decodes, the
// later version wins.
TEST_F(OverwrittenTest, PairsOverwrittenOnBothSides) {
  Change(0, 0, 1200);
  for (int i = 0; i < 1200; i += 2) {
    b_.Put(0, absl::StrCat("key", i), "changed here, too");
  }
  const SessionRunResult result = DriveSession(&a_, &b_, options_);
  const std::string plans = result.initiator.plan + result.responder.plan;
  EXPECT_NE(plans.find("parities of keys decoded"), std::string::npos) << plans;
  ExpectProven(result);
  ExpectEqual(a_, b_);
  EXPECT_EQ(*a_.records().at({0, "key0"}).value, "changed here, too");
}

// Deleted keys are keys with another element, too.
TEST_F(OverwrittenTest, ManyDeletedPairsAreFoundByTheirKeys) {
  for (int i = 0; i < 1500; ++i) a_.Delete(0, absl::StrCat("key", i));
  const SessionRunResult result = DriveSession(&a_, &b_, options_);
  const std::string plans = result.initiator.plan + result.responder.plan;
  EXPECT_NE(plans.find("parities of keys decoded"), std::string::npos) << plans;
  ExpectProven(result);
  ExpectEqual(a_, b_);
}

// So many overwritten pairs that all is read, in batches. What a batch tells of
// the next one counts each pair once, whichever side has offered it.
TEST_F(OverwrittenTest, BatchesOfAllLeavesTellWhatToExpect) {
  constexpr int kPairs = 140'000;
  constexpr int kChanged = 6000;
  for (const bool on_a : {true, false}) {
    if (kSanitized && !on_a) break;  // it takes long there
    MemoryStorage a = Replica(4);
    MemoryStorage b = Replica(5);
    for (int i = 0; i < kPairs; ++i) {
      a.Put(0, absl::StrCat("pair", i), "old");
    }
    SessionRunOptions options;
    options.initiator.max_batch_elements = kPairs / 5;
    options.responder.max_batch_elements = kPairs / 5;
    ExpectProven(DriveSession(&a, &b, options));
    MemoryStorage& changed = on_a ? a : b;
    for (int i = 0; i < kChanged; ++i) {
      changed.Put(0, absl::StrCat("pair", 20 * i), "new");
    }
    int batches = 0;
    options.tamper = [&batches](Role, std::string* message) {
      const auto head = static_cast<uint8_t>((*message)[0]);
      if (static_cast<MessageType>(head & kTypeMask) !=
          MessageType::kLeafBatch) {
        return;
      }
      LeafBatchHead batch;
      ASSERT_TRUE(
          DecodeLeafBatch(std::string_view(*message).substr(1), &batch).ok());
      const double share =
          static_cast<double>(batch.leaves.size()) / kLeafCount;
      // The first one goes by an estimate.
      if (++batches > 1) {
        EXPECT_NEAR(static_cast<double>(batch.expected), share * 2 * kChanged,
                    0.2 * share * 2 * kChanged);
        EXPECT_NEAR(static_cast<double>(batch.overwritten),
                    static_cast<double>(batch.expected) / 2, 1);
      }
    };
    const SessionRunResult result = DriveSession(&a, &b, options);
    const std::string plans = result.initiator.plan + result.responder.plan;
    EXPECT_NE(plans.find("leaves: all, overwritten"), std::string::npos)
        << plans;
    EXPECT_GT(batches, 2);
    ExpectProven(result);
    ExpectEqual(a, b);
  }
}

// In most leaves: the peer tells how many keys there are, this side knows that
// each is two elements.
TEST_F(OverwrittenTest, ManyAreExpectedAsSuch) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer sees nothing more in it";
  constexpr int kPairs = 200'000;
  constexpr int kChanged = 70'000;
  MemoryStorage a = Replica(4);
  MemoryStorage b = Replica(5);
  for (int i = 0; i < kPairs; ++i) {
    a.PutUnversioned(0, absl::StrCat("pair", i), "old");
    b.PutUnversioned(0, absl::StrCat("pair", i), "old");
  }
  for (int i = 0; i < kChanged; ++i) a.Put(0, absl::StrCat("pair", i), "new");
  const SessionRunResult result = DriveSession(&a, &b, {});
  ExpectProven(result);
  ExpectEqual(a, b);
  const std::string plans = result.initiator.plan + result.responder.plan;
  // The first exchange expects the most.
  double expected = 0;
  for (size_t at = 0; (at = plans.find("expected ", at)) != std::string::npos;
       at += 9) {
    expected = std::max(expected, std::stod(plans.substr(at + 9)));
  }
  EXPECT_NEAR(expected, 2.0 * kChanged, 0.4 * kChanged) << plans;
  EXPECT_NE(plans.find(", keys "), std::string::npos) << plans;
}

// Ever more differences share a leaf, or look alike.
TEST_F(FindsTest, ManyDifferences) {
  for (const int count : {100, 300, 1000, 3000}) {
    MemoryStorage c = Replica(3);
    for (int i = 0; i < count; ++i) {
      c.Put(0, absl::StrCat("c", count, ".", i), "of c");
      a_.Put(1, absl::StrCat("c", count, ".", i), "of a");
      b_.Put(0, absl::StrCat("key", i), absl::StrCat(count));
    }
    ExpectProven(DriveSession(&b_, &c, options_));
    ExpectEqualAfterSession();
  }
}

// Elements that were asked for and not found take part in the exchange: one
// search is enough.
TEST_F(FindsTest, WhatIsNotFoundIsExchanged) {
  bool failed = false;
  tamper_ = [&failed](Role, MessageType type, std::string* message) {
    const auto head = static_cast<uint8_t>((*message)[0]);
    if (type != MessageType::kLeafBatch || (head & kFlagPureLeaves) == 0 ||
        failed) {
      return;
    }
    // The last sum becomes one that no element has.
    (*message)[message->size() - 2] =
        static_cast<char>((*message)[message->size() - 2] ^ 0x55);
    failed = true;
  };
  Change(0, 8, 8);
  ExpectEqualAfterSession();
  EXPECT_TRUE(failed);
  EXPECT_EQ(finds_, 1);
  EXPECT_EQ(failures_, 1);
  EXPECT_EQ(locates_, 1);
}

TEST_F(FindsTest, OnlyCompared) {
  Change(2, 1, 1);
  VerifyTask task;
  int found = 0;
  task.found = [&found](const Difference&) { return ++found > 0; };
  options_.verify = &task;
  const SessionRunResult result = DriveSession(&a_, &b_, options_);
  EXPECT_TRUE(result.initiator.compared);
  EXPECT_EQ(found, 4);
  EXPECT_GE(finds_, 1);
}

// The lookups of an element that differs otherwise are in vain, and what is
// left is searched for again.
TEST_F(FindsTest, WhatIsFoundWronglyIsNoHarm) {
  Change(2, 2, 0);
  bool changed = false;
  tamper_ = [&changed](Role, MessageType type, std::string* message) {
    if (type != MessageType::kLeafBatch || changed) return;
    message->back() = static_cast<char>(message->back() ^ 0x01);
    changed = true;
  };
  ExpectEqualAfterSession();
  EXPECT_TRUE(changed);
  EXPECT_EQ(locates_, 2);
  EXPECT_EQ(finds_, 2);
  EXPECT_EQ(batches_, 0);
}

// What a side refuses is found by each search; in the end the leaf is worked
// off, which ends the session.
TEST_F(FindsTest, WhatIsRefusedIsNotSearchedForForever) {
  Change(3, 3, 0);
  a_.Put(0, "large", std::string(1000, 'x'));
  options_.responder.max_value_bytes = 100;
  const SessionRunResult result = DriveSession(&a_, &b_, options_);
  EXPECT_TRUE(result.finished);
  EXPECT_TRUE(result.initiator.refused && result.responder.refused);
  EXPECT_EQ(finds_, static_cast<int>(kMaxPureLeafSearches));
  EXPECT_EQ(batches_, 1);
  EXPECT_EQ(a_.records().size(), b_.records().size() + 1);
}

// Parities of keys leave some: a side that expects so searches again at once,
// and does not summarise before.
TEST_F(OverwrittenTest, WhatIsLeftIsSearchedForAtOnce) {
  Change(0, 0, 1500);
  ExpectEqualAfterSession();
  EXPECT_EQ(locates_, 2);
  EXPECT_EQ(finds_, 2);
  EXPECT_EQ(exchanges_, 2);
  EXPECT_EQ(batches_, 0);
  EXPECT_EQ(summaries_, 1);
}

// Three new pairs in a leaf can look like one, and ids of an exchange hide a
// pair now and then. What the second search leaves to an exchange is merged
// with what the first one has changed.
TEST_F(OverwrittenTest, ASecondSearchGoesByWhatTheFirstHasChanged) {
  Change(3000, 3000, 3000);
  ExpectEqualAfterSession();
  EXPECT_EQ(locates_, 2);
  EXPECT_EQ(finds_, 2);
  EXPECT_EQ(exchanges_, 2);
  EXPECT_EQ(batches_, 0);
}

// The same where nothing was expected to be left, and so a summary told of it:
// the leaf was not compared by the first exchange.
TEST_F(OverwrittenTest, WhatWasTakenForOneElementIsExchanged) {
  Change(3139, 3139, 0);
  ExpectEqualAfterSession();
  EXPECT_EQ(locates_, 2);
  EXPECT_EQ(summaries_, 2);
  EXPECT_EQ(begun_, 1);
}

// Where the first search leaves some, more differs there than it looks like:
// the second one asks for nothing, and opens its exchange at once.
TEST_F(OverwrittenTest, ASecondSearchAsksForNothing) {
  Change(8000, 8000, 0);
  ExpectEqualAfterSession();
  EXPECT_EQ(locates_, 2);
  EXPECT_EQ(finds_, 2);
  EXPECT_EQ(begun_, 1);
  EXPECT_EQ(summaries_, 1);
}

// A side with less memory than the other answers by leaves that it can hold.
TEST_F(FindsTest, TooManyForOneSide) {
  options_.responder.max_batch_elements = 8;
  Change(5, 5, 100);
  ExpectEqualAfterSession();
  EXPECT_GE(finds_, 1);
  EXPECT_GT(batches_, 1);
}

// Where nothing is asked for, the side that proposes begins the exchange; a
// side for which it is too much takes none of it, whichever of the two that is.
TEST_F(FindsTest, TooManyForOneSideOfAnExchangeThatHasBegun) {
  for (const bool responder : {true, false}) {
    (responder ? options_.responder : options_.initiator).max_batch_elements =
        8;
    begun_ = batches_ = 0;
    Change(0, 0, 100);
    ExpectEqualAfterSession();
    if (responder) {
      EXPECT_GE(begun_, 1);
    }
    EXPECT_GT(batches_, 1);
    for (int i = 0; i < 100; ++i) a_.Put(0, absl::StrCat("key", i), "again");
    options_.initiator.max_batch_elements = 2500;
    options_.responder.max_batch_elements = 2500;
    begun_ = batches_ = 0;
    ExpectEqualAfterSession();
    EXPECT_GE(begun_, 1);
    EXPECT_EQ(batches_, 0);
  }
}

// The exchange that one side takes no part in has a number, or later ones would
// have two seeds, and take all elements for different.
TEST_F(FindsTest, AnExchangeThatIsNotTakenHasANumber) {
  std::vector<std::string> keys[2];
  for (int i = 0; keys[0].size() < 7 || keys[1].size() < 7; ++i) {
    const std::string key = absl::StrCat("of a leaf", i);
    const uint32_t leaf = LeafOf(a_.PositionOf(0, key));
    if (leaf < 2 && keys[leaf].size() < 7) keys[leaf].push_back(key);
  }
  for (const auto& leaf : keys) {
    for (const std::string& key : leaf) a_.Put(0, key, "old");
  }
  ExpectEqualAfterSession();
  options_.responder.max_batch_elements = 8;
  finds_ = begun_ = batches_ = 0;
  for (const auto& leaf : keys) a_.Put(0, leaf[0], "new");
  const SessionRunResult result = DriveSession(&a_, &b_, options_);
  ExpectProven(result);
  ExpectEqual(a_, b_);
  EXPECT_EQ(begun_, 1);
  EXPECT_EQ(batches_, 2);
  EXPECT_LE(result.initiator.pairs_to_send + result.responder.pairs_to_send,
            4u);
}

TEST_F(FindsTest, LeavesAreRefusedThatCannotBe) {
  Change(1, 1, 1);
  EXPECT_EQ(Refused([](std::string* m) { m->push_back('\x01'); }),
            "LeafBatch: more than leaves and sums");
  EXPECT_EQ(Refused([](std::string* m) { m->pop_back(); }),
            "LeafBatch: truncated sums");
  EXPECT_EQ(Refused([](std::string* m) { m->resize(3); }),
            "LeafBatch: no leaves");
  EXPECT_EQ(Refused([](std::string* m) { m->resize(4); }),
            "LeafBatch: no leaves");
  EXPECT_EQ(Refused([](std::string* m) { m->resize(5); }),
            "LeafBatch: not as many leaves as it says");
}

// Not before leaves were searched for, and not a second time.
TEST_F(FindsTest, OnlyAfterTheFirstSearch) {
  Change(0, 0, 2);
  tamper_ = [](Role, MessageType type, std::string* message) {
    if (type == MessageType::kLocate) *message = std::string("\xa5", 1);
  };
  const SessionRunResult result = DriveSession(&a_, &b_, options_);
  EXPECT_TRUE(absl::IsInvalidArgument(result.initiator_status))
      << result.initiator_status;
}

}  // namespace
}  // namespace rocksync
