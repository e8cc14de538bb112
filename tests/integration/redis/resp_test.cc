#include "examples/replicated_store/resp.h"

#include <string>
#include <string_view>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rocksync {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Outcome = RespParser::Outcome;

struct Parsed {
  std::vector<RespRequest> requests;
  std::string error;  // empty: none
  bool operator==(const Parsed&) const = default;
};

void Feed(RespParser* parser, std::string_view bytes, Parsed* parsed) {
  RespRequest request;
  for (;;) {
    switch (parser->Next(&bytes, &request)) {
      case Outcome::kRequest:
        parsed->requests.push_back(request);
        break;
      case Outcome::kNeedMore:
        EXPECT_TRUE(bytes.empty());
        return;
      case Outcome::kError:
        parsed->error = parser->error();
        return;
    }
  }
}

// Parses whole, byte by byte, and cut in two at every offset.
Parsed Parse(std::string_view bytes, const RespLimits& limits = {}) {
  Parsed whole;
  RespParser parser(limits);
  Feed(&parser, bytes, &whole);

  Parsed single;
  RespParser by_byte(limits);
  for (const char& c : bytes) {
    if (single.error.empty()) Feed(&by_byte, {&c, 1}, &single);
  }
  EXPECT_EQ(single, whole) << bytes;

  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    Parsed split;
    RespParser in_two(limits);
    Feed(&in_two, bytes.substr(0, cut), &split);
    if (split.error.empty()) Feed(&in_two, bytes.substr(cut), &split);
    EXPECT_EQ(split, whole) << bytes << " cut at " << cut;
  }
  return whole;
}

std::vector<RespRequest> Requests(std::string_view bytes) {
  const Parsed parsed = Parse(bytes);
  EXPECT_EQ(parsed.error, "") << bytes;
  return parsed.requests;
}

std::string Error(std::string_view bytes, const RespLimits& limits = {}) {
  return Parse(bytes, limits).error;
}

TEST(RespParser, Arrays) {
  EXPECT_THAT(Requests("*1\r\n$4\r\nPING\r\n"),
              ElementsAre(ElementsAre("PING")));
  EXPECT_THAT(Requests("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n"),
              ElementsAre(ElementsAre("SET", "k", "")));
}

TEST(RespParser, ArgumentsHoldAnyBytes) {
  EXPECT_THAT(
      Requests(std::string_view("*2\r\n$4\r\n\r\n\0*\r\n$2\r\n$1\r\n", 22)),
      ElementsAre(ElementsAre(std::string("\r\n\0*", 4), "$1")));
}

TEST(RespParser, Pipelines) {
  EXPECT_THAT(
      Requests("*1\r\n$4\r\nPING\r\nPING\r\n*2\r\n$4\r\nECHO\r\n$1\r\na\r\n"),
      ElementsAre(ElementsAre("PING"), ElementsAre("PING"),
                  ElementsAre("ECHO", "a")));
}

TEST(RespParser, EmptyRequestsAreNone) {
  EXPECT_THAT(Requests("\r\n\n   \r\n*0\r\n*-1\r\n"), IsEmpty());
  EXPECT_THAT(Requests("*0\r\nPING\r\n"), ElementsAre(ElementsAre("PING")));
}

TEST(RespParser, IncompleteIsNoRequest) {
  EXPECT_THAT(Requests("*2\r\n$3\r\nGET\r\n$5\r\nab"), IsEmpty());
  EXPECT_THAT(Requests("PING"), IsEmpty());
}

TEST(RespParser, Inline) {
  EXPECT_THAT(Requests("PING\n"), ElementsAre(ElementsAre("PING")));
  EXPECT_THAT(Requests("  set\tkey  value \r\n"),
              ElementsAre(ElementsAre("set", "key", "value")));
  EXPECT_THAT(Requests("set k \"a b\\n\\x41\\\"\\\\\"\r\n"),
              ElementsAre(ElementsAre("set", "k", "a b\nA\"\\")));
  EXPECT_THAT(Requests("set k 'a \"b\\'\\n'\r\n"),
              ElementsAre(ElementsAre("set", "k", "a \"b'\\n")));
  EXPECT_THAT(Requests("set k \"\"\r\n"),
              ElementsAre(ElementsAre("set", "k", "")));
  EXPECT_THAT(Requests("echo \"\\xZZ\"\r\n"),
              ElementsAre(ElementsAre("echo", "xZZ")));
}

TEST(RespParser, InlineQuotesMustClose) {
  EXPECT_EQ(Error("set k \"a\r\n"), "unbalanced quotes");
  EXPECT_EQ(Error("set k 'a\r\n"), "unbalanced quotes");
  EXPECT_EQ(Error("set k \"a\"b\r\n"), "unbalanced quotes");
  EXPECT_EQ(Error("set k \"a\\\r\n"), "unbalanced quotes");
}

