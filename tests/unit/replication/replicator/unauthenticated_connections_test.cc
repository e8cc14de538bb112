#include "replication/replicator/unauthenticated_connections.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/memory_transport.h"

namespace rocksync {
namespace {

using std::chrono::milliseconds;

class UnauthenticatedConnectionsTest : public ::testing::Test {
 protected:
  Connection* NewConnection() {
    return pipes_.emplace_back(NewMemoryPipe()).listener.get();
  }
  std::unique_ptr<UnauthenticatedPlace> Enter(Connection* connection) {
    return std::make_unique<UnauthenticatedPlace>(list_, connection);
  }
  static bool IsClosed(Connection* connection) {
    std::string frame;
    return connection->Receive(&frame, milliseconds(0)).IsAborted();
  }

  const std::shared_ptr<UnauthenticatedConnections> list_ =
      std::make_shared<UnauthenticatedConnections>(2);
  std::vector<MemoryPipe> pipes_;
};

TEST_F(UnauthenticatedConnectionsTest, TheOldestGoesIfOneTooManyComes) {
  Connection* const first = NewConnection();
  Connection* const second = NewConnection();
  Connection* const third = NewConnection();
  const auto first_place = Enter(first);
  const auto second_place = Enter(second);
  EXPECT_FALSE(IsClosed(first));
  const auto third_place = Enter(third);
  EXPECT_TRUE(IsClosed(first));
  EXPECT_FALSE(IsClosed(second));
  EXPECT_FALSE(first_place->Leave()) << "a proof that comes too late counts";
  EXPECT_TRUE(second_place->Leave());
  EXPECT_TRUE(third_place->Leave());
  EXPECT_FALSE(third_place->Leave());
}

TEST_F(UnauthenticatedConnectionsTest, WhoHasLeftTakesNoPlace) {
  Connection* const first = NewConnection();
  Connection* const second = NewConnection();
  const auto first_place = Enter(first);
  EXPECT_TRUE(first_place->Leave());
  Enter(second);  // and goes
  const auto third_place = Enter(NewConnection());
  const auto fourth_place = Enter(NewConnection());
  EXPECT_FALSE(IsClosed(first));
  EXPECT_FALSE(IsClosed(second));
  EXPECT_TRUE(third_place->Leave());
  EXPECT_TRUE(fourth_place->Leave());
}

TEST_F(UnauthenticatedConnectionsTest, AllAreClosed) {
  Connection* const first = NewConnection();
  Connection* const second = NewConnection();
  const auto first_place = Enter(first);
  const auto second_place = Enter(second);
  first_place->Leave();
  list_->CloseAll();
  EXPECT_FALSE(IsClosed(first));
  EXPECT_TRUE(IsClosed(second));
}

}  // namespace
}  // namespace rocksync
