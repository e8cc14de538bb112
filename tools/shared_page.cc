#include "tools/shared_page.h"

#include <utility>

namespace rocksync {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLeastTime{100};  // to make a page in

}  // namespace

SharedPage::SharedPage(Make make) : make_(std::move(make)) {}

bool SharedPage::IsBusyFor(milliseconds time) {
  const std::lock_guard lock(mutex_);
  return IsBeingMade() && end_ > Clock::now() + time;
}

std::string SharedPage::Get(std::optional<milliseconds> time) {
  const auto end = time ? Clock::now() + *time : Clock::time_point::max();
  std::unique_lock lock(mutex_);
  const uint64_t begun = begun_;
  if (IsBeingMade()) {
    // Whether or not the next one is being made by then: who has no time for
    // that one must not wait for it.
    changed_.wait(lock, [&] { return made_ >= begun; });
    if (end - Clock::now() < took_ + kLeastTime) return page_;
  }
  // Of those that waited, the first to come here makes the next one.
  if (begun_ == begun) {
    const auto left =
        std::chrono::duration_cast<milliseconds>(end - Clock::now());
    MakeNext(time ? std::optional(left) : std::nullopt, &lock);
  } else {
    changed_.wait(lock, [&] { return made_ > begun; });
  }
  return page_;
}

void SharedPage::MakeNext(std::optional<milliseconds> time,
                          std::unique_lock<std::mutex>* lock) {
  const uint64_t number = ++begun_;
  const auto start = Clock::now();
  end_ = time ? start + *time : Clock::time_point::max();
  lock->unlock();
  std::string page = make_(time);
  lock->lock();
  took_ = Clock::now() - start;
  page_ = std::move(page);
  made_ = number;
  changed_.notify_all();
}

}  // namespace rocksync
