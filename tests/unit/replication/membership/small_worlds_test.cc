// Every short history of a few replicas and keys: whatever happened, sessions
// make the replicas equal, and equal to what the latest version of each key
// says.

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/simulation/conversation.h"
#include "tests/simulation/memory_storage.h"

namespace rocksync {
namespace {

struct World {
  int replicas;
  int keys;
  int length;  // of a history
  ExchangeMode mode;
  int leaf_bits;
};

// With 65 536 leaves nearly all of the time goes into empty ones: one world has
// them.
constexpr int kFewLeafBits = 6;

// One step: a put, a delete or a session.
struct Step {
  enum class Kind { kPut, kDelete, kSession } kind;
  int replica;
  int other;  // key, or the peer
};

std::vector<Step> AllSteps(const World& world) {
  std::vector<Step> steps;
  for (int replica = 0; replica < world.replicas; ++replica) {
    for (int key = 0; key < world.keys; ++key) {
      steps.push_back({Step::Kind::kPut, replica, key});
      steps.push_back({Step::Kind::kDelete, replica, key});
    }
    for (int peer = 0; peer < world.replicas; ++peer) {
      if (peer != replica) {
        steps.push_back({Step::Kind::kSession, replica, peer});
      }
    }
  }
  return steps;
}

class History {
 public:
  History(const World& world, const ElementHasher* hasher) : world_(world) {
    for (int i = 0; i < world.replicas; ++i) {
      MemoryStorage::Options options;
      options.replica_id = static_cast<uint64_t>(i) + 1;
      options.leaf_bits = world.leaf_bits;
      // The later a replica's number, the slower its clock: versions must not
      // depend on clocks that agree.
      options.wall_ms = [this, i] {
        return 1'000'000 + ++ticks_ - 2 * static_cast<uint64_t>(i);
      };
      replicas_.push_back(std::make_unique<MemoryStorage>(hasher, options));
    }
  }

  void Do(const Step& step) {
    MemoryStorage* const replica = replicas_[step.replica].get();
    const std::string key = absl::StrCat("k", step.other);
    switch (step.kind) {
      case Step::Kind::kPut: {
        const std::string value = absl::StrCat("v", ++values_);
        Note(key, replica->Put(0, key, value), value);
        break;
      }
      case Step::Kind::kDelete:
        Note(key, replica->Delete(0, key), std::nullopt);
        break;
      case Step::Kind::kSession:
        Meet(replica, replicas_[step.other].get());
        break;
    }
  }

  // Two rounds of everybody with the first reach everybody.
  void HealAndCheck() {
    for (int round = 0; round < 2; ++round) {
      for (int i = 1; i < world_.replicas; ++i) {
        Meet(replicas_[i].get(), replicas_[0].get());
      }
    }
    for (const auto& replica : replicas_) {
      for (const auto& [key, truth] : truth_) {
        ASSERT_EQ(replica->Get(0, key), truth.second) << key;
      }
      ASSERT_EQ(replica->records().size(), truth_.size());
    }
  }

 private:
  void Note(const std::string& key, const Version& version,
            std::optional<std::string> value) {
    auto& truth = truth_[key];
    if (version > truth.first) truth = {version, std::move(value)};
  }

  void Meet(MemoryStorage* a, MemoryStorage* b) {
    SessionRunOptions options;
    options.initiator.exchange.mode = world_.mode;
    options.seed.session_number = ++sessions_;
    const SessionRunResult result = DriveSession(a, b, options);
    ASSERT_TRUE(result.proven())
        << result.initiator_status << " " << result.responder_status;
    ASSERT_EQ(a->records().size(), b->records().size());
    for (const auto& [key, record] : a->records()) {
      ASSERT_EQ(record.hash, b->records().at(key).hash);
    }
  }

  const World world_;
  uint64_t ticks_ = 0;
  uint64_t sessions_ = 0;
  int values_ = 0;
  std::vector<std::unique_ptr<MemoryStorage>> replicas_;
  std::map<std::string, std::pair<Version, std::optional<std::string>>> truth_;
};

class SmallWorldsTest : public testing::TestWithParam<World> {};

TEST_P(SmallWorldsTest, EveryHistoryHeals) {
  const World world = GetParam();
  const ElementHasher hasher(ClusterSecret{7});
  const std::vector<Step> steps = AllSteps(world);
  std::vector<size_t> history(static_cast<size_t>(world.length), 0);
  size_t at = 0;
  do {
    History now(world, &hasher);
    for (const size_t step : history) now.Do(steps[step]);
    now.HealAndCheck();
    if (HasFatalFailure()) {
      FAIL() << "history " << testing::PrintToString(history);
    }
    for (at = 0; at < history.size() && ++history[at] == steps.size(); ++at) {
      history[at] = 0;
    }
  } while (at < history.size());
}

INSTANTIATE_TEST_SUITE_P(
    Worlds, SmallWorldsTest,
    testing::Values(World{2, 1, 4, ExchangeMode::kAdaptive, kFewLeafBits},
                    World{2, 2, 3, ExchangeMode::kBloom, kFewLeafBits},
                    World{3, 1, 3, ExchangeMode::kAdaptive, kFewLeafBits},
                    World{3, 1, 3, ExchangeMode::kBloom, kFewLeafBits},
                    World{3, 2, 2, ExchangeMode::kAdaptive, kLeafBits}));

}  // namespace
}  // namespace rocksync
