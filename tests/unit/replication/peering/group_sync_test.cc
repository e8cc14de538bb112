#include "replication/peering/group_sync.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace rocksync {
namespace {

TEST(GroupSync, CoversWhatWasThereWhenItBegan) {
  GroupSync group;
  uint64_t end = 5;
  int syncs = 0;
  const auto sync = [&] {
    ++syncs;
    end = 9;  // written meanwhile, so maybe not covered
    return rocksdb::Status::OK();
  };
  const auto now = [&] { return end; };
  EXPECT_TRUE(group.Cover(3, now, sync).ok());
  EXPECT_TRUE(group.Cover(5, now, sync).ok());
  EXPECT_EQ(syncs, 1) << "one for all up to 5";
  EXPECT_TRUE(group.Cover(6, now, sync).ok());
  EXPECT_EQ(syncs, 2);
}

TEST(GroupSync, AFailureCoversNothing) {
  GroupSync group;
  bool fails = true;
  const auto sync = [&] {
    return fails ? rocksdb::Status::IOError("disk") : rocksdb::Status::OK();
  };
  const auto end = [] { return uint64_t{1}; };
  EXPECT_TRUE(group.Cover(1, end, sync).IsIOError());
  EXPECT_TRUE(group.Cover(1, end, sync).IsIOError()) << "tried again";
  fails = false;
  EXPECT_TRUE(group.Cover(1, end, sync).ok());
}

TEST(GroupSync, ManyAtOnce) {
  GroupSync group;
  std::atomic<uint64_t> written{0};
  std::atomic<uint64_t> durable{0};
  const auto sync = [&] {
    durable = written.load();
    return rocksdb::Status::OK();
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        const uint64_t mine = ++written;
        EXPECT_TRUE(group
                        .Cover(
                            mine, [&] { return written.load(); }, sync)
                        .ok());
        EXPECT_GE(durable.load(), mine);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace rocksync
