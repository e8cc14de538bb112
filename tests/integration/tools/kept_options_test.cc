// Commands on directories open a database with options of their own, and leave
// its program's in the OPTIONS file.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "replication/store/open/kept_options_file.h"
#include "rocksdb/db.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/options_util.h"
#include "rocksync/options_file.h"
#include "rocksync/replicated_db.h"
#include "tests/support/append_operator.h"
#include "tests/support/open_plain.h"
#include "tests/support/options_text.h"
#include "tests/support/temporary_directory.h"
#include "tools/detach.h"
#include "tools/repair.h"
#include "tools/restamp.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::Status;
using testing::HasSubstr;
using testing::Not;
using testing::UnorderedElementsAreArray;

// That RocksDB cannot make by its name.
class OwnFilter final : public rocksdb::FilterPolicy {
 public:
  const char* Name() const override { return "test.OwnFilter"; }
  const char* CompatibilityName() const override { return Name(); }
  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext&) const override {
    return nullptr;
  }
  rocksdb::FilterBitsReader* GetFilterBitsReader(
      const rocksdb::Slice&) const override {
    return nullptr;
  }
};

class KeptOptionsTest : public testing::Test {
 protected:
  KeptOptionsTest() : secret_(root_ / "secret") {
    std::ofstream(secret_, std::ios::binary) << std::string(32, '\7');
    replication_.cluster_name = "test";
    replication_.cluster_secret.fill(7);
    replication_.merge_families = {"own"};
    options_.create_if_missing = true;
    options_.create_missing_column_families = true;
    options_.max_background_jobs = 3;
    families_ = {{"default", {}}, {"own", {}}};
    families_[1].options.merge_operator =
        std::make_shared<AppendOperator>("test.Own");
    rocksdb::BlockBasedTableOptions table;
    table.filter_policy = std::make_shared<OwnFilter>();
    families_[1].options.table_factory.reset(
        rocksdb::NewBlockBasedTableFactory(table));
  }
  void SetUp() override {
    ASSERT_TRUE(Open("db"));
    before_ = OptionsText(Dir("db"));
    ASSERT_THAT(before_, HasSubstr("merge_operator=test.Own\n"));
    ASSERT_THAT(before_, HasSubstr("filter_policy=test.OwnFilter"));
  }

  std::string Dir(const std::string& name) const { return root_ / name; }
  static testing::AssertionResult Ok(const Status& status) {
    return status.ok() ? testing::AssertionSuccess()
                       : testing::AssertionFailure() << status.ToString();
  }
  testing::AssertionResult Open(const std::string& name) {
    std::vector<ColumnFamilyHandle*> handles;
    ReplicatedDB* raw = nullptr;
    Status status = ReplicatedDB::Open(options_, replication_, Dir(name),
                                       families_, &handles, &raw);
    const std::unique_ptr<ReplicatedDB> db(raw);
    if (!status.ok()) return Ok(status);
    for (ColumnFamilyHandle* handle : handles) {
      if (status.ok()) status = db->Put({}, handle, "k", "v");
      if (status.ok()) status = db->Flush({}, handle);
      db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    }
    return status.ok() ? Ok(db->Close()) : Ok(status);
  }
  int Restamp(const std::string& name) {
    RestampToolOptions options;
    options.directory = Dir(name);
    options.credentials.cluster = "test";
    options.credentials.secret_file = secret_;
    return RunRestamp(options, out_, err_);
  }
  // All but the index's, and no section of that.
  void ExpectPlain(const std::string& text) {
    EXPECT_THAT(text, Not(HasSubstr(kIndexFamilyName)));
    EXPECT_EQ(ApplicationOptions(text), ApplicationOptions(before_));
  }
  // Which says more of them than their texts.
  void ExpectTheyLoad(const std::string& name) {
    rocksdb::ConfigOptions config;
    config.ignore_unsupported_options = true;
    rocksdb::DBOptions options;
    std::vector<ColumnFamilyDescriptor> families;
    ASSERT_TRUE(
        Ok(LoadReplicatedOptions(config, Dir(name), &options, &families)));
    ASSERT_EQ(families.size(), 2u);
    EXPECT_TRUE(options.create_if_missing);
    EXPECT_FALSE(families[0].options.disable_auto_compactions);
  }

