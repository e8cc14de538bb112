#include "sketch/element/coding.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace rocksync {
namespace {

using std::string_literals::operator""s;

TEST(CodingTest, FixedIsBigEndian) {
  std::string out;
  PutFixed8(&out, 0xab);
  PutFixed16(&out, 0x0102);
  PutFixed32(&out, 0x03040506);
  PutFixed64(&out, 0x0708090a0b0c0d0e);
  EXPECT_EQ(out,
            "\xab\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e");
  std::string_view input = out;
  uint8_t a = 0;
  uint16_t b = 0;
  uint32_t c = 0;
  uint64_t d = 0;
  ASSERT_TRUE(GetFixed8(&input, &a) && GetFixed16(&input, &b) &&
              GetFixed32(&input, &c) && GetFixed64(&input, &d));
  EXPECT_EQ(a, 0xab);
  EXPECT_EQ(b, 0x0102);
  EXPECT_EQ(c, 0x03040506u);
  EXPECT_EQ(d, 0x0708090a0b0c0d0eu);
  EXPECT_TRUE(input.empty());
  EXPECT_FALSE(GetFixed8(&input, &a));
}

TEST(CodingTest, FixedRefusesTruncation) {
  for (size_t size = 0; size < 8; ++size) {
    const std::string bytes(size, '\x01');
    std::string_view input = bytes;
    uint64_t value = 0;
    EXPECT_FALSE(GetFixed64(&input, &value)) << size;
  }
}

TEST(CodingTest, VarintBytes) {
  const struct {
    uint64_t value;
    std::string bytes;
  } cases[] = {
      {0, "\x00"s},
      {127, "\x7f"s},
      {128, "\x80\x01"s},
      {300, "\xac\x02"s},
      {uint64_t{1} << 60, "\x80\x80\x80\x80\x80\x80\x80\x80\x10"s},
      {std::numeric_limits<uint64_t>::max(),
       "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s},
  };
  for (const auto& c : cases) {
    std::string out;
    PutVarint64(&out, c.value);
    EXPECT_EQ(out, c.bytes);
    std::string_view input = out;
    uint64_t value = 0;
    ASSERT_TRUE(GetVarint64(&input, &value));
    EXPECT_EQ(value, c.value);
    EXPECT_TRUE(input.empty());
    for (size_t cut = 0; cut < out.size(); ++cut) {
      std::string_view truncated = std::string_view(out).substr(0, cut);
      EXPECT_FALSE(GetVarint64(&truncated, &value));
    }
  }
}

TEST(CodingTest, VarintRefusesOverflowAndLongForms) {
  for (const std::string& bytes : {
           "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"s,      // 2^64 and more
           "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"s,  // 11 bytes
           "\x80\x00"s,                                      // 0 in two bytes
           "\xff\x00"s,                                      // 127 in two bytes
       }) {
    std::string_view input = bytes;
    uint64_t value = 0;
    EXPECT_FALSE(GetVarint64(&input, &value));
  }
}

TEST(CodingTest, VarintObeysItsBound) {
  std::string out;
  PutVarint64(&out, 300);
  uint64_t value = 0;
  std::string_view input = out;
  EXPECT_FALSE(GetVarint64(&input, 299, &value));
  input = out;
  EXPECT_TRUE(GetVarint64(&input, 300, &value));
}

TEST(CodingTest, BytesRefuseTruncation) {
  for (size_t size = 0; size < 5; ++size) {
    std::string_view input = std::string_view("abcdef").substr(0, 3);
    std::string_view value;
    ASSERT_EQ(GetBytes(&input, size, &value), size <= 3) << size;
    if (size > 3) continue;
    EXPECT_EQ(value, std::string_view("abc").substr(0, size));
    EXPECT_EQ(input.size(), 3 - size);
  }
}

TEST(CodingTest, LengthPrefixed) {
  std::string out;
  PutLengthPrefixed(&out, "abc");
  PutLengthPrefixed(&out, "");
  EXPECT_EQ(out,
            "\x03"s
            "abc"
            "\x00"s);
  std::string_view input = out;
  std::string_view value;
  ASSERT_TRUE(GetLengthPrefixed(&input, 3, &value));
  EXPECT_EQ(value, "abc");
  ASSERT_TRUE(GetLengthPrefixed(&input, 3, &value));
  EXPECT_EQ(value, "");
  EXPECT_TRUE(input.empty());

  input = out;
  EXPECT_FALSE(GetLengthPrefixed(&input, 2, &value));  // longer than allowed
  input = std::string_view(out).substr(0, 3);
  EXPECT_FALSE(GetLengthPrefixed(&input, 100, &value));  // longer than it is
}

}  // namespace
}  // namespace rocksync
