#include "replication/store/index/seek_behind.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace rocksync {
namespace {

constexpr size_t kWindow = 8;     // bytes of a key that are halved as a number
constexpr size_t kOneByOne = 32;  // bytes; then more are cut off at once

// Returns the first key behind all that begin with `prefix`; nullopt: none
// exists.
std::optional<std::string> Behind(std::string_view prefix) {
  std::string key(prefix);
  while (!key.empty() && key.back() == '\xff') key.pop_back();
  if (key.empty()) return std::nullopt;
  key.back() = static_cast<char>(static_cast<uint8_t>(key.back()) + 1);
  return key;
}

// Returns the window of `key` at `at` as a number, as if zeros followed the
// key.
uint64_t Number(std::string_view key, size_t at) {
  uint64_t number = 0;
  for (size_t i = at; i < at + kWindow; ++i) {
    number = number << 8 |
             (i < key.size() ? static_cast<uint8_t>(key[i]) : uint8_t{0});
  }
  return number;
}

std::string WithWindow(std::string_view key, size_t at, uint64_t number) {
  std::string out(key.substr(0, at));
  out.resize(at, '\0');
  for (size_t i = 0; i < kWindow; ++i) {
    out.push_back(static_cast<char>(number >> (8 * (kWindow - 1 - i))));
  }
  return out;
}

class Search {
 public:
  using NewIterator = std::function<std::unique_ptr<rocksdb::Iterator>()>;

  Search(const NewIterator& new_iterator, std::string_view key)
      : new_iterator_(new_iterator), low_(key) {}

  std::unique_ptr<rocksdb::Iterator> Run() {
    Shorten();
    size_t at = 0;
    if (high_.has_value()) {
      const size_t common = std::min(low_.size(), high_->size());
      while (at < common && low_[at] == (*high_)[at]) ++at;
    }
    Narrow(at);
    // Searches once more in the next window, if the end of what is between
    // reads.
    const size_t next = at + kWindow;
    if (Reads(WithWindow(low_, next, UINT64_MAX))) {
      high_ = WithWindow(low_, next, UINT64_MAX);
      Narrow(next);
    }
    const bool found = high_.has_value() && Reads(*high_) && iterator_->Valid();
    return found ? std::move(iterator_) : nullptr;
  }

 private:
  bool Reads(const std::string& from) {
    iterator_ = new_iterator_();
    iterator_->Seek(from);
    return iterator_->status().ok();
  }

  // Seeks behind all keys with a prefix of low_, and makes the prefix shorter
  // until that reads. Behind the last of all keys nothing has to be read.
  void Shorten() {
    const std::string key = low_;
    const auto try_without = [&](size_t bytes) {
      std::optional<std::string> from =
          Behind(std::string_view(key).substr(0, key.size() - bytes));
      const bool reads = !from.has_value() || Reads(*from);
      if (reads) {
        high_ = std::move(from);
      } else {
        low_ = std::move(*from);
      }
      return reads;
    };
    size_t fails = 0;
    size_t reads = 0;
    if (try_without(0)) return;
    while (reads == 0) {
      const size_t step = fails < kOneByOne ? 1 : fails;
      const size_t bytes = std::min(fails + step, key.size());
      (try_without(bytes) ? reads : fails) = bytes;
    }
    while (reads - fails > 1) {
      const size_t bytes = fails + (reads - fails) / 2;
      (try_without(bytes) ? reads : fails) = bytes;
    }
  }

  // Halves the distance between low_ and high_, which first differ at `at`.
  void Narrow(size_t at) {
    uint64_t fails = Number(low_, at);
    uint64_t reads = high_.has_value() ? Number(*high_, at) : UINT64_MAX;
    if (fails >= reads) return;
    const auto try_at = [&](uint64_t number) {
      std::string from = WithWindow(low_, at, number);
      const bool found = Reads(from);
      (found ? reads : fails) = number;
      if (found) high_ = std::move(from);
      return found;
    };
    const uint64_t first = fails;
    const uint64_t all = reads - fails;
    for (uint64_t step = all / 256 + 1; step < all; step *= 2) {
      if (try_at(first + step) || step > all / 2) break;
    }
    while (reads - fails > 1) try_at(fails + (reads - fails) / 2);
    low_ = WithWindow(low_, at, fails);
  }

  const NewIterator& new_iterator_;
  std::unique_ptr<rocksdb::Iterator> iterator_;  // the latest one
  std::string low_;                              // a seek to it fails
  std::optional<std::string> high_;  // a seek to it reads; none: the end
};

}  // namespace

std::unique_ptr<rocksdb::Iterator> SeekBehind(
    const std::function<std::unique_ptr<rocksdb::Iterator>()>& new_iterator,
    std::string_view key) {
  return Search(new_iterator, key).Run();
}

}  // namespace rocksync
