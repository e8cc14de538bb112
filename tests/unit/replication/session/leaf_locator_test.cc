#include "replication/session/leaf_locator.h"

#include <gtest/gtest.h>

#include <string>

#include "sketch/element/coding.h"

namespace rocksync {
namespace {

// Each is a turn in which nothing has to be shipped: a peer could go on for
// ever.
TEST(LeafLocator, APeerMayNotAskForEver) {
  LeafLocator locator(PartContext(), nullptr, nullptr);
  std::string body;
  PutVarint64(&body, 5);
  bool everything = false;
  for (uint32_t i = 0; i < LeafLocator::kMaxLocations; ++i) {
    EXPECT_TRUE(locator.may_locate());
    ASSERT_TRUE(locator.Receive(body, 0, i == 0, &everything).ok());
  }
  EXPECT_FALSE(locator.may_locate());
  EXPECT_EQ(locator.Receive(body, 0, false, &everything).message(),
            "Locate: too often");
}

}  // namespace
}  // namespace rocksync
