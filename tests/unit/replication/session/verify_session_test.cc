// Sessions that only compare: what they find is what a plain comparison of the
// two storages finds, and they write nothing.

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replication/session/difference.h"
#include "replication/session/messages.h"
#include "replication/session/session.h"
#include "tests/simulation/conversation.h"
#include "tests/simulation/memory_storage.h"
#include "tests/unit/replication/session/session_fixture.h"

namespace rocksync {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class VerifySessionTest : public SessionTest {
 protected:
  // As text: "family/key kind", sorted.
  static std::string Text(const Difference& difference) {
    const char* const kinds[] = {"missing here", "missing there", "version",
                                 "content"};
    return absl::StrCat(difference.family, "/", difference.key, " ",
                        kinds[static_cast<int>(KindOf(difference))]);
  }

  SessionRunResult Verify(MemoryStorage* a, MemoryStorage* b,
                          SessionRunOptions options = {}) {
    found_.clear();
    VerifyTask task;
    task.found = [this](const Difference& difference) {
      found_.push_back(Text(difference));
      return found_.size() < limit_;
    };
    options.verify = &task;
    const uint64_t syncs = a->syncs() + b->syncs();
    const size_t records = a->records().size() + b->records().size();
    SessionRunResult result = DriveSession(a, b, options);
    EXPECT_EQ(a->syncs() + b->syncs(), syncs) << "comparing syncs nothing";
    EXPECT_EQ(a->records().size() + b->records().size(), records);
    EXPECT_TRUE(result.initiator_status.ok()) << result.initiator_status;
    EXPECT_TRUE(result.responder_status.ok()) << result.responder_status;
    EXPECT_TRUE(result.finished);
    EXPECT_FALSE(result.initiator.proven_equal);
    EXPECT_FALSE(result.responder.proven_equal);
    EXPECT_EQ(result.initiator.pairs_sent + result.initiator.pairs_received,
              0u);
    std::sort(found_.begin(), found_.end());
    return result;
  }

  static std::vector<std::string> Truth(const MemoryStorage& a,
                                        const MemoryStorage& b) {
    std::vector<std::string> truth;
    const auto held = [](const MemoryStorage& storage,
                         const MemoryStorage::Key& key) {
      const auto at = storage.records().find(key);
      if (at == storage.records().end()) return Held{};
      return Held{
          at->second.tombstone ? Held::State::kTombstone : Held::State::kLive,
          at->second.version, at->second.hash};
    };
    std::map<MemoryStorage::Key, bool> keys;
    for (const auto& [key, record] : a.records()) keys[key] = true;
    for (const auto& [key, record] : b.records()) keys[key] = true;
    for (const auto& [key, unused] : keys) {
      Difference difference{key.first, key.second, held(a, key), held(b, key)};
      if (!Same(difference.mine, difference.theirs)) {
        truth.push_back(Text(difference));
      }
    }
    std::sort(truth.begin(), truth.end());
    return truth;
  }

  // Writes of all kinds to both, of which a part is shared.
  void Diverge(MemoryStorage* a, MemoryStorage* b, int keys, uint64_t seed) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < keys; ++i) {
      a->Put(static_cast<uint32_t>(i % 2), absl::StrCat("key", i), "value");
    }
    EXPECT_TRUE(DriveSession(a, b).proven());
    for (int i = 0; i < keys / 4; ++i) {
      MemoryStorage* const side = random() % 2 == 0 ? a : b;
      const auto family = static_cast<uint32_t>(random() % 2);
      const std::string key = absl::StrCat("key", random() % (2 * keys));
      if (random() % 3 == 0) {
        side->Delete(family, key);
      } else {
        side->Put(family, key, absl::StrCat("new", i));
      }
    }
  }

  size_t limit_ = 1'000'000;
  std::vector<std::string> found_;
};

TEST_F(VerifySessionTest, EqualReplicasAreComparedByDigest) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  for (int i = 0; i < 1000; ++i) a.Put(0, absl::StrCat("key", i), "value");
  ASSERT_TRUE(DriveSession(&a, &b).proven());
  const SessionRunResult result = Verify(&a, &b);
  EXPECT_TRUE(result.initiator.compared);
  EXPECT_TRUE(result.responder.compared);
  EXPECT_EQ(result.initiator.differences, 0u);
  EXPECT_EQ(result.initiator.round_trips, 1u);
  EXPECT_LE(result.bytes, 25u) << "a hello and a yes";
}