  const TemporaryDirectory root_;
  const std::string secret_;
  rocksdb::Options options_;
  ReplicatedDBOptions replication_;
  std::vector<ColumnFamilyDescriptor> families_;
  std::string before_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(KeptOptionsTest, Detached) {
  ASSERT_EQ(RunDetach({Dir("db")}, out_, err_), 0) << err_.str();
  ExpectPlain(OptionsText(Dir("db")));
  ExpectTheyLoad("db");
}

TEST_F(KeptOptionsTest, DetachedByItsProgram) {
  options_.max_background_jobs = 4;  // this time
  ASSERT_TRUE(Ok(ReplicatedDB::Detach(options_, Dir("db"), families_)));
  ExpectPlain(OptionsText(Dir("db")));
}

TEST_F(KeptOptionsTest, Restamped) {
  ASSERT_EQ(Restamp("db"), 0) << err_.str();
  EXPECT_EQ(OptionsText(Dir("db")), before_);
  ExpectTheyLoad("db");
}

// Files of that RocksDB are there then, which the program's may not read: by
// the version its opening tells them from damaged ones.
TEST_F(KeptOptionsTest, RestampedByANewerRocksDB) {
  std::string name;
  ASSERT_TRUE(Ok(rocksdb::GetLatestOptionsFileName(
      Dir("db"), rocksdb::Env::Default(), &name)));
  std::string older = before_;
  const size_t version = older.find("rocksdb_version=") + 16;
  older.replace(version, older.find('\n', version) - version, "7.0.0");
  std::ofstream(Dir("db") + "/" + name, std::ios::binary) << older;
  ASSERT_EQ(Restamp("db"), 0) << err_.str();
  EXPECT_EQ(OptionsText(Dir("db")), before_);
}

TEST_F(KeptOptionsTest, RestampedByItsProgram) {
  RestampResult result;
  ASSERT_TRUE(Ok(ReplicatedDB::Restamp(options_, replication_, Dir("db"),
                                       families_, &result)));
  EXPECT_EQ(OptionsText(Dir("db")), before_);
}

TEST_F(KeptOptionsTest, Repaired) {
  ASSERT_EQ(RunRepair({Dir("db"), Dir("repaired")}, out_, err_), 0)
      << out_.str() << err_.str();
  EXPECT_EQ(OptionsText(Dir("repaired")), before_);
  ExpectTheyLoad("repaired");
}

TEST_F(KeptOptionsTest, RepairedWithoutAFamily) {
  std::vector<ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;
  ASSERT_TRUE(Ok(OpenAllPlain({}, Dir("db"), &handles, &db)));
  ColumnFamilyHandle* empty = nullptr;
  ASSERT_TRUE(Ok(db->CreateColumnFamily({}, "empty", &empty)));
  handles.push_back(empty);
  for (ColumnFamilyHandle* handle : handles) {
    ASSERT_TRUE(Ok(db->DestroyColumnFamilyHandle(handle)));
  }
  db.reset();
  ASSERT_EQ(RunRepair({Dir("db"), Dir("repaired")}, out_, err_), 1)
      << out_.str() << err_.str();
  EXPECT_THAT(OptionsText(Dir("repaired")), Not(HasSubstr("\"empty\"")));
  EXPECT_THAT(OptionsText(Dir("repaired")), HasSubstr("\"own\""));
}

// A command that is told where the log is has the file say so.
TEST_F(KeptOptionsTest, WhereTheLogIsStaysAsItWasUsed) {
  rocksdb::Env* const env = rocksdb::Env::Default();
  const auto put_back = [&](const std::string& wal_dir,
                            const std::string& from) {
    KeptOptionsFile kept(env, Dir("moved"));
    EXPECT_TRUE(Ok(kept.ReadFrom(Dir(from))));
    fs::remove_all(Dir("moved"));
    fs::remove_all(Dir("logs"));
    rocksdb::Options options;
    options.create_if_missing = true;
    options.wal_dir = wal_dir;
    rocksdb::DB* raw = nullptr;
    EXPECT_TRUE(Ok(OpenPlain(options, Dir("moved"), &raw)));
    EXPECT_TRUE(Ok(kept.PutBack()));
    delete raw;
    return ApplicationOptions(OptionsText(Dir("moved")));
  };
  EXPECT_EQ(put_back("", "db"), ApplicationOptions(before_));
  auto there = ApplicationOptions(before_);
  there.push_back("[DBOptions]  wal_dir=" + Dir("logs"));
  EXPECT_THAT(put_back(Dir("logs"), "db"), UnorderedElementsAreArray(there));
  fs::rename(Dir("moved"), Dir("from"));
  EXPECT_EQ(put_back("", "from"), ApplicationOptions(before_));
}

TEST_F(KeptOptionsTest, WhereNoneWasNoneIsLeft) {
  for (const auto& file : fs::directory_iterator(Dir("db"))) {
    if (file.path().filename().string().starts_with("OPTIONS-")) {
      fs::remove(file.path());
    }
  }
  ASSERT_TRUE(Ok(ReplicatedDB::Detach(options_, Dir("db"), families_)));
  for (const auto& file : fs::directory_iterator(Dir("db"))) {
    EXPECT_FALSE(file.path().filename().string().starts_with("OPTIONS-"));
  }
}

}  // namespace
}  // namespace rocksync