// A web page may have a browser send them, with what it likes behind them.
TEST(RespParser, HttpIsAnErrorFromItsFirstLineOn) {
  for (const char* line :
       {"POST / HTTP/1.1", "post", "Host: 127.0.0.1:6379", "host: x",
        "GET / HTTP/1.1", "PUT /x HTTP/1.1", "options * http/1.0",
        "DELETE /x HTTP/1.1", "patch / HTTP/2"}) {
    const Parsed parsed = Parse(std::string(line) + "\r\nSET pwned 1\r\n");
    EXPECT_THAT(parsed.requests, IsEmpty()) << line;
    EXPECT_THAT(parsed.error, HasSubstr("HTTP")) << line;
  }
  const std::string hello("\x16\x03\x01\x02\r\nSET pwned 1\r\n");
  EXPECT_THAT(Parse(hello).requests, IsEmpty());
  EXPECT_THAT(Parse(hello).error, HasSubstr("no request"));
  // As arguments they are words like others.
  EXPECT_THAT(Parse("ECHO POST\r\nSET Host: HTTP/1.1\r\n").requests,
              ElementsAre(RespRequest{"ECHO", "POST"},
                          RespRequest{"SET", "Host:", "HTTP/1.1"}));
}

TEST(RespParser, WrongHeaders) {
  EXPECT_EQ(Error("*x\r\n"), "invalid number of arguments");
  EXPECT_EQ(Error("*\r\n"), "invalid number of arguments");
  EXPECT_EQ(Error("*1x\r\n"), "invalid number of arguments");
  EXPECT_EQ(Error("*99999999999999999999\r\n"), "invalid number of arguments");
  EXPECT_EQ(Error("*1\r\n+PING\r\n"),
            "expected '$' and the length of an argument");
  EXPECT_EQ(Error("*1\r\n\r\n"), "expected '$' and the length of an argument");
  EXPECT_EQ(Error("*1\r\n$-1\r\n"), "invalid length of an argument");
  EXPECT_EQ(Error("*1\r\n$\r\n"), "invalid length of an argument");
  EXPECT_THAT(Error("*1\r\n$3\r\nPINGGX"), HasSubstr("line"));
  EXPECT_EQ(Error("*1\r\n$4\r\nPINGG\r\n"),
            "expected a line break after an argument");
}

TEST(RespParser, Bounds) {
  RespLimits limits;
  limits.max_arguments = 3;
  limits.max_argument_bytes = 10;
  limits.max_request_bytes = 120;
  limits.max_line_bytes = 20;
  EXPECT_EQ(Error("*4\r\n", limits), "invalid number of arguments");
  EXPECT_EQ(Error("*3\r\n$11\r\n", limits),
            "an argument of more than 10 bytes");
  EXPECT_EQ(
      Error("*3\r\n$10\r\n0123456789\r\n$10\r\n0123456789\r\n$5\r\n", limits),
      "a request of more than 120 bytes");
  EXPECT_THAT(Error("a line of more than 20 bytes", limits),
              HasSubstr("too long"));
  EXPECT_THAT(Error("*00000000000000000000000000000000000000001", {}),
              HasSubstr("too long"));
  // A request begins anew after each.
  EXPECT_EQ(
      Error("*1\r\n$10\r\n0123456789\r\n*3\r\n$10\r\n0123456789\r\n", limits),
      "");
  limits.max_arguments = 100;
  EXPECT_EQ(Error("*4\r\n", limits), "too many arguments");
}

// Memory follows what came, not what was claimed.
TEST(RespParser, AClaimCostsNothing) {
  RespParser parser;
  std::string_view input = "*1048576\r\n$67108864\r\nx";
  RespRequest request;
  EXPECT_EQ(parser.Next(&input, &request), Outcome::kNeedMore);
}

TEST(RespParser, ErrorsLast) {
  RespParser parser;
  std::string_view input = "*x\r\nPING\r\n";
  RespRequest request;
  EXPECT_EQ(parser.Next(&input, &request), Outcome::kError);
  EXPECT_EQ(parser.Next(&input, &request), Outcome::kError);
  EXPECT_EQ(parser.error(), "invalid number of arguments");
}

TEST(RespReplies, Bytes) {
  std::string out;
  AppendSimple(&out, "OK");
  AppendError(&out, "ERR two\r\nlines");
  AppendInteger(&out, -7);
  AppendBulk(&out, std::string_view("a\r\n\0", 4));
  AppendNull(&out);
  AppendArray(&out, 2);
  EXPECT_EQ(out,
            std::string("+OK\r\n-ERR two  lines\r\n:-7\r\n$4\r\na\r\n\0\r\n"
                        "$-1\r\n*2\r\n",
                        46));
}

}  // namespace
}  // namespace rocksync
