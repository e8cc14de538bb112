#include "replication/membership/setup.h"

#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "replication/session/messages.h"

namespace rocksync {
namespace {

using testing::HasSubstr;

std::string Hex(std::string_view bytes) {
  return absl::BytesToHexString({bytes.data(), bytes.size()});
}

SetupFacts Facts(uint64_t id) {
  SetupFacts facts;
  facts.cluster = "orders";
  facts.replica_id = id;
  facts.incarnation = {.counter = 3, .random = id * 17};
  facts.past.since = 2;
  facts.nonce.fill(static_cast<uint8_t>(id));
  facts.families = {{"default", "leveldb.BytewiseComparator"},
                    {"users", "leveldb.BytewiseComparator"}};
  return facts;
}

class SetupTest : public testing::Test {
 protected:
  // Runs the set-up of dialer 1 and listener 2 to its end.
  void Meet() {
    dialer_.emplace(Role::kInitiator, dialer_facts_, dialer_secret_,
                    dialer_policy_);
    listener_.emplace(Role::kResponder, listener_facts_, listener_secret_,
                      listener_policy_);
    rocksync::Setup* from = &*dialer_;
    rocksync::Setup* to = &*listener_;
    bool spoke = true;
    while (spoke) {
      spoke = false;
      std::string message;
      while (from->NextMessage(&message)) {
        spoke = true;
        if (tamper_) tamper_(&message);
        sent_.push_back(message);
        if (to->done()) continue;
        to->Receive(message).IgnoreError();
      }
      std::swap(from, to);
    }
    EXPECT_TRUE(dialer_->done());
    EXPECT_TRUE(listener_->done());
  }

  // Both ends know it, in these words.
  void ExpectRefused(std::string_view why) {
    Meet();
    for (const rocksync::Setup* side : {&*dialer_, &*listener_}) {
      EXPECT_EQ(side->status().code(), absl::StatusCode::kFailedPrecondition);
      EXPECT_THAT(std::string(side->status().message()),
                  HasSubstr(std::string(why)));
    }
  }

