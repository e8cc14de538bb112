// At which version a replica holds a pair. Clocks are not one: what is written
// later may have the lower version.

#ifndef ROCKSYNC_TESTS_INTEGRATION_REPLICATION_VERSION_OF_H_
#define ROCKSYNC_TESTS_INTEGRATION_REPLICATION_VERSION_OF_H_

#include <gtest/gtest.h>

#include <string>

#include "replication/store/store_access.h"
#include "sketch/element/version.h"

namespace rocksync {

// Of a key of the default family that is there.
inline Version VersionOf(ReplicatedDB* db, const std::string& key) {
  Pair pair;
  EXPECT_TRUE(StoreAccess::NewView(db)->ReadPair(0, key, &pair).ok());
  return pair.version;
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_INTEGRATION_REPLICATION_VERSION_OF_H_
