// The last steps of a resync, in which the copy takes the replica's place,
// where another program opens the directory, the process is killed, or the file
// system cannot do it.

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "replication/store/directory/directory_switch.h"
#include "replication/store/format/clone_record.h"
#include "rocksdb/env.h"
#include "rocksync/clone.h"
#include "tests/integration/replication/resync_fixture.h"
#include "tests/support/open_plain.h"
#include "tests/support/own_mounts.h"

namespace rocksync {
namespace {

using ResyncSwitchTest = ResyncTest;

// Runs something when the lock of a directory is given back after its copy was
// made, before anybody else can take it.
class UnlockingEnv : public rocksdb::EnvWrapper {
 public:
  UnlockingEnv(std::string directory, std::function<void()> run)
      : EnvWrapper(rocksdb::Env::Default()),
        lock_(directory + "/LOCK"),
        copy_(ResyncDirectory(rocksdb::Env::Default(), directory)),
        run_(std::move(run)) {}
  const char* Name() const override { return "UnlockingEnv"; }

  rocksdb::Status LockFile(const std::string& name,
                           rocksdb::FileLock** lock) override {
    const rocksdb::Status s = EnvWrapper::LockFile(name, lock);
    const std::lock_guard guard(mutex_);
    if (s.ok()) names_[*lock] = name;
    return s;
  }
  rocksdb::Status UnlockFile(rocksdb::FileLock* lock) override {
    std::function<void()> run;
    {
      const std::lock_guard guard(mutex_);
      if (names_[lock] == lock_ && fs::exists(copy_))
        run = std::exchange(run_, nullptr);
      names_.erase(lock);
    }
    const rocksdb::Status s = EnvWrapper::UnlockFile(lock);
    if (run != nullptr) run();
    return s;
  }

 private:
  const std::string lock_;
  const std::string copy_;
  std::mutex mutex_;
  std::map<rocksdb::FileLock*, std::string> names_;
  std::function<void()> run_;
};

// By a program that opens the database in the moment between its last close
// and the switch.
TEST_F(ResyncSwitchTest, WhatAnotherProgramWritesIsNotReplaced) {
  PartFarBehind();
  resync_.copy_from_share = 0;
  bool written = false;
  UnlockingEnv env(Dir(), [&] {
    written = true;
    EXPECT_TRUE(IsOk(PutByPlainProgram(Dir(), "of a program", "1")));
  });
  options_.env = &env;
  const rocksdb::Status s = Resync();
  ASSERT_TRUE(written);
  EXPECT_TRUE(s.IsTryAgain()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "another program has opened"));
  ASSERT_TRUE(IsOk(Resync()));
  expected_["of a program"] = "1";
  ExpectUpToDate();
}

// Whoever looks finds the one replica or the other.
TEST_F(ResyncSwitchTest, AtNoMomentIsThereNoDatabase) {
  PartFarBehind();
  resync_.copy_from_share = 0;
  std::atomic<bool> over{false};
  uint64_t missing = 0;
  std::thread looking([&] {
    const std::string current = Dir() + "/CURRENT";
    while (!over) missing += ::access(current.c_str(), F_OK) == 0 ? 0 : 1;
  });
  EXPECT_TRUE(IsOk(Resync()));
  over = true;
  looking.join();
  EXPECT_EQ(missing, 0u);
  ExpectUpToDate();
}

// The two directories have changed places, and nothing more was done.
TEST_F(ResyncSwitchTest, KilledOnceTheDirectoriesWereExchanged) {
  PartFarBehind();
  resync_.copy_from_share = 0;
  const std::string former = ResyncDirectory(Env(), Dir());
  const std::string kept = Dir() + ".kept";
  fs::copy(Dir(), kept, fs::copy_options::recursive);
  std::ofstream(kept + "/of the application") << "text";
  ASSERT_TRUE(IsOk(Resync()));
  fs::rename(kept, former);
  CloneRecord record;
  record.purpose = ClonePurpose::kResynced;
  record.replica_id = id_;
  ASSERT_TRUE(IsOk(WriteCloneRecord(Env(), Dir(), record)));
  ExpectUpToDate();
  EXPECT_TRUE(fs::exists(Dir() + "/of the application"));
}

// Runs something once a directory was renamed, where directories cannot be
// exchanged.
class RenamingEnv : public rocksdb::EnvWrapper {
 public:
  RenamingEnv() : EnvWrapper(rocksdb::Env::Default()) {}
  const char* Name() const override { return "RenamingEnv"; }

