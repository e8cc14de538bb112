// `rocksync resync` on real replicas.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "nlohmann/json.hpp"
#include "replication/base/rocksdb_version.h"
#include "replication/store/format/clone_record.h"
#include "rocksync/replica_id.h"
#include "tests/integration/replication/replica_fixture.h"
#include "tests/support/append_operator.h"
#include "tests/support/options_text.h"
#include "tools/clone.h"
#include "tools/diff.h"
#include "tools/id.h"
#include "tools/resync.h"
#include "tools/verify.h"

namespace rocksync {
namespace {

using testing::HasSubstr;

class ResyncToolTest : public ReplicationTest {
 protected:
  ResyncToolTest() : source_(NewReplica("source")) {
    EXPECT_TRUE(IsOk(source_->Start()));
    options_.source = source_->address();
    options_.directory = directory_ / "old";
    options_.credentials.cluster = "test";
    options_.credentials.trial_directory = directory_ / "certificates";
    std::ofstream(options_.credentials.trial_directory + "/trial-secret",
                  std::ios::binary)
        << std::string(32, '\7');
  }
  int Run() {
    out_.str("");
    err_.str("");
    return RunResync(options_, out_, err_);
  }

  const std::unique_ptr<TestReplica> source_;
  ResyncToolOptions options_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(ResyncToolTest, SaysWhatBecameOfTheReplica) {
  const auto old = NewReplica("old");
  const std::string id = ReplicaIdHex(old->id());
  old->Put("alone", "1");
  source_->Put("k", "v");
  EXPECT_EQ(Run(), 2);
  EXPECT_THAT(err_.str(), HasSubstr("is in use"));
  old->Close();

  ASSERT_EQ(Run(), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("is replica " + id + " still"));
  EXPECT_THAT(out_.str(), HasSubstr("1 pair or delete that only it had"));
  EXPECT_THAT(out_.str(), HasSubstr("proven equal to its source"));
  EXPECT_EQ(source_->Scan(), (Contents{{"alone", "1"}, {"k", "v"}}));

  options_.json = true;
  options_.copy_from_share = 0;
  ASSERT_EQ(Run(), 0) << err_.str();
  const auto told = nlohmann::json::parse(out_.str());
  EXPECT_EQ(told["replica_id"], id);
  EXPECT_EQ(told["source_id"], ReplicaIdHex(source_->id()));
  EXPECT_EQ(told["carried_over"], 0);
  EXPECT_EQ(told["proven_equal"], true);
  options_.json = false;
  options_.copy_from_share = 0.5;
  ASSERT_EQ(Run(), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("less was missing"));
  EXPECT_THAT(out_.str(), HasSubstr("proven equal to its source"));
  ASSERT_TRUE(old->Open());
  EXPECT_EQ(old->Scan(), source_->Scan());
}

// The commands open a database with what they can make, and its program's
// options stay in the OPTIONS file: of a clone the source's, of a resync its
// own.
TEST_F(ResyncToolTest, ItsProgramsOptionsStay) {
  const auto replica = [this](const std::string& name, int jobs) {
    TestReplica::Setting setting = SettingOf(name);
    setting.adjust = [jobs](rocksdb::Options* options,
                            ReplicatedDBOptions* replication) {
      options->merge_operator = std::make_shared<AppendOperator>("test.Own");
      options->max_background_jobs = jobs;
      replication->merge_families = {"default"};
    };
    return std::make_unique<TestReplica>(setting);
  };
  const auto source = replica("merging", 3);
  ASSERT_TRUE(source->Open());
  ASSERT_TRUE(IsOk(source->Start()));
  source->Put("k", "v");
  const auto of_source =
      ApplicationOptions(OptionsText(source->setting().directory));
  CloneToolOptions clone;
  clone.source = source->address();
  clone.directory = directory_ / "clone";
  clone.credentials = options_.credentials;
  ASSERT_EQ(RunClone(clone, out_, err_), 0) << err_.str();
  EXPECT_EQ(ApplicationOptions(OptionsText(clone.directory)), of_source);

  const auto old = replica("old", 4);
  ASSERT_TRUE(old->Open());
  old->Put("alone", "1");
  old->Close();
  const std::string before = OptionsText(options_.directory);
  EXPECT_NE(ApplicationOptions(before), of_source);
  options_.source = source->address();
  options_.copy_from_share = 0;
  ASSERT_EQ(Run(), 0) << err_.str();
  EXPECT_EQ(OptionsText(options_.directory), before);
  // It does not begin.
  ASSERT_TRUE(old->Open());
  old->Close();
  options_.source = "localhost:1";
  EXPECT_EQ(Run(), 2);
  EXPECT_EQ(OptionsText(options_.directory), before);
}

TEST_F(ResyncToolTest, SaysWhyItIsNotProven) {
  const auto old = NewReplica("old");
  old->Close();
  // It serves files, and no sessions.
  source_->replicator()->Pause();
  EXPECT_EQ(Run(), 2);
  EXPECT_THAT(err_.str(), HasSubstr("the source is paused"));
  source_->replicator()->Resume();
  ASSERT_EQ(Run(), 0) << err_.str();
}

// A copy would leave behind what lies elsewhere.
TEST_F(ResyncToolTest, OfAReplicaWithItsLogElsewhere) {
  TestReplica::Setting setting = SettingOf("old");
  setting.adjust = [this](rocksdb::Options* options, ReplicatedDBOptions*) {
    options->wal_dir = directory_ / "log";
  };
  source_->Put("k", "v");
  options_.copy_from_share = 0;
  TestReplica old(setting);
  ASSERT_TRUE(old.Open());
  old.Put("alone", "1");
  old.Close();
  EXPECT_EQ(Run(), 2) << out_.str();
  EXPECT_THAT(err_.str(), HasSubstr("is in " + (directory_ / "log")));
  EXPECT_THAT(err_.str(), HasSubstr("let sessions bring the pairs"));
  ASSERT_TRUE(old.Open());
  EXPECT_EQ(old.Scan(), (Contents{{"alone", "1"}}));
  old.Close();
  options_.wal_dirs = {"elsewhere=" + options_.directory};
  EXPECT_EQ(Run(), 2);
  EXPECT_THAT(err_.str(), HasSubstr("names no directory of this command"));
}

// An error that asks where the log is can be followed.
TEST_F(ResyncToolTest, OfAReplicaThatWasMoved) {
  TestReplica::Setting setting = SettingOf("before");
  setting.adjust = [this](rocksdb::Options* options, ReplicatedDBOptions*) {
    options->wal_dir = directory_ / "log";
  };
  TestReplica old(setting);
  ASSERT_TRUE(old.Open());
  old.Put("alone", "1");
  old.Close();
  std::filesystem::rename(setting.directory, options_.directory);
  for (const auto& file :
       std::filesystem::directory_iterator(directory_ / "log")) {
    std::filesystem::rename(file.path(), options_.directory + "/" +
                                             file.path().filename().string());
  }
  options_.copy_from_share = 0;
  EXPECT_EQ(Run(), 2) << out_.str();
  const std::string remedy =
      "--wal-dir " + options_.directory + "=" + options_.directory;
  EXPECT_THAT(err_.str(), HasSubstr(remedy));
  options_.wal_dirs = {options_.directory + "=" + options_.directory};
  EXPECT_EQ(Run(), 0) << err_.str();
  EXPECT_THAT(source_->Scan(), Contents({{"alone", "1"}}));
}

TEST_F(ResyncToolTest, OfWhatIsNoReplica) {
  EXPECT_EQ(Run(), 2);
  EXPECT_THAT(err_.str(), HasSubstr(options_.directory + ": is not there"));
  EXPECT_FALSE(std::filesystem::exists(options_.directory));

  std::filesystem::create_directory(options_.directory);
  EXPECT_EQ(Run(), 2);
  EXPECT_THAT(err_.str(), HasSubstr("is not a RocksDB database"));

  ASSERT_TRUE(
      IsOk(MarkUnfinished(rocksdb::Env::Default(), options_.directory)));
  EXPECT_EQ(Run(), 2);
  EXPECT_THAT(err_.str(), HasSubstr("holds an unfinished clone"));

  std::filesystem::remove_all(options_.directory);
  rocksdb::Options plain;
  plain.create_if_missing = true;
  std::unique_ptr<rocksdb::DB> db;
  ASSERT_TRUE(IsOk(OpenPlain(plain, options_.directory, &db)));
  db.reset();
  EXPECT_EQ(Run(), 2);
  EXPECT_THAT(err_.str(), HasSubstr("it is a plain database"));
}

// What a run that died between its two renames leaves, once somebody has
// removed the copy: nothing is where the replica was.
class ResyncGapTest : public ResyncToolTest {
 protected:
  void SetUp() override {
    old_->Put("alone", "1");
    id_ = old_->id();
    old_->Close();
    std::filesystem::rename(options_.directory,
                            options_.directory + ".replaced");
  }
  void ExpectItsReplica() {
    ASSERT_TRUE(old_->Open());
    EXPECT_EQ(old_->id(), id_);
    EXPECT_EQ(old_->Scan().at("alone"), "1");
    EXPECT_FALSE(std::filesystem::exists(options_.directory + ".replaced"));
  }

