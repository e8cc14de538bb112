// What a session holds stays within the bound that it was given, counted
// allocation by allocation. A program of its own, since it replaces the global
// allocation functions.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "replication/session/session.h"
#include "sketch/pinsketch/field.h"
#include "sketch/pinsketch/syndrome_decoder.h"
#include "tests/sanitized.h"
#include "tests/simulation/memory_account.h"
#include "tests/simulation/memory_storage.h"

namespace rocksync {
namespace {

// One side of a conversation, charged for what its session holds.
class Side {
 public:
  Side(Role role, const SessionOptions& options, StorageView* storage) {
    SessionContext context;
    context.storage = storage;
    context.now_ms = [] { return uint64_t{0}; };
    const Charging charging(&account_);
    session_ = NewSession(role, options, {}, context);
  }
  bool NextMessage(std::string* message) {
    const Charging charging(&account_);
    return session_->NextMessage(message);
  }
  void ReadAhead() {
    const Charging charging(&account_);
    session_->ReadAhead();
  }
  absl::Status Receive(const std::string& message) {
    const Charging charging(&account_);
    return session_->Receive(message);
  }
  bool proven() const { return session_->report().proven_equal; }
  size_t peak() const { return account_.peak(); }

 private:
  MemoryAccount account_;
  std::unique_ptr<Session> session_;
};

// The most that either side held in a session that proved the two equal.
size_t PeakOf(const SessionOptions& options, MemoryStorage* a,
              MemoryStorage* b) {
  Side initiator(Role::kInitiator, options, a);
  Side responder(Role::kResponder, options, b);
  Side* speaker = &initiator;
  Side* listener = &responder;
  bool spoke = true;
  while (spoke) {
    spoke = false;
    std::string message;
    while (speaker->NextMessage(&message)) {
      spoke = true;
      const absl::Status status = listener->Receive(message);
      if (!status.ok()) {
        ADD_FAILURE() << status;
        return 0;
      }
    }
    speaker->ReadAhead();
    std::swap(speaker, listener);
  }
  EXPECT_TRUE(initiator.proven() && responder.proven());
  return std::max(initiator.peak(), responder.peak());
}

struct Modes {
  ExchangeMode mode;
  Prefer prefer;
};

SessionOptions OptionsOf(const Modes& modes) {
  SessionOptions options;
  options.exchange.mode = modes.mode;
  options.exchange.prefer = modes.prefer;
  return options;
}

class SessionMemoryTest : public testing::TestWithParam<Modes> {
 protected:
  SessionOptions Bounded() const {
    SessionOptions options = OptionsOf(GetParam());
    BoundMemory(kLeastSessionBytes, kLeafCount, &options);
    return options;
  }

  MemoryStorage::Options OfReplica(uint64_t id) const {
    MemoryStorage::Options options;
    options.replica_id = id;
    return options;
  }

  const ElementHasher hasher_{ClusterSecret{1}};
  MemoryStorage a_{&hasher_, OfReplica(1)};
  MemoryStorage b_{&hasher_, OfReplica(2)};
};

TEST_P(SessionMemoryTest, ManyElements) {
  for (int i = 0; i < 60'000; ++i) {
    a_.Put(0, absl::StrCat("a", i), "value");
    b_.Put(0, absl::StrCat("b", i), "value");
  }
  EXPECT_LE(PeakOf(Bounded(), &a_, &b_), kLeastSessionBytes);
}

// The same without a bound: the test is able to fail.
TEST_P(SessionMemoryTest, ManyElementsTakeMoreUnbounded) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer sees nothing more in it";
  for (int i = 0; i < 60'000; ++i) {
    a_.Put(0, absl::StrCat("a", i), "value");
    b_.Put(0, absl::StrCat("b", i), "value");
  }
  EXPECT_GT(PeakOf(OptionsOf(GetParam()), &a_, &b_), kLeastSessionBytes);
}

// Where the elements count, and not what finding the leaves takes.
TEST_F(SessionMemoryTest, AFullBatchOfWhichAllDiffers) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer sees nothing more in it";
  constexpr size_t kBound = size_t{12} << 20;
  SessionOptions options;
  BoundMemory(kBound, kLeafCount, &options);
  const size_t count = options.max_batch_elements * 97 / 100;
  for (size_t i = 0; i < count; ++i) {
    a_.Put(0, absl::StrCat("a", i), "value");
    b_.Put(0, absl::StrCat("b", i), "value");
  }
  EXPECT_LE(PeakOf(options, &a_, &b_), kBound);
}

