#include "replication/transport/address.h"

#include <gtest/gtest.h>

#include "rocksync/transport.h"

namespace rocksync {
namespace {

TEST(Address, ParsesAndFormats) {
  for (const char* text :
       {"127.0.0.1:7400", "[::1]:0", "replica-2.example:65535", "127.1:7",
        "3com.example:1", "300.1.1.example:1"}) {
    HostPort parsed;
    ASSERT_TRUE(ParseAddress(text, &parsed).ok()) << text;
    EXPECT_EQ(FormatAddress(parsed), text);
  }
  HostPort parsed;
  ASSERT_TRUE(ParseAddress("[fe80::1%eth0]:7", &parsed).ok());
  EXPECT_EQ(parsed.host, "fe80::1%eth0");
  EXPECT_EQ(parsed.port, 7);
}

TEST(Address, RefusesWithTheAddressAndAnExample) {
  for (const char* text :
       {"", "host", "host:", ":7400", "[]:1", "host:port", "host:65536",
        "host:-1", "host: 1", "host:1x", "::1:7400", "300.1.1.1:7400",
        "1.2.3.4.5:1", ".:1"}) {
    HostPort parsed;
    const rocksdb::Status s = ParseAddress(text, &parsed);
    EXPECT_TRUE(s.IsInvalidArgument()) << text;
    EXPECT_NE(s.ToString().find("\"" + std::string(text) + "\""),
              std::string::npos)
        << s.ToString();
    EXPECT_NE(s.ToString().find("127.0.0.1:7400"), std::string::npos);
  }
}

TEST(Address, AHostsNameHasALimit) {
  HostPort parsed;
  EXPECT_TRUE(ParseAddress(std::string(253, 'a') + ":1", &parsed).ok());
  const rocksdb::Status s =
      ParseAddress(std::string(100'000, 'a') + ":1", &parsed);
  EXPECT_NE(s.ToString().find("more than 253"), std::string::npos);
  EXPECT_LT(s.ToString().size(), 200u);  // is not repeated
}

TEST(Address, OneToConnectToHasAPort) {
  for (const char* text : {"127.0.0.1:7400", "[::1]:1", "host.example:65535"}) {
    EXPECT_TRUE(CheckHostPort(text).ok()) << text;
  }
  for (const char* text : {"", "host", "host:0", "[::1]:0", "host:65536"}) {
    const rocksdb::Status s = CheckHostPort(text);
    EXPECT_TRUE(s.IsInvalidArgument()) << text;
    EXPECT_NE(s.ToString().find("\"" + std::string(text) + "\""),
              std::string::npos)
        << s.ToString();
  }
}

// Who may give one to a replica must not write lines into its log. Statistics
// are UTF-8.
TEST(Address, RefusesWhatIsNotPrintableAsciiAndDoesNotRepeatIt) {
  for (const char* text : {"host\n:1", "ho\rst:1", "\x1b[2Jhost:1", "h\x7f:1",
                           "\xff\xfe:2", "\xe2\x82\xac:4", "\xed\xa0\x80:5"}) {
    HostPort parsed;
    const rocksdb::Status s = ParseAddress(text, &parsed);
    EXPECT_TRUE(s.IsInvalidArgument()) << text;
    EXPECT_EQ(s.ToString().find(text), std::string::npos);
  }
}

}  // namespace
}  // namespace rocksync