  const std::unique_ptr<TestReplica> old_ = NewReplica("old");
  uint64_t id_ = 0;
};

TEST_F(ResyncGapTest, AnOpeningPutsItBack) { ExpectItsReplica(); }

TEST_F(ResyncGapTest, AnotherRunPutsItBack) {
  ASSERT_EQ(Run(), 0) << err_.str();
  ExpectItsReplica();
}

TEST_F(ResyncGapTest, OtherCommandsSayWhereItIs) {
  std::ostringstream err;
  std::ostringstream out;
  const std::string& directory = options_.directory;
  EXPECT_EQ(RunId({.directory = directory, .make = true}, out, err), 2);
  EXPECT_EQ(RunDiff({.left = directory, .right = directory}, out, err), 2);
  VerifyToolOptions verify;
  verify.left = directory;
  verify.right = source_->address();
  verify.credentials = options_.credentials;
  EXPECT_EQ(RunVerify(verify, out, err), 2);
  CloneToolOptions clone;
  clone.source = source_->address();
  clone.directory = directory;
  clone.credentials = options_.credentials;
  EXPECT_EQ(RunClone(clone, out, err), 2);
  size_t told = 0;
  std::string line;
  for (std::istringstream lines(err.str()); std::getline(lines, line);) {
    if (line.find("the replica is in " + directory + ".replaced") !=
        std::string::npos) {
      ++told;
    }
  }
  EXPECT_EQ(told, 4u) << err.str();
  EXPECT_FALSE(std::filesystem::exists(directory));
  ExpectItsReplica();
}

// The process is in the very directory that is replaced.
TEST_F(ResyncToolTest, OfTheWorkingDirectory) {
  const auto old = NewReplica("old");
  old->Put("alone", "1");
  old->Close();
  source_->Put("k", "v");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(options_.directory);
  options_.directory = ".";
  options_.copy_from_share = 0;
  EXPECT_EQ(Run(), 0) << err_.str();
  std::filesystem::current_path(before);
  EXPECT_THAT(out_.str(), HasSubstr("proven equal to its source"));
  ASSERT_TRUE(old->Open());
  EXPECT_EQ(old->Scan(), source_->Scan());
}

}  // namespace
}  // namespace rocksync