TEST_F(VerifySessionTest, EachKindOfDifference) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  a.Put(0, "same", "x");
  a.Put(0, "newer here", "x");
  a.Put(0, "newer there", "x");
  a.PutUnversioned(1, "content", "one");
  ASSERT_TRUE(DriveSession(&a, &b).proven());
  a.Put(0, "only here", "x");
  b.Put(1, "only there", "x");
  a.Put(0, "newer here", "y");
  b.Delete(0, "newer there");
  b.PutUnversioned(1, "content", "two");
  Verify(&a, &b);
  EXPECT_THAT(found_,
              ElementsAre("0/newer here version", "0/newer there version",
                          "0/only here missing there", "1/content content",
                          "1/only there missing here"));
}

TEST_F(VerifySessionTest, FindsWhatAPlainComparisonFinds) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    Diverge(&a, &b, static_cast<int>(20 * seed), seed);
    SessionRunOptions options;
    options.seed.session_number = seed;
    const SessionRunResult result = Verify(&a, &b, options);
    EXPECT_TRUE(result.initiator.compared);
    EXPECT_EQ(found_, Truth(a, b)) << "seed " << seed;
    EXPECT_EQ(result.initiator.differences, found_.size());
    Verify(&b, &a, options);
    EXPECT_EQ(found_, Truth(b, a)) << "seed " << seed;
  }
}

TEST_F(VerifySessionTest, BatchByBatchAndInSmallTurns) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  Diverge(&a, &b, 4000, 7);
  SessionRunOptions options;
  options.initiator.max_batch_elements = 200;
  options.responder.max_batch_elements = 300;
  options.initiator.max_turn_bytes = 500;
  options.responder.max_turn_bytes = 300;
  const SessionRunResult result = Verify(&a, &b, options);
  EXPECT_TRUE(result.initiator.compared);
  EXPECT_GT(result.initiator.batches, 3u);
  EXPECT_EQ(found_, Truth(a, b));
}

TEST_F(VerifySessionTest, OneSideEmpty) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  for (int i = 0; i < 300; ++i) a.Put(0, absl::StrCat("key", i), "value");
  Verify(&a, &b);
  EXPECT_EQ(found_, Truth(a, b));
  EXPECT_EQ(found_.size(), 300u);
  Verify(&b, &a);
  EXPECT_EQ(found_, Truth(b, a));
  SessionRunOptions options;
  options.initiator.max_batch_elements = 50;
  options.responder.max_batch_elements = 50;
  Verify(&b, &a, options);
  EXPECT_EQ(found_, Truth(b, a));
}

TEST_F(VerifySessionTest, CostsAboutWhatAHealCostsWithoutPairs) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  Diverge(&a, &b, 20000, 5);
  const SessionRunResult verified = Verify(&a, &b);
  const SessionRunResult healed = DriveSession(&a, &b);
  ASSERT_TRUE(healed.proven());
  EXPECT_LE(verified.initiator.filter_bytes,
            healed.initiator.filter_bytes * 5 / 4);
  // A claim has a hash of 16 bytes that an offer lacks, and is answered.
  EXPECT_LE(verified.bytes, healed.bytes + 64 * found_.size());
  EXPECT_LE(verified.initiator.round_trips, healed.initiator.round_trips + 1);
}

TEST_F(VerifySessionTest, EndsWhenEnoughWasSeen) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  for (int i = 0; i < 5000; ++i) a.Put(0, absl::StrCat("key", i), "value");
  limit_ = 10;
  SessionRunOptions options;
  options.initiator.max_turn_bytes = 1000;
  const SessionRunResult result = Verify(&a, &b, options);
  EXPECT_EQ(found_.size(), 10u);
  EXPECT_FALSE(result.initiator.compared);
  EXPECT_LT(result.bytes, 5000u);
}

