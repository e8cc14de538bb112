// Sessions: whatever the peer sends.

#include <functional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "replication/session/messages.h"
#include "replication/session/pair_coding.h"
#include "tests/unit/replication/session/session_fixture.h"

namespace rocksync {
namespace {

// A lie of the initiator's, in place of its first message of a type.
class LiesTest : public SessionTest {
 protected:
  // Returns what the responder says of it.
  std::string Lie(MessageType type, std::function<void(std::string*)> lie) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    for (int i = 0; i < 300; ++i) a.Put(0, absl::StrCat(i), "of a");
    ExpectProven(DriveSession(&a, &b));
    for (int i = 0; i < 30; ++i) a.Put(0, absl::StrCat(i), "newer");
    for (int i = 20; i < 50; ++i) b.Put(0, absl::StrCat(i), "newest");
    const MemoryStorage::Records before = b.records();
    SessionRunOptions options;
    options.initiator.exchange.mode = ExchangeMode::kBloom;
    bool done = false;
    options.tamper = [&](Role from, std::string* message) {
      if (done || from != Role::kInitiator ||
          ((*message)[0] & kTypeMask) != static_cast<uint8_t>(type)) {
        return;
      }
      lie(message);
      done = true;
    };
    const SessionRunResult result = DriveSession(&a, &b, options);
    EXPECT_TRUE(done);
    EXPECT_FALSE(result.responder.proven_equal);
    EXPECT_EQ(result.responder_status.code(),
              absl::StatusCode::kInvalidArgument);
    // Newer values of b are still there.
    for (int i = 20; i < 50; ++i) {
      EXPECT_EQ(b.Get(0, absl::StrCat(i)), "newest");
    }
    return std::string(result.responder_status.message());
  }

