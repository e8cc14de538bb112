#include "replication/transport/frame.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rocksync/transport.h"

namespace rocksync {
namespace {

using Result = FrameDecoder::Result;

std::string Framed(const std::string& body) {
  std::string frame;
  AppendFrameHeader(body.size(), &frame);
  return frame + body;
}

std::string Header(size_t size) {
  std::string header;
  AppendFrameHeader(size, &header);
  return header;
}

TEST(Frame, HeaderBytes) {
  EXPECT_EQ(Header(0), std::string("\x00", 1));
  EXPECT_EQ(Header(1), "\x01");
  EXPECT_EQ(Header(127), "\x7f");
  EXPECT_EQ(Header(128), "\x80\x01");
  EXPECT_EQ(Header(16383), "\xff\x7f");
  EXPECT_EQ(Header(16384), "\x80\x80\x01");
  EXPECT_EQ(Header(kMaxFrameBytes), "\x80\x80\x80\x08");
  EXPECT_EQ(Framed("abc"),
            "\x03"
            "abc");
}

TEST(Frame, SameFramesWhereverTheStreamIsCut) {
  const std::vector<std::string> bodies = {"a", "", std::string(127, 'b'),
                                           std::string(300, 'c'), "d"};
  std::string stream;
  for (const std::string& body : bodies) stream += Framed(body);
  for (size_t cut = 0; cut <= stream.size(); ++cut) {
    FrameDecoder decoder;
    std::vector<std::string> found;
    for (std::string_view piece : {std::string_view(stream).substr(0, cut),
                                   std::string_view(stream).substr(cut)}) {
      while (decoder.Consume(&piece) == Result::kFrame) {
        found.push_back(decoder.TakeBody());
      }
      EXPECT_TRUE(piece.empty());
    }
    EXPECT_EQ(found, bodies) << "cut at " << cut;
    EXPECT_FALSE(decoder.in_frame());
  }
}

TEST(Frame, TruncatedAtEveryOffsetIsNeverAFrame) {
  const std::string frame = Framed(std::string(200, 'x'));
  for (size_t size = 0; size < frame.size(); ++size) {
    FrameDecoder decoder;
    std::string_view input = std::string_view(frame).substr(0, size);
    EXPECT_EQ(decoder.Consume(&input), Result::kNeedMore);
    EXPECT_EQ(decoder.in_frame(), size > 0) << size;
  }
}

TEST(Frame, LargestIsAcceptedAndOneMoreIsNot) {
  const std::string largest(kMaxFrameBytes, 'x');
  const std::string frame = Framed(largest);
  FrameDecoder good;
  good.SetLimit(kMaxFrameBytes);
  std::string_view input = frame;
  ASSERT_EQ(good.Consume(&input), Result::kFrame);
  EXPECT_EQ(good.TakeBody(), largest);

  FrameDecoder bad;
  bad.SetLimit(kMaxFrameBytes);
  input = "\x81\x80\x80\x08";  // kMaxFrameBytes + 1
  EXPECT_EQ(bad.Consume(&input), Result::kCorrupt);
  EXPECT_NE(bad.error().find("16777217"), std::string::npos);
  EXPECT_NE(bad.error().find("16777216"), std::string::npos);
  input = "\x01z";
  EXPECT_EQ(bad.Consume(&input), Result::kCorrupt) << "it stays corrupt";
}

TEST(Frame, OnlySmallOnesUntilTheLimitIsRaised) {
  const std::string largest(kMaxUnauthenticatedFrameBytes, 'x');
  const std::string stream = Framed(largest) + Framed(largest + "y");
  FrameDecoder raised;
  std::string_view input = stream;
  ASSERT_EQ(raised.Consume(&input), Result::kFrame);
  EXPECT_EQ(raised.TakeBody(), largest);
  FrameDecoder not_raised = raised;
  std::string_view same = input;
  raised.SetLimit(kMaxUnauthenticatedFrameBytes + 1);
  ASSERT_EQ(raised.Consume(&input), Result::kFrame);
  EXPECT_EQ(raised.TakeBody(), largest + "y");
  EXPECT_EQ(not_raised.Consume(&same), Result::kCorrupt);
  EXPECT_EQ(not_raised.error(), "a frame claims 2049 bytes, the limit is 2048");
}

TEST(Frame, UsesTheMemoryOfAnEarlierOne) {
  FrameDecoder decoder;
  decoder.SetLimit(kMaxFrameBytes);
  decoder.Reuse(std::string(5000, 'o'));
  const std::string first = Framed(std::string(3000, 'a'));
  std::string_view input = first;
  ASSERT_EQ(decoder.Consume(&input), Result::kFrame);
  std::string body = decoder.TakeBody();
  EXPECT_EQ(body, std::string(3000, 'a'));
  EXPECT_GE(body.capacity(), 5000u);
  // Not in the middle of a frame.
  const std::string second = Framed("abcdef");
  std::string_view half = std::string_view(second).substr(0, 3);
  ASSERT_EQ(decoder.Consume(&half), Result::kNeedMore);
  decoder.Reuse(std::move(body));
  std::string_view rest = std::string_view(second).substr(3);
  ASSERT_EQ(decoder.Consume(&rest), Result::kFrame);
  EXPECT_EQ(decoder.TakeBody(), "abcdef");
}

TEST(Frame, RefusesLongAndOverlongLengths) {
  for (const std::string& bytes :
       {std::string("\xff\xff\xff\xff", 4), std::string("\x80\x80\x80\x80", 4),
        std::string("\x80\x00", 2), std::string("\x81\x80\x00", 3)}) {
    FrameDecoder decoder;
    std::string_view input = bytes;
    EXPECT_EQ(decoder.Consume(&input), Result::kCorrupt);
    EXPECT_FALSE(decoder.error().empty());
  }
}

}  // namespace
}  // namespace rocksync
