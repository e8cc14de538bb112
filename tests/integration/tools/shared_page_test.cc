#include "tools/shared_page.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <optional>
#include <string>
#include <thread>

namespace rocksync {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

// Pages are "1", "2" and so on, each made once it is let go.
class SharedPageTest : public ::testing::Test {
 protected:
  std::future<std::string> Ask(std::optional<milliseconds> time) {
    return std::async(std::launch::async,
                      [this, time] { return page_.Get(time); });
  }
  void AwaitBegun(int page) {
    while (begun_ < page) std::this_thread::sleep_for(milliseconds(1));
  }
  void LetGo(int page) { let_go_ = page; }
  // Time for somebody who asks to come as far as he comes.
  static void Settle() { std::this_thread::sleep_for(milliseconds(50)); }

  std::atomic<int> begun_{0};
  std::atomic<int> let_go_{0};
  SharedPage page_{[this](std::optional<milliseconds> /*time*/) {
    const int number = ++begun_;
    while (let_go_ < number) std::this_thread::sleep_for(milliseconds(1));
    return std::to_string(number);
  }};
};

TEST_F(SharedPageTest, WhoAsksMeanwhileSharesTheNextOne) {
  std::future<std::string> first = Ask(hours(1));
  AwaitBegun(1);
  std::future<std::string> second = Ask(hours(1));
  std::future<std::string> third = Ask(std::nullopt);
  Settle();
  LetGo(2);
  EXPECT_EQ(first.get(), "1");
  EXPECT_EQ(second.get(), "2");
  EXPECT_EQ(third.get(), "2");
  LetGo(3);
  EXPECT_EQ(page_.Get(hours(1)), "3");
}

TEST_F(SharedPageTest, WhoHasNoTimeForTheNextOneDoesNotWaitForIt) {
  for (int page = 1; page < 20; page += 2) {
    // Who made this one asks again, before the other has seen it.
    std::future<std::string> both = std::async(std::launch::async, [this] {
      const std::string made = page_.Get(hours(1));
      return made + " and " + page_.Get(hours(1));
    });
    AwaitBegun(page);
    std::future<std::string> hasty = Ask(milliseconds(60));
    Settle();
    LetGo(page);
    AwaitBegun(page + 1);
    const std::future_status status = hasty.wait_for(std::chrono::seconds(20));
    LetGo(page + 1);
    both.wait();
    ASSERT_EQ(status, std::future_status::ready);
    EXPECT_EQ(hasty.get(), std::to_string(page));
  }
}

TEST_F(SharedPageTest, IsBusyForThoseWhoHaveLessTime) {
  EXPECT_FALSE(page_.IsBusyFor(milliseconds(1)));
  std::future<std::string> first = Ask(hours(1));
  AwaitBegun(1);
  EXPECT_TRUE(page_.IsBusyFor(milliseconds(1)));
  EXPECT_FALSE(page_.IsBusyFor(hours(2)));
  LetGo(1);
  EXPECT_EQ(first.get(), "1");
}

}  // namespace
}  // namespace rocksync