  // The same, with another body behind the same head.
  std::string LieBody(MessageType type, const std::string& body) {
    return Lie(type, [&](std::string* message) {
      *message = message->substr(0, 1) + body;
    });
  }
  static std::string Offer(std::string_view key, uint32_t family = 0) {
    std::string body;
    PairEncoder(&body).Add({.family = family,
                            .key = key,
                            .version = {.time = 5, .replica = 9},
                            .kind = WirePair::Kind::kTombstone,
                            .value_size = 0,
                            .value = {},
                            .hash = {}});
    return body;
  }
};

TEST_F(LiesTest, AreNamed) {
  const auto replaced_by = [](std::string with) {
    return [with](std::string* message) { *message = with; };
  };
  const MessageType hello = MessageType::kHello;
  EXPECT_EQ(Lie(hello, replaced_by("\x82")),
            "Equal: not in answer to a summary of everything");
  EXPECT_EQ(Lie(hello, replaced_by("\x83\x05")),
            "Differs: not in answer to a summary of a batch");
  EXPECT_EQ(Lie(hello, replaced_by("\x84\x05")),
            "Locate: not in answer to Hello or a summary of everything");
  EXPECT_EQ(Lie(hello, replaced_by("\x87xyz")),
            "Payload: no exchange is running");
  EXPECT_EQ(Lie(hello, replaced_by("\x88")),
            "Pass: no exchange and no shipping is in progress");
  EXPECT_EQ(Lie(hello, replaced_by("\x89")),
            "Offers: no shipping is in progress");
  EXPECT_EQ(Lie(hello, replaced_by("\x8e")),
            "Abandon: no round of a batch has ended");
  EXPECT_EQ(Lie(hello, replaced_by("\x8f\x01")), "End: before the hello");
  EXPECT_EQ(Lie(hello, replaced_by("\x90")),
            "Setup: not a message of a session");
  EXPECT_EQ(Lie(hello, replaced_by("\x80")),
            "unknown message: not a message of a session");
  EXPECT_EQ(Lie(hello, replaced_by("\x9f")),
            "unknown message: not a message of a session");
  EXPECT_EQ(Lie(hello, replaced_by("\xa2")), "Equal: unknown flags");
  EXPECT_EQ(Lie(hello, replaced_by("\x81")), "Hello: no count and digest");
  EXPECT_EQ(LieBody(MessageType::kPayload, ""), "filter slice of a wrong size");
  EXPECT_EQ(LieBody(MessageType::kPayload, std::string(10'000, 'x')),
            "filter slice of a wrong size");
  EXPECT_EQ(Lie(MessageType::kPayload, replaced_by("\xc8")),
            "Pass: idle, but nothing is shipped");
  EXPECT_EQ(LieBody(MessageType::kOffers, "x"),
            "Offers: truncated or oversized key");
  EXPECT_EQ(LieBody(MessageType::kOffers, Offer("1", 2)),
            "Offers: unknown family");
  EXPECT_EQ(LieBody(MessageType::kOffers, Offer("1") + Offer("1")),
            "Offers: not in order");
  std::string many;
  PairEncoder encoder(&many);
  for (int i = 0; i < 601; ++i) {
    encoder.Add({.family = 0,
                 .key = "1",
                 .version = {},
                 .kind = WirePair::Kind::kTombstone,
                 .value_size = 0,
                 .value = {},
                 .hash = {}});
  }
  EXPECT_EQ(LieBody(MessageType::kPairs, many),
            "Pairs: more pairs than the peer has elements");
  EXPECT_EQ(LieBody(MessageType::kPairs, ""), "Pairs: empty");
  EXPECT_EQ(LieBody(MessageType::kValues, ""), "Values: empty");
  EXPECT_EQ(LieBody(MessageType::kValues, "\x01"),
            "Values: not the size that was offered");
  EXPECT_EQ(LieBody(MessageType::kValues, "\x7f"), "Values: truncated value");
  EXPECT_EQ(LieBody(MessageType::kValues, "\x80"), "Values: truncated size");
  EXPECT_EQ(LieBody(MessageType::kValues, std::string(500, '\0')),
            "Values: a value nobody asked for");
  EXPECT_EQ(Lie(MessageType::kValues, replaced_by("\xc8")),
            "Values: missing: none of those wanted came");
  for (const size_t bytes : {size_t{0}, size_t{1}, kLeastChunkBytes - 1}) {
    EXPECT_EQ(Lie(MessageType::kValues,
                  replaced_by("\x8c" + std::string(bytes, 'x'))),
              "Chunk: of fewer than 64 KiB");
  }
  EXPECT_EQ(LieBody(MessageType::kWants, "\x02"), "Wants: unknown form");
  EXPECT_EQ(Lie(MessageType::kWants, replaced_by("\x88")),
            "Wants: missing: offers went unanswered");
  EXPECT_EQ(Lie(MessageType::kOffers, replaced_by("\x0a")),
            "Wants: nothing was offered");
  EXPECT_EQ(
      Lie(MessageType::kOffers, replaced_by("\x86" + std::string(17, '\0'))),
      "Summary: before all was sent");
  EXPECT_EQ(Lie(MessageType::kOffers, replaced_by("\x06")),
            "Summary: not a count and a digest");
}

// Of the 2^16 leaves a batch has a few dozen.
TEST_F(LiesTest, AKeyThatIsNotInTheBatch) {
  for (const MessageType type : {MessageType::kOffers, MessageType::kPairs}) {
    MemoryStorage a = Replica(1);
    MemoryStorage b = Replica(2);
    for (int i = 0; i < 300; ++i) a.Put(0, absl::StrCat(i), "of a");
    ExpectProven(DriveSession(&a, &b));
    for (int i = 0; i < 30; ++i) a.Put(0, absl::StrCat(i), "newer");
    SessionRunOptions options;
    options.initiator.max_batch_elements = 20;
    options.responder.max_batch_elements = 20;
    bool done = false;
    options.tamper = [&](Role from, std::string* message) {
      const auto sent = static_cast<MessageType>((*message)[0] & kTypeMask);
      if (done || from != Role::kInitiator ||
          (sent != MessageType::kOffers && sent != MessageType::kPairs)) {
        return;
      }
      const int flags = (*message)[0] & ~kTypeMask;
      *message = static_cast<char>(flags | static_cast<int>(type)) +
                 Offer("elsewhere");
      done = true;
    };
    const SessionRunResult result = DriveSession(&a, &b, options);
    EXPECT_TRUE(done);
    EXPECT_TRUE(absl::StrContains(
        std::string(result.responder_status.message()).c_str(),
        "a key that is not in the batch"))
        << result.responder_status;
    EXPECT_FALSE(b.Get(0, "elsewhere").has_value());
  }
}

}  // namespace
}  // namespace rocksync