  void Then(std::string from, std::function<void()> run) {
    from_ = std::move(from);
    run_ = std::move(run);
  }
  rocksdb::Status RenameFile(const std::string& from,
                             const std::string& to) override {
    const rocksdb::Status s = EnvWrapper::RenameFile(from, to);
    if (from == from_) std::exchange(run_, [] {})();
    return s;
  }

 private:
  std::string from_;
  std::function<void()> run_ = [] {};
};

// While nothing is where the replica was, another program opens a database
// there.
TEST_F(ResyncSwitchTest, WhoMakesADatabaseInTheGapIsNotTakenForTheReplica) {
  PartFarBehind();
  resync_.copy_from_share = 0;
  RenamingEnv env;
  const std::string plain = Dir() + ".plain";
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksdb::DB* made = nullptr;
  ASSERT_TRUE(IsOk(OpenPlain(options, plain, &made)));
  delete made;
  for (const bool makes_one : {false, true}) {
    options_.env = &env;
    // In this process RocksDB would take the replica's lock for this one's.
    env.Then(Dir(), [&] {
      if (makes_one) return fs::copy(plain, Dir());
      fs::create_directory(Dir());
      for (const char* file : {"/LOG", "/LOCK"}) std::ofstream(Dir() + file);
    });
    rocksdb::Status s = Resync();
    EXPECT_TRUE(s.IsIOError()) << s.ToString();
    EXPECT_TRUE(fs::exists(ReplacedDirectory(Env(), Dir())));
    options_.env = Env();
    if (makes_one) {
      ASSERT_FALSE(old_->Open());
      s = old_->open_status();
      EXPECT_TRUE(s.IsAborted()) << s.ToString();
      EXPECT_TRUE(Mentions(s, "another program has made a database there"));
      s = Resync();
      EXPECT_TRUE(Mentions(s, "move " + Dir() + " away and open it again"));
      fs::rename(Dir(), Dir() + ".away");
    }
    ExpectUpToDate();
    incarnation_ = old_->db()->Identity().incarnation;
    old_->Close();
  }
}

// Another directory of the same disk may be mounted there.
TEST_F(ResyncSwitchTest, AMountPointIsRefusedBeforeAnythingIsCopied) {
  PartFarBehind();
  resync_.copy_from_share = 0;
  const std::string copy = ResyncDirectory(Env(), Dir());
  const std::string elsewhere = Dir() + ".elsewhere";
  fs::create_directory(elsewhere);
  fs::create_directory(Dir() + "/inside");
  const auto refused = [&](const std::string& mounted) {
    const rocksdb::Status s = CheckSwitch(Env(), Dir());
    EXPECT_TRUE(s.IsNotSupported()) << s.ToString();
    EXPECT_TRUE(Mentions(s, mounted + " is a mount point")) << s.ToString();
  };
  std::thread([&] {
    if (!HasOwnMounts()) return;
    const auto mount_at = [&](const std::string& there) {
      return mount(elsewhere.c_str(), there.c_str(), nullptr, MS_BIND,
                   nullptr) == 0;
    };
    if (mount_at(Dir())) refused(Dir());
    umount(Dir().c_str());
    const std::string inside = Dir() + "/inside";
    if (mount_at(inside)) refused(inside);
    umount(inside.c_str());
    fs::create_directory(copy);
    if (mount_at(copy)) refused(copy);
  }).join();
  fs::remove(copy);
  ASSERT_TRUE(IsOk(Resync()));
  ExpectUpToDate();
  EXPECT_TRUE(fs::exists(Dir() + "/inside"));
}

// It would become the replica.
TEST_F(ResyncSwitchTest, ALinkInThePlaceOfTheCopyIsRefused) {
  PartFarBehind();
  resync_.copy_from_share = 0;
  const std::string copy = ResyncDirectory(Env(), Dir());
  const std::string elsewhere = Dir() + ".elsewhere";
  fs::create_directory(elsewhere);
  fs::create_directory_symlink(elsewhere, copy);
  const rocksdb::Status s = Resync();
  EXPECT_TRUE(s.IsNotSupported()) << s.ToString();
  EXPECT_TRUE(Mentions(s, copy + " is a link")) << s.ToString();
  EXPECT_TRUE(fs::is_empty(elsewhere));
  fs::remove(copy);
  ASSERT_TRUE(IsOk(Resync()));
  ExpectUpToDate();
}

}  // namespace
}  // namespace rocksync
