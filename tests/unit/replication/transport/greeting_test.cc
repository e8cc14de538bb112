#include "replication/transport/greeting.h"

#include <gtest/gtest.h>

namespace rocksync {
namespace {

TEST(Greeting, Bytes) {
  EXPECT_EQ(EncodeGreeting(rocksdb::Status::OK()), std::string("\x00", 1));
  EXPECT_EQ(EncodeGreeting(rocksdb::Status::Busy("full")),
            "\x05\x02"
            "full");
  EXPECT_EQ(EncodeGreeting(rocksdb::Status::InvalidArgument("no")),
            "\x03\x01"
            "no");
}

TEST(Greeting, SaysWhoAndWhy) {
  EXPECT_TRUE(DecodeGreeting("", "p").ok());
  const rocksdb::Status busy = DecodeGreeting(
      "\x02"
      "full",
      "peer-7");
  EXPECT_TRUE(busy.IsBusy());
  EXPECT_NE(busy.ToString().find("peer-7: full"), std::string::npos);
  const rocksdb::Status no = DecodeGreeting(
      "\x01"
      "no",
      "peer-7");
  EXPECT_TRUE(no.IsInvalidArgument());
  EXPECT_NE(no.ToString().find("peer-7 refused this replica: no"),
            std::string::npos);
}

TEST(Greeting, TextIsBoundedAndPrintable) {
  const std::string frame = EncodeGreeting(
      rocksdb::Status::InvalidArgument(std::string(10'000, 'x')));
  EXPECT_EQ(frame.size(), 2u + 1 + 256);
  EXPECT_TRUE(DecodeGreeting(frame.substr(2), "p").IsInvalidArgument());
  EXPECT_TRUE(
      DecodeGreeting("\x01" + std::string(257, 'x'), "p").IsCorruption());
  EXPECT_TRUE(DecodeGreeting("\x03what", "p").IsCorruption());
  EXPECT_NE(DecodeGreeting("\x01\x1b[2J\n", "p").ToString().find("?[2J?"),
            std::string::npos);
}

}  // namespace
}  // namespace rocksync
