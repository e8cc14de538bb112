// A directory that is open in this process already, whatever it is called:
// RocksDB compares the texts of paths.

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/store/store_fixture.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;

class OpenedTwiceTest : public StoreTest,
                        public ::testing::WithParamInterface<const char*> {
 protected:
  // Another name of the directory, as the parameter says.
  std::string OtherName() {
    const std::string kind = GetParam();
    if (kind == "slash") return Dir() + "/";
    if (kind == "dots") return Dir("x") + "/../db";
    if (kind == "relative") return fs::relative(Dir());
    fs::create_directory_symlink(fs::path(Dir()).parent_path(), Dir("link"));
    return Dir("link") + "/db";
  }
  void ExpectOpen(const rocksdb::Status& status) {
    EXPECT_TRUE(status.IsIOError()) << status.ToString();
    EXPECT_NE(status.ToString().find("is open in this process already"),
              std::string::npos)
        << status.ToString();
  }
  // What another process finds, which takes RocksDB's lock: 0, it is free.
  bool AnotherProcessGetsTheLock() {
    const pid_t child = ::fork();
    if (child == 0) {
      const int file = ::open((Dir() + "/LOCK").c_str(), O_RDWR);
      ::_exit(::lockf(file, F_TEST, 0) == 0 ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return status == 0;
  }
};

TEST_P(OpenedTwiceTest, IsRefusedAndLeavesTheLock) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("a", "1"));
  fs::create_directory(Dir("x"));
  const std::string other = OtherName();
  ReplicatedDB* second = nullptr;
  ExpectOpen(ReplicatedDB::Open(options_, replication_, other, &second));
  ExpectOpen(ReplicatedDB::Detach(options_, other, {}));
  RestampResult restamped;
  ExpectOpen(ReplicatedDB::Restamp(options_, replication_, other,
                                   {{"default", {}}}, &restamped));
  // One that fails for another reason in an earlier version took the lock away.
  ReplicatedDBOptions stranger = replication_;
  stranger.cluster_name = "another";
  ExpectOpen(ReplicatedDB::Open(options_, stranger, other, &second));
  EXPECT_FALSE(AnotherProcessGetsTheLock());
  ASSERT_ROCKS_OK(Put("b", "2"));

  ASSERT_ROCKS_OK(db_->Close());
  EXPECT_TRUE(AnotherProcessGetsTheLock());
  // Closed and not yet deleted: it may be opened.
  ASSERT_ROCKS_OK(ReplicatedDB::Open(options_, replication_, other, &second));
  db_.reset(second);
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(Get("b"), "2");
  db_.reset();  // without Close
  ASSERT_ROCKS_OK(ReplicatedDB::Detach(options_, other, {}));
}

// Runs something before a file is read.
class ReadingEnv : public rocksdb::EnvWrapper {
 public:
  ReadingEnv() : EnvWrapper(rocksdb::Env::Default()) {}
  const char* Name() const override { return "ReadingEnv"; }

  void Before(std::string file, std::function<void()> run) {
    file_ = std::move(file);
    run_ = std::move(run);
  }
  rocksdb::Status NewSequentialFile(
      const std::string& name, std::unique_ptr<rocksdb::SequentialFile>* file,
      const rocksdb::EnvOptions& options) override {
    if (name == file_) std::exchange(run_, [] {})();
    return EnvWrapper::NewSequentialFile(name, file, options);
  }

 private:
  std::string file_;
  std::function<void()> run_ = [] {};
};

using OpenedMeanwhileTest = StoreTest;

// Between two looks of an opening another program opens the database, and
// replaces its log.
TEST_F(OpenedMeanwhileTest, IsNotTakenForALoss) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("a", "1"));
  CloseAndCheck();
  ReadingEnv env;
  bool opened = false;
  env.Before(Dir() + "/ROCKSYNC", [&] {
    opened = true;
    EXPECT_ROCKS_OK(PutByPlainProgram(Dir(), "b", "2"));
  });
  options_.env = &env;
  const rocksdb::Status met = Open();
  ASSERT_TRUE(opened);
  EXPECT_TRUE(met.IsBusy()) << met.ToString();
  EXPECT_NE(met.ToString().find("another program has opened"),
            std::string::npos);
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Get("a"), "1");
  EXPECT_EQ(Get("b"), "2");
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60'000));
  CloseAndCheck();
}

INSTANTIATE_TEST_SUITE_P(Names, OpenedTwiceTest,
                         ::testing::Values("slash", "dots", "relative", "link"),
                         [](const auto& name) { return name.param; });

}  // namespace
}  // namespace rocksync
