// docs/index_format.md in literal bytes: keys.

#include "replication/store/format/index_key.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/replication/store/format/literal_bytes.h"

namespace rocksync {
namespace {

TEST(IndexKeyTest, Bytes) {
  std::string key;
  AppendIndexKey(&key, {0x0102030405060708, 300, "key"});
  EXPECT_EQ(key, Bytes({1, 2, 3, 4, 5, 6, 7, 8, 0xac, 0x02, 'k', 'e', 'y'}));
  IndexKey parsed;
  ASSERT_TRUE(ParseIndexKey(key, &parsed));
  EXPECT_EQ(parsed.position, 0x0102030405060708u);
  EXPECT_EQ(parsed.family_id, 300u);
  EXPECT_EQ(parsed.key, "key");
  EXPECT_EQ(MetaKey("seal"),
            Bytes({0, 0, 0, 0, 0, 0, 0, 0, 's', 'e', 'a', 'l'}));
  EXPECT_FALSE(ParseIndexKey(MetaKey("seal"), &parsed));
  EXPECT_FALSE(ParseIndexKey("short", &parsed));
  EXPECT_FALSE(ParseIndexKey(Bytes({1, 2, 3, 4, 5, 6, 7, 8, 0x80}), &parsed));
}

}  // namespace
}  // namespace rocksync
