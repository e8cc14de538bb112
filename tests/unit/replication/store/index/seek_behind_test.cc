// What is found behind what does not read, and with how many seeks.

#include "replication/store/index/seek_behind.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "replication/store/format/index_key.h"

namespace rocksync {
namespace {

constexpr int kMaxSeeks = 250;

// Over keys in order; `damaged`: from each first key up to the second, whoever
// seeks or steps there fails.
class DamagedIterator final : public rocksdb::Iterator {
 public:
  using Ranges = std::vector<std::pair<std::string, std::string>>;
  DamagedIterator(const std::set<std::string>& keys, const Ranges& damaged)
      : keys_(keys), damaged_(damaged) {}

  bool Valid() const override { return valid_; }
  void Seek(const rocksdb::Slice& target) override { Look(target.ToString()); }
  void Next() override { Look(at_ + '\0'); }
  rocksdb::Slice key() const override { return at_; }
  rocksdb::Slice value() const override { return {}; }
  rocksdb::Status status() const override { return status_; }
  void SeekToFirst() override { Look(""); }
  void SeekToLast() override {}
  void SeekForPrev(const rocksdb::Slice&) override {}
  void Prev() override {}

 private:
  void Look(const std::string& from) {
    const auto next = keys_.lower_bound(from);
    valid_ = next != keys_.end() && !Fails(*next) && !Fails(from);
    status_ = Fails(from) || (next != keys_.end() && Fails(*next))
                  ? rocksdb::Status::Corruption("damaged")
                  : rocksdb::Status::OK();
    if (valid_) at_ = *next;
  }
  bool Fails(const std::string& key) const {
    return std::any_of(damaged_.begin(), damaged_.end(),
                       [&](const auto& range) {
                         return key >= range.first && key <= range.second;
                       });
  }

  const std::set<std::string>& keys_;
  const Ranges& damaged_;
  std::string at_;
  bool valid_ = false;
  rocksdb::Status status_;
};

// What is found; empty: nothing.
std::string Found(const std::set<std::string>& keys,
                  const DamagedIterator::Ranges& damaged,
                  const std::string& behind) {
  int made = 0;
  const auto new_iterator = [&]() -> std::unique_ptr<rocksdb::Iterator> {
    ++made;
    return std::make_unique<DamagedIterator>(keys, damaged);
  };
  const auto found = SeekBehind(new_iterator, behind);
  EXPECT_LT(made, kMaxSeeks);
  if (found == nullptr) return "";
  EXPECT_TRUE(found->Valid());
  return found->key().ToString();
}

std::string Padded(const std::string& prefix, int i) {
  const std::string number = std::to_string(i);
  return prefix + std::string(8 - number.size(), '0') + number;
}

std::set<std::string> Keys(const std::string& prefix, int count) {
  std::set<std::string> keys;
  for (int i = 0; i < count; ++i) keys.insert(Padded(prefix, i));
  return keys;
}

TEST(SeekBehindTest, FindsTheFirstKeyBehindABlock) {
  for (const std::string prefix : {"", "k", "tenants/17/objects/of/type/3/"}) {
    const std::set<std::string> keys = Keys(prefix, 10000);
    for (const int end : {101, 110, 136, 199, 1000, 9999}) {
      EXPECT_EQ(Found(keys, {{Padded(prefix, 100), Padded(prefix, end - 1)}},
                      Padded(prefix, 99)),
                Padded(prefix, end));
    }
  }
}

TEST(SeekBehindTest, FindsTheFirstKeyBehindABlockThatIsTheFirst) {
  EXPECT_EQ(Found(Keys("k", 1000), {{"", Padded("k", 35)}}, ""),
            Padded("k", 36));
}

TEST(SeekBehindTest, FindsTheFirstEntryBehindABlockOfTheIndex) {
  std::set<std::string> keys;
  for (uint64_t i = 1; i < 2000; ++i) {
    std::string key;
    AppendIndexKey(&key, {i * 0x9e3779b97f4a7c15, 0, "some key"});
    keys.insert(key);
  }
  const std::vector<std::string> ordered(keys.begin(), keys.end());
  for (const size_t end : {501u, 502u, 520u, 1200u, 1998u}) {
    EXPECT_EQ(Found(keys, {{ordered[499], ordered[end - 1]}}, ordered[498]),
              ordered[end]);
  }
}

TEST(SeekBehindTest, GoesOnBetweenTwoBlocks) {
  EXPECT_EQ(
      Found(Keys("k", 10000),
            {{Padded("k", 100), Padded("k", 139)}, {Padded("k", 7000), "l"}},
            Padded("k", 99)),
      Padded("k", 140));
}

TEST(SeekBehindTest, SaysThatNothingReads) {
  for (const std::string key : {"", "k", "k00000099", "\xff\xff\xff"}) {
    EXPECT_EQ(Found(Keys("k", 1000), {{key, std::string(100, '\xff')}}, key),
              "");
  }
}

TEST(SeekBehindTest, SaysThatThereIsNothing) {
  EXPECT_EQ(Found(Keys("k", 1000), {{Padded("k", 900), "l"}}, Padded("k", 899)),
            "");
}

TEST(SeekBehindTest, ALongKeyCostsLittleMore) {
  const std::string prefix(1 << 20, 'p');
  EXPECT_EQ(Found({prefix + "a", prefix + "b", prefix + "c"},
                  {{prefix + "b", prefix + "b"}}, prefix + "a"),
            prefix + "c");
}

}  // namespace
}  // namespace rocksync
