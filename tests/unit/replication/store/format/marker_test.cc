// The marker in literal bytes.

#include "replication/store/format/marker.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "rocksdb/env.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/replication/store/listing_marker.h"

namespace rocksync {
namespace {

TEST(MarkerTest, Bytes) {
  Marker marker = Listing({"", kNew});
  marker.files = {{"M", 258, 3}};
  marker.rest = true;
  const std::string bytes = Encode(marker);
  const std::string body = std::string("rocksync\x03\x02/d\x02/w\x02", 16) +
                           std::string("\x00\x10", 2) + kNew +
                           std::string("\x00\x00\x00\x01\x01M", 6) +
                           std::string("\x00\x00\x00\x00\x00\x00\x01\x02", 8) +
                           std::string("\x00\x00\x00\x00\x00\x00\x00\x03", 8) +
                           "\x02";
  EXPECT_EQ(bytes.substr(0, bytes.size() - 8), body);
  EXPECT_EQ(rocksdb::Slice(bytes.substr(bytes.size() - 8)).ToString(true),
            "B51BC2FD6011E6B0");
}

TEST(MarkerTest, ComesBackAndDamageIsSeen) {
  for (const auto& marks :
       {std::vector<std::string>{kOld}, {kOld, kNew}, {"", kNew}, {kOld, ""}}) {
    Marker marker = Listing(marks);
    marker.files = {{"MANIFEST-000001", 7}, {"000002.log", 5, 99}};
    marker.index_in_tables = true;
    const std::string bytes = Encode(marker);
    Marker parsed;
    ASSERT_TRUE(Decode(bytes, &parsed));
    EXPECT_EQ(Encode(parsed), bytes);
    EXPECT_EQ(parsed.marks, marks);
    for (size_t i = 0; i < bytes.size(); ++i) {
      EXPECT_FALSE(Decode(bytes.substr(0, i), &parsed)) << i;
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ 1);
      EXPECT_FALSE(Decode(damaged, &parsed)) << i;
    }
    EXPECT_FALSE(Decode(bytes + "x", &parsed));
  }
}

TEST(MarkerTest, MarksAreRandom) {
  std::set<std::string> marks;
  for (int i = 0; i < 100; ++i) marks.insert(NewMark());
  EXPECT_EQ(marks.size(), 100u);
  EXPECT_EQ(marks.begin()->size(), kMarkBytes);
}

TEST(MarkerTest, ReplacedAndRemoved) {
  rocksdb::Env* const env = rocksdb::Env::Default();
  const TemporaryDirectory scratch;
  const std::string& directory = scratch.path();
  Marker read;
  EXPECT_TRUE(ReadMarker(env, directory, &read).IsNotFound());
  for (const std::string& mark : {kOld, kNew}) {
    ASSERT_TRUE(WriteMarker(env, directory, Listing({mark})).ok());
    ASSERT_TRUE(ReadMarker(env, directory, &read).ok());
    EXPECT_TRUE(read.Lists(mark));
    EXPECT_EQ(read.marks.size(), 1u);
  }
  EXPECT_FALSE(read.Lists(kOld));
  ASSERT_TRUE(RemoveMarker(env, directory).ok());
  EXPECT_TRUE(RemoveMarker(env, directory).ok());
  EXPECT_TRUE(ReadMarker(env, directory, &read).IsNotFound());
  EXPECT_TRUE(std::filesystem::is_empty(directory));
}

}  // namespace
}  // namespace rocksync
