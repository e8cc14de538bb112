// How far versions lead the wall clock after a crash, and who renews the lease.

#include "replication/store/write/lease.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>

#include "replication/store/format/index_key.h"
#include "replication/store/format/meta_records.h"
#include "replication/store/write/indexed_db.h"
#include "rocksdb/env.h"
#include "tests/integration/store/store_fixture.h"

namespace rocksync {
namespace {

constexpr uint64_t kSecond = 1'000'000;  // in the clock's microseconds

// Stands still until it is set.
class StillClock final : public rocksdb::EnvWrapper {
 public:
  StillClock()
      : EnvWrapper(rocksdb::Env::Default()),
        now(rocksdb::Env::Default()->NowMicros()) {}
  uint64_t NowMicros() override { return now; }
  std::atomic<uint64_t> now;
};

class LeaseTest : public StoreTest {
 protected:
  uint64_t Now() const { return clock_.now / 1000 << 16; }

  static Version VersionOf(ReplicatedDB* db, const std::string& key) {
    const auto view = StoreAccess::NewView(db);
    const auto snapshot = view->TakeSnapshot({});
    EXPECT_TRUE(snapshot.ok()) << snapshot.status();
    const auto entry = (*snapshot)->FindKey(0, key);
    EXPECT_TRUE(entry.ok() && entry->has_value());
    return (*entry)->version;
  }

  static ApplyOutcome Hand(ReplicatedDB* from, ReplicatedDB* to,
                           const std::string& key) {
    Pair pair = {0, key, VersionOf(from, key), false, ""};
    EXPECT_ROCKS_OK(from->Get({}, key, &pair.value));
    std::vector<ApplyOutcome> outcomes;
    const absl::Status status =
        StoreAccess::NewView(to)->Apply(std::vector<Pair>{pair}, {}, &outcomes);
    EXPECT_TRUE(status.ok()) << status;
    return outcomes.at(0);
  }

  static uint64_t WrittenLease(ReplicatedDB* db) {
    IndexedDB* const store = StoreAccess::IndexedOf(db);
    std::string bytes;
    EXPECT_ROCKS_OK(store->db()->Get({}, store->reader().index(),
                                     MetaKey(kLeaseRecord), &bytes));
    uint64_t lease = 0;
    EXPECT_TRUE(DecodeLease(bytes, &lease));
    return lease;
  }

  StillClock clock_;
};

TEST_F(LeaseTest, AfterCrashesInARowVersionsLeadByAboutASecond) {
  options_.env = &clock_;
  std::string name = "db";
  ASSERT_ROCKS_OK(Open(name));
  Version before;
  for (int i = 0; i < 5; ++i) {
    ASSERT_ROCKS_OK(Put("k", std::to_string(i)));
    const Version version = VersionOf(db_.get(), "k");
    EXPECT_GT(version.time, before.time);
    EXPECT_LE(version.time, Now() + (uint64_t{1200} << 16)) << i;
    before = version;
    const std::string image = "crash" + std::to_string(i);
    CopyAsKilled(name, image);
    name = image;
    ASSERT_ROCKS_OK(Open(name));
  }
  // The wall clock has gone by: nothing is left of the lead.
  clock_.now += 2 * kSecond;
  ASSERT_ROCKS_OK(Put("k", "last"));
  EXPECT_EQ(VersionOf(db_.get(), "k").time, Now());
  CloseAndCheck(nullptr, name);
}

TEST_F(LeaseTest, AWriteElsewhereSoonAfterTheCrashWins) {
  options_.env = &clock_;
  ASSERT_ROCKS_OK(Open("a"));
  ASSERT_ROCKS_OK(Put("k", "before the crash"));
  CopyAsKilled("a", "crashed");
  ASSERT_ROCKS_OK(Open("crashed"));
  ASSERT_ROCKS_OK(Put("k", "after the crash"));

  clock_.now += 2 * kSecond;
  std::unique_ptr<ReplicatedDB> elsewhere;
  ASSERT_ROCKS_OK(OpenOther("b", &elsewhere));
  ASSERT_ROCKS_OK(elsewhere->Put({}, "k", "two seconds later"));
  EXPECT_EQ(Hand(db_.get(), elsewhere.get(), "k"), ApplyOutcome::kSuperseded);
  EXPECT_EQ(Hand(elsewhere.get(), db_.get(), "k"), ApplyOutcome::kApplied);
  EXPECT_EQ(Get("k"), "two seconds later");
}

// Whoever writes again finds it renewed, and waits for no sync.
TEST_F(LeaseTest, IsRenewedWithoutAWriter) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("k", "v"));
  const uint64_t first = WrittenLease(db_.get());
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (WrittenLease(db_.get()) < first + 2 * Lease::kTerm) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  // The seal takes back what was taken ahead.
  const Version last = VersionOf(db_.get(), "k");
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(WrittenLease(db_.get()), last.time + 1);
}

}  // namespace
}  // namespace rocksync