TEST_F(VerifySessionTest, ASecondLookComparesOnlyItsKeys) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  for (int i = 0; i < 2000; ++i) a.Put(0, absl::StrCat("key", i), "value");
  b.Put(1, "there", "x");
  std::vector<Difference> looked;
  VerifyTask task;
  task.keys = {{0, "key7"}, {1, "there"}, {1, "nowhere"}};
  task.found = [&](Difference difference) {
    looked.push_back(std::move(difference));
    return true;
  };
  SessionRunOptions options;
  options.verify = &task;
  const SessionRunResult result = DriveSession(&a, &b, options);
  EXPECT_TRUE(result.finished);
  EXPECT_TRUE(result.initiator_status.ok()) << result.initiator_status;
  EXPECT_TRUE(result.responder_status.ok()) << result.responder_status;
  EXPECT_TRUE(result.initiator.compared);
  ASSERT_EQ(looked.size(), 3u);
  EXPECT_EQ(KindOf(looked[0]), DifferenceKind::kMissingThere);
  EXPECT_EQ(KindOf(looked[1]), DifferenceKind::kMissingHere);
  EXPECT_TRUE(Same(looked[2].mine, looked[2].theirs));
  EXPECT_EQ(result.initiator.differences, 2u);
  EXPECT_LT(result.bytes, 200u);
}

TEST_F(VerifySessionTest, WritesMeanwhileDoNotDisturb) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  Diverge(&a, &b, 1000, 3);
  const std::vector<std::string> truth = Truth(a, b);
  VerifyTask task;
  std::vector<std::string> found;
  task.found = [&](const Difference& difference) {
    found.push_back(Text(difference));
    return true;
  };
  SessionRunOptions options;
  options.verify = &task;
  int turn = 0;
  options.between_turns = [&] {
    if (++turn == 1) return;  // the responder has no snapshot yet
    a.Put(0, absl::StrCat("key", turn), "meanwhile");
    b.Delete(0, absl::StrCat("key", 100 + turn));
  };
  const SessionRunResult result = DriveSession(&a, &b, options);
  EXPECT_TRUE(result.initiator.compared);
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, truth);
}

TEST_F(VerifySessionTest, NothingIsShippedInIt) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  a.Put(0, "key", "value");
  VerifyTask task;
  task.found = [](const Difference&) { return true; };
  SessionRunOptions options;
  options.verify = &task;
  options.tamper = [](Role, std::string* message) {
    const auto type = static_cast<MessageType>((*message)[0] & kTypeMask);
    if (type != MessageType::kClaims) return;
    (*message)[0] = static_cast<char>((*message)[0] & ~kTypeMask);
    (*message)[0] = static_cast<char>((*message)[0] |
                                      static_cast<char>(MessageType::kPairs));
  };
  const SessionRunResult result = DriveSession(&a, &b, options);
  EXPECT_THAT(std::string(result.responder_status.message()),
              HasSubstr("only compares"));
  EXPECT_TRUE(b.records().empty());
}

TEST_F(VerifySessionTest, AHealIsRefusedWhereOnlyComparingIsAllowed) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  a.Put(0, "key", "value");
  SessionRunOptions options;
  options.verify_only = true;
  const SessionRunResult result = DriveSession(&a, &b, options);
  EXPECT_TRUE(absl::IsInvalidArgument(result.responder_status));
  EXPECT_TRUE(b.records().empty());
  Verify(&a, &b, options);
  EXPECT_THAT(found_, ElementsAre("0/key missing there"));
}

TEST_F(VerifySessionTest, BusyAndUnavailableAsEver) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  SessionRunOptions options;
  options.responder_busy = true;
  EXPECT_TRUE(Verify(&a, &b, options).initiator.busy);
}

TEST_F(VerifySessionTest, MoreClaimsThanElementsAreRefused) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  a.Put(0, "key", "value");
  VerifyTask task;
  task.found = [](const Difference&) { return true; };
  SessionRunOptions options;
  options.verify = &task;
  options.tamper = [](Role, std::string* message) {
    const auto type = static_cast<MessageType>((*message)[0] & kTypeMask);
    if (type == MessageType::kClaims) *message += message->substr(1);
  };
  const SessionRunResult result = DriveSession(&a, &b, options);
  EXPECT_THAT(std::string(result.responder_status.message()),
              HasSubstr("more of them than the peer has elements"));
}

}  // namespace
}  // namespace rocksync