  SetupFacts dialer_facts_ = Facts(1);
  SetupFacts listener_facts_ = Facts(2);
  ClusterSecret dialer_secret_ = {1, 2, 3};
  ClusterSecret listener_secret_ = {1, 2, 3};
  SetupPolicy dialer_policy_;
  SetupPolicy listener_policy_;
  std::function<void(std::string*)> tamper_;
  std::optional<rocksync::Setup> dialer_;
  std::optional<rocksync::Setup> listener_;
  std::vector<std::string> sent_;
};

TEST_F(SetupTest, TwoReplicasMeet) {
  Meet();
  ASSERT_TRUE(dialer_->status().ok()) << dialer_->status();
  ASSERT_TRUE(listener_->status().ok()) << listener_->status();
  EXPECT_EQ(dialer_->peer().replica_id, 2u);
  EXPECT_EQ(listener_->peer().replica_id, 1u);
  EXPECT_EQ(listener_->peer().families, dialer_facts_.families);
  EXPECT_EQ(dialer_->seed().dialer_nonce, dialer_facts_.nonce);
  EXPECT_EQ(dialer_->seed().listener_nonce, listener_facts_.nonce);
  EXPECT_EQ(listener_->seed().dialer_nonce, dialer_facts_.nonce);
  EXPECT_EQ(listener_->seed().listener_nonce, listener_facts_.nonce);
  EXPECT_EQ(sent_.size(), 4u);
}

TEST_F(SetupTest, LiteralBytes) {
  dialer_facts_.first_clock = 0x0303;
  dialer_facts_.clock = 0x0304;
  ASSERT_TRUE(dialer_facts_.gc.SetMembers(300, {1, 2}, 1).ok());
  dialer_facts_.gc.stable_time = 0x0102;
  dialer_facts_.gc.purged = 0x0103;
  dialer_facts_.past = {.since = 1, .incarnations = {{{2, 0x22}, 0x0302}}};
  dialer_facts_.families.pop_back();
  listener_facts_.gc = dialer_facts_.gc;
  listener_facts_.families.pop_back();
  Meet();
  EXPECT_EQ(Hex(sent_[0]),
            "10"                                // Setup
            "726f636b73796e63"                  // "rocksync"
            "0606"                              // versions 6 to 6
            "066f7264657273"                    // "orders"
            "0000000000000001"                  // replica id
            "030000000000000011"                // incarnation
            "0000000000000303"                  // first clock
            "0000000000000304"                  // clock
            "ac02"                              // epoch 300
            "0000000000000102"                  // stable time
            "0000000000000103"                  // purged
            "00"                                // capabilities
            "01010101010101010101010101010101"  // nonce
            "01"                                // one family
            "0764656661756c74"                  // "default"
            "1a6c6576656c64622e4279746577697365436f6d70617261746f72"
            // tombstone garbage collection, 90 bytes
            "5a"
            "00"                // flags
            "ac02"              // epoch 300
            "0000000000000102"  // stable time
            "00"                // reached in no epoch
            "0000000000000103"  // purged
            "0000000000000000"  // no stable time reached
            "00"                // in no epoch
            "0000000000000000"  // nothing acknowledged
            "02"                // members: id, since, holds, acknowledged
            "0000000000000001ac0200000000000000000000000000000000"
            "0000000000000002ac0200000000000000000000000000000000"
            // past incarnations after the first: one
            "0101"
            "0200000000000000220000000000000302");
  EXPECT_EQ(sent_[2].size(), 17u);
  EXPECT_EQ(sent_[2][0], 0x11);
  EXPECT_EQ(sent_[3].size(), 17u);
  EXPECT_NE(sent_[2], sent_[3]);
}

// RFC 4231, test case 1 and 2, with keys padded to 32 bytes: HMAC pads keys
// with zeros anyway.
TEST(HmacTest, KnownAnswers) {
  ClusterSecret key = {};
  std::fill_n(key.begin(), 20, uint8_t{0x0b});
  EXPECT_EQ(Hex(Hmac128(key, "Hi There")), "b0344c61d8db38535ca8afceaf0bf12b");
  key = {'J', 'e', 'f', 'e'};
  EXPECT_EQ(Hex(Hmac128(key, "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c7");
}

TEST_F(SetupTest, AnotherCluster) {
  listener_facts_.cluster = "billing";
  ExpectRefused("cluster \"orders\" met cluster \"billing\"");
}

// A terminal would obey it, and a log could not be read.
TEST_F(SetupTest, WhatAPeerNamesIsTold) {
  listener_facts_.cluster = "b\xff\x1b[2J";
  ExpectRefused(R"(met cluster "b\xff\x1b[2J")");
  listener_facts_ = Facts(2);
  listener_facts_.families[1].name = "us\xc2\x9b";
  ExpectRefused(R"(0000000000000002 alone has "us\xc2\x9b")");
  listener_facts_ = Facts(2);
  listener_facts_.families[1].comparator = "\n\xff";
  ExpectRefused(R"(ordered by leveldb.BytewiseComparator)");
  EXPECT_THAT(std::string(dialer_->status().message()),
              HasSubstr(R"(by \x0a\xff on)"));
  // The text of a refusal, too.
  listener_facts_ = Facts(2);
  rocksync::Setup dialer(Role::kInitiator, dialer_facts_, dialer_secret_, {});
  EXPECT_FALSE(
      dialer.Receive("\x12\x01" + std::string(16, 'p') + "no\xff\n").ok());
  EXPECT_THAT(std::string(dialer.status().message()),
              HasSubstr(R"(: no\xff\x0a)"));
}

TEST_F(SetupTest, AnotherSecret) {
  listener_secret_[31] ^= 1;
  ExpectRefused("cluster secret");
}

TEST_F(SetupTest, TheSecretIsNotSent) {
  dialer_secret_.fill(0xab);
  listener_secret_.fill(0xab);
  Meet();
  ASSERT_TRUE(dialer_->status().ok());
  for (const std::string& message : sent_) {
    EXPECT_EQ(message.find("\xab\xab\xab"), std::string::npos);
  }
}

TEST_F(SetupTest, OneReplicaTwice) {
  listener_facts_.replica_id = 1;
  ExpectRefused("replica id 0000000000000001 exists twice");
}

TEST_F(SetupTest, ACertificateOfAnother) {
  listener_policy_.authenticated_id = 9;
  ExpectRefused("the certificate is of replica 0000000000000009");
}

TEST_F(SetupTest, WhoOnlySaysThatItIsThisReplicaIsNoCopyOfIt) {
  listener_facts_.replica_id = 1;
  listener_policy_.authenticated_id = 9;
  ExpectRefused("the certificate is of replica 0000000000000009");
}

TEST_F(SetupTest, TheDialerChecksToo) {
  dialer_policy_.authenticated_id = 9;
  ExpectRefused("the certificate is of replica 0000000000000009");
}

// The member list that founders 1 and 2 have.
GcState Founded(uint64_t epoch, std::vector<uint64_t> ids) {
  GcState gc;
  EXPECT_TRUE(gc.SetMembers(epoch, ids, ids[0]).ok());
  return gc;
}

// It has heard the two founders acknowledge this.
void Acknowledged(uint64_t one, uint64_t two, GcState* gc) {
  gc->members[0].acknowledged = one;
  gc->members[1].acknowledged = two;
}

TEST_F(SetupTest, NotAMember) {
  listener_facts_.gc = Founded(4, {2, 3});
  ExpectRefused(
      "replica 0000000000000001 is not in the member list of epoch 4");
  EXPECT_EQ(sent_.back()[1], static_cast<char>(RefusalReason::kNotMember));
}

TEST_F(SetupTest, TwoListsOfOneEpoch) {
  dialer_facts_.gc = Founded(4, {1, 2});
  listener_facts_.gc = Founded(4, {1, 2, 3});
  ExpectRefused("different member lists of one epoch, 4");
  EXPECT_EQ(sent_.back()[1], static_cast<char>(RefusalReason::kEpoch));
}

TEST_F(SetupTest, OutOfReach) {
  dialer_facts_.gc.stable_time = dialer_facts_.gc.purged = 5;
  ExpectRefused("has collected deletes");
  EXPECT_EQ(sent_.back()[1], static_cast<char>(RefusalReason::kOutOfReach));
}

TEST_F(SetupTest, TheNewerListIsLearnedFromThePeer) {
  dialer_facts_.gc = Founded(4, {1, 2});
  Meet();
  ASSERT_TRUE(dialer_->status().ok()) << dialer_->status();
  ASSERT_TRUE(listener_->status().ok()) << listener_->status();
  EXPECT_EQ(dialer_->verdict(), PeerVerdict::kOursNewer);
  EXPECT_EQ(listener_->verdict(), PeerVerdict::kPeerNewer);
  EXPECT_EQ(listener_->peer().gc, dialer_facts_.gc);
}

TEST_F(SetupTest, AnEpochWithoutItsListIsMalformed) {
  dialer_facts_.gc = Founded(4, {1, 2});
  std::string body;
  EncodeSetup(dialer_facts_, &body);
  SetupFacts decoded;
  ASSERT_TRUE(DecodeSetup(body, &decoded).ok());
  EXPECT_EQ(decoded.gc, dialer_facts_.gc);
  body.resize(body.size() - 2);  // the past incarnations
  for (size_t cut = 1; cut <= 79; ++cut) {
    const std::string_view part(body.data(), body.size() - cut);
    EXPECT_TRUE(absl::IsInvalidArgument(DecodeSetup(part, &decoded))) << cut;
  }
  // The epoch or what was purged said twice, and not alike.
  for (const size_t at : {body.size() - 78, body.size() - 61}) {
    std::string other = body;
    other[at] ^= 1;
    EXPECT_TRUE(absl::IsInvalidArgument(DecodeSetup(other, &decoded))) << at;
  }
}

TEST_F(SetupTest, AnIncarnationThatIsOver) {
  dialer_policy_.remembered = [](uint64_t) {
    return Incarnation{.incarnation = {.counter = 4, .random = 1}};
  };
  ExpectRefused("was rolled back: incarnation 3 after 4");
}

TEST_F(SetupTest, ACopyWithTheSameCounter) {
  dialer_policy_.remembered = [](uint64_t) {
    return Incarnation{.incarnation = {.counter = 3, .random = 1}};
  };
  ExpectRefused("open it as a new replica");
}

// Whoever of the two finds it, both know whom it is about.
TEST_F(SetupTest, WhoAcknowledgedMoreThanItKnowsIsTold) {
  dialer_facts_.gc = Founded(4, {1, 2});
  listener_facts_.gc = dialer_facts_.gc;
  Acknowledged(7, 3, &dialer_facts_.gc);
  dialer_facts_.gc.max_acknowledged = 7;
  Acknowledged(8, 3, &listener_facts_.gc);
  listener_facts_.gc.max_acknowledged = 3;
  ExpectRefused(
      "replica 0000000000000001 has lost state that it had acknowledged");
  EXPECT_EQ(dialer_->refused(), RefusalReason::kAcknowledgedMore);
  EXPECT_TRUE(dialer_->acknowledged_more());
  EXPECT_FALSE(listener_->acknowledged_more());
  listener_secret_[31] ^= 1;
  ExpectRefused(
      "replica 0000000000000001 has lost state that it had acknowledged");
  EXPECT_FALSE(dialer_->acknowledged_more()) << "it proves nothing";
  listener_secret_ = dialer_secret_;
  // The listener heard of what the dialer has acknowledged since its set-up.
  dialer_policy_.said = [](uint64_t, const IncarnationId&) {
    return ReportedByBoth{.mine = {.max_acknowledged = 8}, .theirs = {}};
  };
  ExpectRefused(
      "replica 0000000000000001 has lost state that it had acknowledged");
  EXPECT_FALSE(dialer_->acknowledged_more()) << "the set-up was overtaken";
  dialer_policy_.said = nullptr;

  std::swap(dialer_facts_.gc, listener_facts_.gc);
  Acknowledged(7, 2, &listener_facts_.gc);
  listener_facts_.gc.max_acknowledged = 2;
  Acknowledged(7, 3, &dialer_facts_.gc);
  dialer_facts_.gc.max_acknowledged = 7;
  ExpectRefused(
      "replica 0000000000000002 has lost state that it had acknowledged");
  EXPECT_EQ(dialer_->refused(), RefusalReason::kOutOfReach);
  EXPECT_FALSE(dialer_->acknowledged_more());
  EXPECT_TRUE(listener_->acknowledged_more());
}

// A listener that has a certificate, and not the secret.
TEST_F(SetupTest, ARefusalWithoutTheSecretHasNoReasonToActUpon) {
  listener_policy_.remembered = [](uint64_t) {
    return Incarnation{.incarnation = {.counter = 4, .random = 1}};
  };
  ExpectRefused("was rolled back: incarnation 3 after 4");
  EXPECT_EQ(dialer_->refused(), RefusalReason::kRolledBack);
  EXPECT_EQ(listener_->refused(), std::nullopt);  // it is the one who refuses
  listener_secret_[31] ^= 1;
  ExpectRefused("was rolled back: incarnation 3 after 4");
  EXPECT_EQ(dialer_->refused(), std::nullopt);
  EXPECT_THAT(std::string(dialer_->status().message()),
              HasSubstr("does not prove that it knows the cluster's secret"));
}

TEST_F(SetupTest, ARefusalIsProvenForItsConnectionAlone) {
  listener_policy_.remembered = [](uint64_t) {
    return Incarnation{.incarnation = {.counter = 4, .random = 1}};
  };
  Meet();
  const std::string setup = sent_[1];
  const std::string refusal = sent_[2];
  ASSERT_EQ(refusal[0], 0x12);
  const auto heard = [&](SetupFacts facts, const std::string& first,
                         const std::string& second) {
    rocksync::Setup dialer(Role::kInitiator, std::move(facts), dialer_secret_,
                           {});
    std::string message;
    EXPECT_TRUE(dialer.NextMessage(&message));
    if (!first.empty()) {
      EXPECT_TRUE(dialer.Receive(first).ok());
    }
    EXPECT_FALSE(dialer.Receive(second).ok());
    EXPECT_TRUE(dialer.done());
    return dialer.refused();
  };
  EXPECT_EQ(heard(dialer_facts_, setup, refusal), RefusalReason::kRolledBack);
  // The dialer's nonce is another, or the listener's, or it is not known.
  SetupFacts other = dialer_facts_;
  other.nonce[0] ^= 1;
  EXPECT_EQ(heard(other, setup, refusal), std::nullopt);
  std::string other_setup(1, setup[0]);
  other = listener_facts_;
  other.nonce[0] ^= 1;
  EncodeSetup(other, &other_setup);
  EXPECT_EQ(heard(dialer_facts_, other_setup, refusal), std::nullopt);
  EXPECT_EQ(heard(dialer_facts_, "", refusal), std::nullopt);
  // No bit of it can be changed, and no end of it left out.
  for (size_t bit = 8; bit < 8 * refusal.size(); ++bit) {
    std::string changed = refusal;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    EXPECT_EQ(heard(dialer_facts_, setup, changed), std::nullopt) << bit;
  }
  for (size_t size = 1; size < refusal.size(); ++size) {
    EXPECT_EQ(heard(dialer_facts_, setup, refusal.substr(0, size)),
              std::nullopt);
  }
}

TEST_F(SetupTest, ALaterIncarnationIsWelcome) {
  dialer_policy_.remembered = [](uint64_t) {
    return Incarnation{.incarnation = {.counter = 2, .random = 1}};
  };
  Meet();
  EXPECT_TRUE(dialer_->status().ok());
  EXPECT_TRUE(listener_->status().ok());
}

TEST_F(SetupTest, ALaterIncarnationThatStartedBehind) {
  dialer_policy_.remembered = [](uint64_t) {
    return Incarnation{.incarnation = {.counter = 2, .random = 1},
                       .clock = 100};
  };
  listener_facts_.first_clock = 99;
  listener_facts_.clock = 200;  // it has written since
  ExpectRefused("its clock went back");
  listener_facts_.first_clock = 100;
  Meet();
  EXPECT_TRUE(dialer_->status().ok());
}

TEST_F(SetupTest, ALaterIncarnationThatTheKnownOneIsNoPartOf) {
  dialer_policy_.remembered = [](uint64_t) {
    return Incarnation{.incarnation = {.counter = 2, .random = 1},
                       .clock = 100};
  };
  listener_facts_.past = {.since = 0, .incarnations = {{{2, 9}, 100}}};
  listener_facts_.first_clock = 200;
  ExpectRefused(
      "incarnation 3 does not descend from incarnation 2, which this replica "
      "has met");
  EXPECT_EQ(sent_.back()[1], static_cast<char>(RefusalReason::kRolledBack));
  listener_facts_.past.incarnations[0].incarnation.random = 1;
  Meet();
  EXPECT_TRUE(dialer_->status().ok());
}

TEST_F(SetupTest, IncarnationHistoryAreBounded) {
  dialer_facts_.past = {.since = 1, .incarnations = {{{2, 5}, 7}, {{3, 6}, 8}}};
  std::string body;
  EncodeSetup(dialer_facts_, &body);
  SetupFacts decoded;
  ASSERT_TRUE(DecodeSetup(body, &decoded).ok());
  EXPECT_EQ(decoded.past, dialer_facts_.past);
  ASSERT_TRUE(DecodeSetup(body + "later", &decoded).ok());
  constexpr size_t kBytes = 2 + 2 * 17;
  // More than anybody sends.
  body.resize(body.size() - kBytes);
  body.append("\x01\x41");
  body.append(0x41 * 17, 'x');
  EXPECT_TRUE(absl::IsInvalidArgument(DecodeSetup(body, &decoded)));
}

TEST_F(SetupTest, FamiliesDiffer) {
  dialer_facts_.families.pop_back();
  ExpectRefused(
      "replicated families differ: replica 0000000000000002 alone has "
      "\"users\"; replicate "
      "the same families on both");
}

// The one that is missing, not those that come after it.
TEST_F(SetupTest, AFamilyInTheMiddleIsMissing) {
  dialer_facts_.families = {{"a", "c"}, {"log", "c"}, {"users", "c"}};
  listener_facts_.families = {{"a", "c"}, {"users", "c"}};
  ExpectRefused(
      "differ: replica 0000000000000001 alone has \"log\"; replicate");
}

TEST_F(SetupTest, ManyFamiliesDiffer) {
  const std::string name(1000, 'n');
  dialer_facts_.families = {{"a", "c"}, {"b", "c"}, {"c", "c"}, {"d", "c"}};
  listener_facts_.families = {{name, "c"}, {name + "o", "c"}};
  Meet();
  const std::string cut = "\"" + name.substr(0, 40) + "...\"";
  EXPECT_THAT(
      std::string(dialer_->status().message()),
      HasSubstr(
          "replica 0000000000000001 alone has \"a\", \"b\", \"c\" and 1 more, "
          "and replica 0000000000000002 alone has " +
          cut + ", " + cut + "; replicate the same"));
}

TEST_F(SetupTest, ComparatorsDiffer) {
  listener_facts_.families[1].comparator = "reverse";
  ExpectRefused("family \"users\" is ordered by leveldb.BytewiseComparator");
}

// The listener never met the dialer; others have told it of a copy.
TEST_F(SetupTest, AnIncarnationThatDoesNotFollowWhatOthersMet) {
  dialer_facts_.gc = Founded(1, {1, 2});
  listener_facts_.gc = dialer_facts_.gc;
  Incarnation* const heard = &listener_facts_.gc.members[0].incarnation;
  heard->incarnation = dialer_facts_.incarnation;
  heard->clock = dialer_facts_.clock + 1;  // of the incarnation that it lives
  Meet();
  EXPECT_TRUE(listener_->status().ok()) << listener_->status();
  ++heard->incarnation.random;
  ExpectRefused(
      "replica 0000000000000001 is one of two with the same identity");
  EXPECT_EQ(sent_.back()[1], static_cast<char>(RefusalReason::kRolledBack));
}

TEST_F(SetupTest, NoVersionInCommon) {
  bool first = true;
  tamper_ = [&first](std::string* message) {
    if (!first) return;
    first = false;
    (*message)[9] = 7;
    (*message)[10] = 9;
  };
  ExpectRefused("protocol versions 7 to 9, this replica speaks version 6");
}

TEST_F(SetupTest, AnOlderProtocolIsRefused) {
  bool first = true;
  tamper_ = [&first](std::string* message) {
    if (!first) return;
    first = false;
    (*message)[9] = 5;
    (*message)[10] = 5;
  };
  ExpectRefused("protocol versions 5 to 5, this replica speaks version 6");
}

TEST_F(SetupTest, ADowngradeIsNoticed) {
  bool first = true;
  tamper_ = [&first](std::string* message) {
    if (!first) return;
    first = false;
    (*message)[9] = 1;  // "from 1 to 2": acceptable, but not what was sent
  };
  ExpectRefused("cluster secret");
}

TEST_F(SetupTest, EveryBitOfASetupIsCovered) {
  Meet();
  const size_t size = sent_[0].size();
  for (size_t bit = 0; bit < 8 * size; ++bit) {
    bool first = true;
    tamper_ = [&first, bit](std::string* message) {
      if (!first) return;
      first = false;
      (*message)[bit / 8] =
          static_cast<char>((*message)[bit / 8] ^ (1 << bit % 8));
    };
    dialer_.emplace(Role::kInitiator, dialer_facts_, dialer_secret_,
                    dialer_policy_);
    sent_.clear();
    std::string message;
    ASSERT_TRUE(dialer_->NextMessage(&message));
    tamper_(&message);
    rocksync::Setup listener(Role::kResponder, listener_facts_,
                             listener_secret_, listener_policy_);
    if (!listener.Receive(message).ok()) continue;
    ASSERT_TRUE(listener.NextMessage(&message));
    ASSERT_TRUE(dialer_->Receive(message).ok());
    ASSERT_TRUE(listener.NextMessage(&message));
    EXPECT_FALSE(dialer_->Receive(message).ok()) << "bit " << bit;
  }
}

TEST_F(SetupTest, WhatIsNotRocksync) {
  for (const std::string& message : std::vector<std::string>{
           "", "GET / HTTP/1.1\r\n", "\x16\x03\x01", std::string(1, '\x10'),
           "\x10rocksyn", "\x10rocksync", "\x11", "\x12"}) {
    rocksync::Setup listener(Role::kResponder, listener_facts_,
                             listener_secret_, {});
    EXPECT_EQ(listener.Receive(message).code(),
              absl::StatusCode::kInvalidArgument)
        << message;
    EXPECT_FALSE(listener.NextMessage(&sent_.emplace_back()));
    EXPECT_TRUE(listener.done());
  }
}

TEST_F(SetupTest, EveryTruncationIsRefused) {
  Meet();
  for (size_t size = 0; size < sent_[0].size(); ++size) {
    rocksync::Setup listener(Role::kResponder, listener_facts_,
                             listener_secret_, {});
    EXPECT_FALSE(listener.Receive(sent_[0].substr(0, size)).ok()) << size;
  }
}

TEST_F(SetupTest, WhatLaterVersionsAddIsIgnored) {
  bool done = false;
  std::string longer;
  tamper_ = [&](std::string* message) {
    if (!done) longer = *message + "more";
    done = true;
  };
  Meet();
  SetupFacts facts;
  EXPECT_TRUE(DecodeSetup(std::string_view(longer).substr(1), &facts).ok());
  EXPECT_EQ(facts.families, dialer_facts_.families);
}

}  // namespace
}  // namespace rocksync
