#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "exchange_driver.h"
#include "replication/reconcile/exchange.h"
#include "tests/support/random_elements.h"

namespace rocksync {
namespace {

ExchangeOptions BloomOptions(double rate) {
  ExchangeOptions options;
  options.mode = ExchangeMode::kBloom;
  options.false_positive_rate = rate;
  return options;
}

TEST(BloomExchangeTest, FindsAtItsRateAndIsNeverWrong) {
  const std::vector<ElementHash> shared = RandomElements(5000, 1);
  std::vector<ElementHash> a = RandomElements(1000, 2);
  std::vector<ElementHash> b = RandomElements(400, 3);
  a.insert(a.end(), shared.begin(), shared.end());
  b.insert(b.end(), shared.begin(), shared.end());
  for (const double rate : {0.5, 0.05}) {
    const Conversation talk =
        DriveSession(BloomOptions(rate), BloomOptions(rate), {}, a, b);
    ASSERT_TRUE(talk.status.ok()) << talk.status;
    ASSERT_TRUE(talk.done);
    EXPECT_EQ(talk.turns, 2u);
    const std::vector<uint32_t> truth[2] = {TrulyMissing(a, b),
                                            TrulyMissing(b, a)};
    for (int side = 0; side < 2; ++side) {
      EXPECT_TRUE(std::includes(truth[side].begin(), truth[side].end(),
                                talk.missing_there[side].begin(),
                                talk.missing_there[side].end()));
      EXPECT_NEAR(static_cast<double>(talk.missing_there[side].size()) /
                      static_cast<double>(truth[side].size()),
                  1 - rate, 0.1);
    }
  }
}

TEST(BloomExchangeTest, RoundsUnderFreshSeedsFindEverything) {
  std::vector<ElementHash> a = RandomElements(3000, 4);
  std::vector<ElementHash> b(a.begin() + 500, a.end());
  a.resize(2800);
  const std::vector<ElementHash> all_a = a;
  size_t rounds = 0;
  while (!TrulyMissing(a, b).empty() || !TrulyMissing(b, a).empty()) {
    ASSERT_LT(++rounds, 40u);
    MappingSeed seed = {};
    seed[0] = static_cast<uint8_t>(rounds);
    const Conversation talk =
        DriveSession(BloomOptions(0.5), BloomOptions(0.5), seed, a, b);
    ASSERT_TRUE(talk.done);
    const std::vector<ElementHash> old_a = a;
    for (const uint32_t i : talk.missing_there[1]) a.push_back(b[i]);
    for (const uint32_t i : talk.missing_there[0]) b.push_back(old_a[i]);
  }
  EXPECT_EQ(a.size(), 3000u);
}

TEST(BloomExchangeTest, EmptySides) {
  const std::vector<ElementHash> some = RandomElements(100, 5);
  for (const bool initiator_empty : {false, true}) {
    const std::vector<ElementHash> none;
    const auto& a = initiator_empty ? none : some;
    const auto& b = initiator_empty ? some : none;
    const Conversation talk =
        DriveSession(BloomOptions(0.5), BloomOptions(0.5), {}, a, b);
    ASSERT_TRUE(talk.done);
    EXPECT_EQ(talk.missing_there[initiator_empty].size(), 100u);
  }
  const Conversation both =
      DriveSession(BloomOptions(0.5), BloomOptions(0.5), {}, {}, {});
  EXPECT_TRUE(both.done);
}

TEST(BloomExchangeTest, LargeFiltersTravelInSlices) {
  const std::vector<ElementHash> a = RandomElements(5000, 6);
  const std::vector<ElementHash> b = RandomElements(3000, 7);
  ExchangeOptions small = BloomOptions(0.01);
  small.max_payload_bytes = 500;
  const Conversation whole =
      DriveSession(BloomOptions(0.01), BloomOptions(0.01), {}, a, b);
  const Conversation sliced = DriveSession(small, small, {}, a, b);
  ASSERT_TRUE(whole.done && sliced.done);
  EXPECT_EQ(whole.payloads.size(), 2u);
  EXPECT_EQ(sliced.payloads.size(), 12u + 8u);
  EXPECT_EQ(whole.missing_there[0], sliced.missing_there[0]);
  EXPECT_EQ(whole.missing_there[1], sliced.missing_there[1]);
}

TEST(BloomExchangeTest, HeaderBytes) {
  const std::vector<ElementHash> one = {{1, 2}};
  const auto initiator =
      NewExchange(Role::kInitiator, BloomOptions(0.5), {}, one, 0);
  std::string payload;
  ASSERT_TRUE(initiator->NextPayload(&payload));
  ASSERT_EQ(payload.size(), 10u);
  EXPECT_EQ(payload.substr(0, 9),
            std::string("\x01\x3f\xe0\x00\x00\x00\x00\x00\x00", 9));
}

TEST(BloomExchangeTest, RefusesBadPayloads) {
  const std::vector<ElementHash> mine = RandomElements(10, 8);
  const std::string half("\x01\x3f\xe0\x00\x00\x00\x00\x00\x00", 9);
  for (const std::string& payload : {
           std::string(),
           std::string("\x07"),            // unknown mode
           std::string("\0x", 2),          // another mode
           std::string("\x01\x3f\xe0"),    // truncated
           half,                           // no filter at all
           half + std::string(100, '\0'),  // longer than its shape
           std::string("\x01\x3f\xf0\0\0\0\0\0\0x", 10),  // another rate
       }) {
    const auto responder =
        NewExchange(Role::kResponder, BloomOptions(0.5), {}, mine, 10);
    EXPECT_FALSE(responder->Receive(payload).ok());
  }
  // An absurd claim costs nothing until the bytes have come.
  const auto responder = NewExchange(Role::kResponder, BloomOptions(0.5), {},
                                     mine, uint64_t{1} << 60);
  EXPECT_TRUE(responder->Receive(half + "x").ok());
  EXPECT_FALSE(responder->done());
}

}  // namespace
}  // namespace rocksync