// A batch of which less differs has more elements.
TEST_F(SessionMemoryTest, AFullBatchOfWhichLittleDiffers) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer sees nothing more in it";
  constexpr size_t kBound = size_t{12} << 20;
  for (const double share : {0.02, 0.1, 0.3}) {
    SessionOptions options;
    BoundMemory(kBound, kLeafCount, &options);
    const size_t count = MaxBatchElements(options, share) * 97 / 100;
    EXPECT_GT(count, options.max_batch_elements * 6 / 5);
    MemoryStorage a(&hasher_, OfReplica(1));
    MemoryStorage b(&hasher_, OfReplica(2));
    for (size_t i = 0; i < count; ++i) {
      if (static_cast<double>(i) < share * static_cast<double>(count)) {
        a.Put(0, absl::StrCat("a", i), "value");
        b.Put(0, absl::StrCat("b", i), "value");
      } else {
        a.PutUnversioned(0, absl::StrCat("both", i), "value");
        b.PutUnversioned(0, absl::StrCat("both", i), "value");
      }
    }
    // As if a search had told how much differs.
    options.max_batch_elements = 2 * count;
    EXPECT_LE(PeakOf(options, &a, &b), kBound) << share;
  }
}

// Values that are offered, and fetched again once they are wanted, are not kept
// meanwhile beyond what a turn may hold.
TEST_P(SessionMemoryTest, ManyValues) {
  constexpr size_t kValueBytes = 4000;
  const std::string value(kValueBytes, 'x');
  for (int i = 0; i < 6'000; ++i) {
    a_.PutUnversioned(0, absl::StrCat("key", i), "value");
    b_.PutUnversioned(0, absl::StrCat("key", i), "value");
    (i % 2 == 0 ? a_ : b_).Put(0, absl::StrCat("key", i), value);
  }
  EXPECT_LE(PeakOf(Bounded(), &a_, &b_), kLeastSessionBytes + 4 * kValueBytes);
}

TEST_P(SessionMemoryTest, LargeValues) {
  constexpr size_t kValueBytes = size_t{8} << 20;
  const std::string value(kValueBytes, 'x');
  for (int i = 0; i < 6; ++i) {
    a_.PutUnversioned(0, absl::StrCat("key", i), "value");
    b_.PutUnversioned(0, absl::StrCat("key", i), "value");
    (i % 2 == 0 ? a_ : b_).Put(0, absl::StrCat("key", i), value);
  }
  EXPECT_LE(PeakOf(Bounded(), &a_, &b_), kLeastSessionBytes + 4 * kValueBytes);
}

// What BoundMemory reckons with.
TEST(DecodingBytesTest, AreAllThatDecodingTakes) {
  const Field field(32);
  for (const uint32_t count : {20u, 100u, 237u, 512u}) {
    std::vector<uint32_t> sums(count, 0);
    for (uint32_t x = 1; x <= count; ++x) {
      const uint32_t element = x * 0x9e3779b1;
      uint32_t power = element;
      for (uint32_t& sum : sums) {
        sum ^= power;
        power = field.Multiply(power, field.Square(element));
      }
    }
    const MemoryAccount account;
    std::vector<uint32_t> elements;
    {
      const Charging charging(&account);
      ASSERT_TRUE(DecodePowerSums(field, sums, &elements));
    }
    EXPECT_EQ(elements.size(), count);
    EXPECT_LE(account.peak(), DecodingBytes(count)) << count;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Modes, SessionMemoryTest,
    testing::Values(Modes{ExchangeMode::kAdaptive, Prefer::kBytes},
                    Modes{ExchangeMode::kAdaptive, Prefer::kRoundTrips},
                    Modes{ExchangeMode::kBloom, Prefer::kBytes}));

}  // namespace
}  // namespace rocksync
