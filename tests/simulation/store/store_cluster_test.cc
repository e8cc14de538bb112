// The simulation of real replicas itself: a seed replays, and planted faults
// are caught.

#include "tests/simulation/store/store_cluster.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/sanitized.h"
#include "tests/simulation/store/machine.h"

namespace rocksync::store_simulation {
namespace {

TEST(StoreClusterTest, ASeedReplays) {
  StoreClusterOptions options;
  options.seed = 2;
  const StoreClusterResult first = RunStoreCluster(options);
  const StoreClusterResult second = RunStoreCluster(options);
  EXPECT_EQ(first.fingerprint, second.fingerprint);
  EXPECT_EQ(first.proofs, second.proofs);
  EXPECT_TRUE(first.violations.empty()) << first.violations[0];
  options.seed = 3;
  EXPECT_NE(first.fingerprint, RunStoreCluster(options).fingerprint);
}

// What a killed process leaves in its log may not be synced, and the next one
// must not build on it what is.
TEST(MachineTest, ASyncedWriteSurvivesAKillBeforeItAndALossOfPowerAfterIt) {
  BackgroundWork work;
  MachineShape shape;
  shape.flush_at_recovery = false;
  shape.random_bits = [] { return uint64_t{5}; };
  Machine machine(0, "/r0", ForgetfulDisk(), &work, &shape);
  const auto put = [&machine](const char* key, bool sync) {
    rocksdb::WriteOptions options;
    options.sync = sync;
    return machine.db()->Put(options, key, "value");
  };
  ASSERT_TRUE(machine.Open(/*copy_as_new=*/false).ok());
  ASSERT_TRUE(put("before", false).ok());
  machine.disk()->Kill();
  machine.Bury();

  ASSERT_TRUE(machine.Open(/*copy_as_new=*/false).ok());
  ASSERT_TRUE(put("after", true).ok());
  const ReplicaIdentity identity = machine.db()->Identity();
  machine.disk()->Kill();
  machine.Bury();
  machine.disk()->LosePower([](uint64_t) { return 0; });

  const rocksdb::Status status = machine.Open(/*copy_as_new=*/false);
  ASSERT_TRUE(status.ok()) << status.ToString();
  std::string value;
  EXPECT_TRUE(machine.db()->Get(rocksdb::ReadOptions(), "after", &value).ok());
  EXPECT_GT(machine.db()->Identity().incarnation, identity.incarnation);
}

struct Planted {
  StoreFault fault;
  uint64_t first_seed;
  std::string says;  // part of what is said when it is caught
};

class PlantedStoreFaultTest : public testing::TestWithParam<Planted> {};

// In one of a few seeds, and in these words.
TEST_P(PlantedStoreFaultTest, IsCaught) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer sees nothing more in it";
  constexpr uint64_t kSeeds = 20;
  StoreClusterOptions options;
  options.fault = GetParam().fault;
  const uint64_t end = GetParam().first_seed + kSeeds;
  std::string said;
  for (options.seed = GetParam().first_seed; options.seed < end;
       ++options.seed) {
    for (const std::string& violation : RunStoreCluster(options).violations) {
      if (violation.find(GetParam().says) != std::string::npos) return;
      said += violation + "\n";
    }
  }
  FAIL() << "not caught; said was:\n" << said;
}

INSTANTIATE_TEST_SUITE_P(
    All, PlantedStoreFaultTest,
    testing::Values(
        Planted{StoreFault::kLeaseNotSynced, 23, "'s clock starts from "},
        Planted{StoreFault::kMembersNotSynced, 6, " has gone back to "},
        Planted{StoreFault::kOpeningNotSynced, 23, " cannot be opened: "},
        Planted{StoreFault::kSessionNotSynced, 17, " has lost "},
        Planted{StoreFault::kWriteNotSynced, 2, " has lost "},
        Planted{StoreFault::kDigestNotNoted, 1, " are proven equal, but "}));

}  // namespace
}  // namespace rocksync::store_simulation
