// Two copies of the library in one process: this program has one, and
// librocksync.so, which hides its own, is another, as when a program that uses
// the library embeds Python.

#include <cstdlib>
#include <string>

#include "rocksdb/c.h"
#include "rocksync/c.h"
#include "tests/integration/store/store_fixture.h"

namespace rocksync {
namespace {

using TwoCopiesTest = StoreTest;

std::string Said(char* error) {
  const std::string said = error == nullptr ? "" : error;
  std::free(error);
  return said;
}

TEST_F(TwoCopiesTest, WhatOneHasOpenTheOtherLeavesAlone) {
  rocksdb_options_t* const options = rocksdb_options_create();
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "value"));
  // A text that RocksDB does not know it by.
  const std::string other_name = Dir() + "/";
  char* error = nullptr;
  rocksync_detach(options, other_name.c_str(), 0, NULL, NULL, &error);
  const std::string said = Said(error);
  EXPECT_NE(said.find("is open in this process already"), std::string::npos)
      << said;
  ASSERT_ROCKS_OK(Put("later", "value"));
  CloseAndCheck();
  // And once it is closed the other may have it.
  error = nullptr;
  rocksync_detach(options, other_name.c_str(), 0, NULL, NULL, &error);
  EXPECT_EQ(Said(error), "");
  rocksdb_options_destroy(options);
}

}  // namespace
}  // namespace rocksync
