#include "replication/replicator/peer_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rocksync/replicated_db.h"
#include "tests/support/memory_transport.h"
#include "tests/support/temporary_directory.h"

namespace rocksync {
namespace {

using testing::ElementsAre;

std::vector<std::string> AddressesOf(const std::vector<PeerList::Peer>& peers) {
  std::vector<std::string> addresses;
  for (const auto& peer : peers) addresses.push_back(peer.dialer->address());
  return addresses;
}

// Nobody is dialed.
class PeerListTest : public ::testing::Test {
 protected:
  void SetUp() override {
    rocksdb::Options options;
    options.create_if_missing = true;
    ReplicatedDBOptions replication;
    replication.cluster_name = "peer_list";
    replication.cluster_secret.fill(1);
    ReplicatedDB* db = nullptr;
    const rocksdb::Status status =
        ReplicatedDB::Open(options, replication, directory_.path(), &db);
    ASSERT_TRUE(status.ok()) << status.ToString();
    db_.reset(db);
  }
  void Make(const std::vector<std::string>& peers) {
    ReplicatorOptions options;
    options.peers = peers;
    options.interval = std::chrono::milliseconds(kInterval);
    replica_ =
        std::make_unique<ReplicatorContext>(options, db_.get(), transport_);
    list_ = std::make_unique<PeerList>(replica_.get(), /*seed=*/7, kNow);
  }

  static constexpr uint64_t kNow = 5'000;
  static constexpr uint64_t kInterval = 1'000;
  const TemporaryDirectory directory_;
  std::unique_ptr<ReplicatedDB> db_;
  const std::shared_ptr<MemoryNetwork> network_ = NewMemoryNetwork();
  const std::shared_ptr<Transport> transport_ = network_->Join(1);
  std::unique_ptr<ReplicatorContext> replica_;
  std::unique_ptr<PeerList> list_;
};

TEST_F(PeerListTest, HasEachAddressOnce) {
  Make({"b", "a", "b"});
  EXPECT_THAT(AddressesOf(list_->peers()), ElementsAre("b", "a"));
  list_->Set({"c", "c", "a"}, kNow);
  EXPECT_THAT(AddressesOf(list_->peers()), ElementsAre("a", "c"));
}

TEST_F(PeerListTest, WhoStaysKeepsItsNumberAndNoNumberIsUsedAgain) {
  Make({"a", "b", "c"});
  const PeerList::Change change = list_->Set({"c", "d", "a"}, kNow);
  EXPECT_THAT(AddressesOf(change.removed), ElementsAre("b"));
  EXPECT_EQ(change.removed[0].number, 1u);
  EXPECT_THAT(AddressesOf(change.added), ElementsAre("d"));
  EXPECT_EQ(change.added[0].number, 3u);
  EXPECT_THAT(AddressesOf(list_->peers()), ElementsAre("a", "c", "d"));

  const PeerList::Change back = list_->Set({"a", "b", "c", "d"}, kNow);
  EXPECT_EQ(back.added[0].number, 4u);
  EXPECT_NE(back.added[0].dialer, change.removed[0].dialer);
}

TEST_F(PeerListTest, WhoIsMetIsNotDueUntilTheMeetingEnds) {
  Make({"a"});
  const uint64_t later = kNow + kInterval;
  const std::optional<PeerList::Peer> met = list_->BeginDue(later);
  ASSERT_TRUE(met.has_value());
  list_->Ask(met->number, later);
  EXPECT_FALSE(list_->BeginDue(later).has_value());
  list_->Ended(met->number, SessionOutcome::kProven, later);
  list_->EndMeeting(met->number);
  EXPECT_TRUE(list_->BeginDue(later).has_value()) << "it was asked for again";
}

TEST_F(PeerListTest, WhoIsNewIsDueAtOnce) {
  Make({});
  EXPECT_FALSE(list_->BeginDue(kNow).has_value());
  list_->Set({"a"}, kNow);
  const std::optional<PeerList::Peer> due = list_->BeginDue(kNow);
  ASSERT_TRUE(due.has_value());
  EXPECT_EQ(due->dialer->address(), "a");
}

TEST_F(PeerListTest, APeerHasOneDialer) {
  Make({"a", "b"});
  std::optional<size_t> number;
  std::shared_ptr<Dialer> dropped;
  EXPECT_EQ(list_->DialerOf("b", &number, &dropped), list_->peers()[1].dialer);
  EXPECT_EQ(number, 1u);
  EXPECT_EQ(dropped, nullptr);
}

TEST_F(PeerListTest, OfOtherAddressesTheLeastRecentlyUsedGoes) {
  Make({"a"});
  std::optional<size_t> number;
  std::shared_ptr<Dialer> dropped;
  std::vector<std::shared_ptr<Dialer>> others;
  for (int i = 0; i < 64; ++i) {
    others.push_back(
        list_->DialerOf("other" + std::to_string(i), &number, &dropped));
    EXPECT_EQ(number, std::nullopt);
    EXPECT_EQ(dropped, nullptr);
  }
  EXPECT_EQ(list_->DialerOf("other0", &number, &dropped), others[0]);
  EXPECT_EQ(dropped, nullptr);
  list_->DialerOf("one more", &number, &dropped);
  EXPECT_EQ(dropped, others[1]);
  EXPECT_EQ(list_->DialerOf("other0", &number, &dropped), others[0]);
  EXPECT_THAT(AddressesOf(list_->peers()), ElementsAre("a"));
}

}  // namespace
}  // namespace rocksync
