// Databases of programs with merge operators of their own. What RocksDB cannot
// make by its name is no reason to end a log where the first Merge is.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "replication/store/format/index_key.h"
#include "replication/store/format/meta_records.h"
#include "rocksdb/db.h"
#include "rocksync/replicated_db.h"
#include "tests/support/append_operator.h"
#include "tests/support/file_content.h"
#include "tests/support/open_plain.h"
#include "tests/support/temporary_directory.h"
#include "tools/detach.h"
#include "tools/diff.h"
#include "tools/id.h"
#include "tools/repair.h"
#include "tools/rescue.h"
#include "tools/restamp.h"
#include "tools/verify.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::Status;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class UnreplayableRecordsTest : public testing::Test {
 protected:
  UnreplayableRecordsTest() : secret_(root_ / "secret") {
    std::ofstream(secret_, std::ios::binary) << std::string(32, '\7');
    replication_.cluster_name = "test";
    replication_.cluster_secret.fill(7);
    replication_.merge_families = {"counters"};
    options_.create_if_missing = true;
    options_.create_missing_column_families = true;
  }

  std::string Dir(const std::string& name) const { return root_ / name; }

  static testing::AssertionResult Ok(const Status& status) {
    return status.ok() ? testing::AssertionSuccess()
                       : testing::AssertionFailure() << status.ToString();
  }
  // The application's.
  static std::vector<ColumnFamilyDescriptor> Families(bool with_operator) {
    std::vector<ColumnFamilyDescriptor> families = {{"default", {}},
                                                    {"counters", {}}};
    if (with_operator) {
      families[1].options.merge_operator =
          std::make_shared<AppendOperator>("test.Concat");
    }
    return families;
  }

  Status OpenReplica(const std::string& name, bool with_operator = true) {
    std::vector<ColumnFamilyHandle*> handles;
    ReplicatedDB* raw = nullptr;
    Status status = ReplicatedDB::Open(options_, replication_, Dir(name),
                                       Families(with_operator), &handles, &raw);
    const std::unique_ptr<ReplicatedDB> db(raw);
    if (!status.ok()) return status;
    status = db->WaitForIndexBuild(60'000);
    // Resolved under the lock: the log has a Put.
    if (status.ok()) status = db->Merge({}, handles[1], "ours", "1");
    if (status.ok()) status = db->Merge({}, handles[1], "ours", "2");
    for (ColumnFamilyHandle* handle : handles) {
      db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    }
    return status.ok() ? db->Close() : status;
  }
  // A program that knows nothing of rocksync, and ends without a flush, or with
  // one.
  void WriteByPlainProgram(const std::string& name, bool flush = false) {
    std::vector<ColumnFamilyDescriptor> families = Families(true);
    std::vector<std::string> names;
    rocksdb::DB::ListColumnFamilies(options_, Dir(name), &names)
        .PermitUncheckedError();
    if (std::find(names.begin(), names.end(), kIndexFamilyName) !=
        names.end()) {
      families.push_back({kIndexFamilyName, {}});
    }
    std::vector<ColumnFamilyHandle*> handles;
    rocksdb::DB* raw = nullptr;
    ASSERT_TRUE(Ok(OpenPlain(options_, Dir(name), families, &handles, &raw)));
    const std::unique_ptr<rocksdb::DB> db(raw);
    EXPECT_TRUE(Ok(db->Put({}, "a", "1")));
    EXPECT_TRUE(Ok(db->Merge({}, handles[1], "m", "one")));
    EXPECT_TRUE(Ok(db->Put({}, "b", "2")));
    EXPECT_TRUE(Ok(db->Put({}, handles[1], "p", "3")));
    if (flush) {
      EXPECT_TRUE(Ok(db->Flush({}, handles)));
    }
    for (ColumnFamilyHandle* handle : handles) {
      EXPECT_TRUE(Ok(db->DestroyColumnFamilyHandle(handle)));
    }
  }
  // Of both families, as a program with the operator reads them.
  std::vector<std::string> PairsOf(const std::string& name) {
    std::vector<ColumnFamilyHandle*> handles;
    std::unique_ptr<rocksdb::DB> db;
    const Status status = OpenPlainForReadOnly(rocksdb::DBOptions(), Dir(name),
                                               Families(true), &handles, &db);
    EXPECT_TRUE(Ok(status));
    std::vector<std::string> pairs;
    for (ColumnFamilyHandle* handle : handles) {
      const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}, handle));
      for (it->SeekToFirst(); it->Valid(); it->Next()) {
        pairs.push_back(it->key().ToString() + "=" + it->value().ToString());
      }
      EXPECT_TRUE(Ok(it->status()));
    }
    for (ColumnFamilyHandle* handle : handles) {
      EXPECT_TRUE(Ok(db->DestroyColumnFamilyHandle(handle)));
    }
    return pairs;
  }
  void Copy(const std::string& from, const std::string& to) const {
    fs::remove_all(Dir(to));
    fs::copy(Dir(from), Dir(to));
  }

  Credentials Right() const {
    Credentials credentials;
    credentials.cluster = "test";
    credentials.secret_file = secret_;
    return credentials;
  }
  int Detach(const std::string& name) {
    Clear();
    return RunDetach({Dir(name)}, out_, err_);
  }
  int Diff(const std::string& left, const std::string& right) {
    Clear();
    return RunDiff({Dir(left), Dir(right)}, out_, err_);
  }
  int Restamp(const std::string& name) {
    Clear();
    RestampToolOptions options;
    options.directory = Dir(name);
    options.credentials = Right();
    return RunRestamp(options, out_, err_);
  }
  int Verify(const std::string& left, const std::string& right) {
    Clear();
    VerifyToolOptions options;
    options.left = Dir(left);
    options.right = Dir(right);
    options.credentials = Right();
    return RunVerify(options, out_, err_);
  }
  int Rescue(const std::string& name, const std::string& against) {
    Clear();
    return RunRescue({Dir(name), Dir(against), Dir("rescued"), Right()}, out_,
                     err_);
  }
  int Repair(const std::string& name) {
    Clear();
    return RunRepair({Dir(name), Dir("repaired")}, out_, err_);
  }
  int Id(const std::string& name) {
    Clear();
    IdOptions options;
    options.directory = Dir(name);
    return RunId(options, out_, err_);
  }
  void Clear() {
    out_.str("");
    err_.str("");
  }
  // What the last command, or call, said of the database.
  static auto NamesTheOperator(const std::string& directory) {
    return AllOf(HasSubstr(directory), HasSubstr("'counters'"),
                 HasSubstr("test.Concat"), Not(HasSubstr("damaged")));
  }

  const TemporaryDirectory root_;
  const std::string secret_;
  rocksdb::Options options_;
  ReplicatedDBOptions replication_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(UnreplayableRecordsTest, CommandsRefuseALogThatTheyCannotReplay) {
  ASSERT_TRUE(Ok(OpenReplica("db")));
  WriteByPlainProgram("db");
  Copy("db", "other");
  const auto before = ContentOfFiles(Dir("db"));
  const auto pairs = PairsOf("db");
  ASSERT_THAT(pairs,
              testing::ElementsAre("a=1", "b=2", "m=one", "ours=12", "p=3"));

  const auto refused = NamesTheOperator(Dir("db"));
  EXPECT_EQ(Diff("db", "other"), kDiffError);
  EXPECT_THAT(err_.str(), AllOf(refused, HasSubstr("log")));
  EXPECT_THAT(out_.str(), IsEmpty());
  EXPECT_EQ(Verify("db", "other"), kVerifyError);
  EXPECT_THAT(err_.str(), refused);
  EXPECT_EQ(Rescue("db", "other"), kRescueError);
  EXPECT_THAT(err_.str(), refused);
  EXPECT_EQ(Restamp("db"), 2);
  EXPECT_THAT(err_.str(), AllOf(refused, HasSubstr("ReplicatedDB::Detach")));
  EXPECT_EQ(Detach("db"), 2);
  EXPECT_THAT(err_.str(), AllOf(refused, HasSubstr("ReplicatedDB::Detach")));
  EXPECT_EQ(Repair("db"), 2);
  EXPECT_THAT(err_.str(), refused);
  EXPECT_FALSE(fs::exists(Dir("repaired")));
  EXPECT_EQ(ContentOfFiles(Dir("db")), before);
  EXPECT_EQ(PairsOf("db"), pairs);

  // The remedy: its own program opens it once, and closes it.
  ASSERT_TRUE(Ok(OpenReplica("db")));
  EXPECT_EQ(Detach("db"), 0) << err_.str();
  EXPECT_THAT(PairsOf("db"),
              testing::ElementsAre("a=1", "b=2", "m=one", "ours=1212", "p=3"));
}

TEST_F(UnreplayableRecordsTest, AnOperatorAloneIsNoReasonToRefuse) {
  ASSERT_TRUE(Ok(OpenReplica("db")));
  Copy("db", "other");
  EXPECT_EQ(Diff("db", "other"), kDiffEqual) << err_.str();
  EXPECT_EQ(Verify("db", "other"), kVerifyEqual) << err_.str();
  EXPECT_EQ(Restamp("db"), 0) << err_.str();
  EXPECT_NE(Repair("other"), 2) << err_.str();
  EXPECT_EQ(Detach("db"), 0) << err_.str();
  EXPECT_THAT(PairsOf("db"), testing::ElementsAre("ours=12"));
}

// `id` reads the index alone, also what the log has of it behind a Merge.
TEST_F(UnreplayableRecordsTest, IdNeedsNoOperator) {
  ASSERT_TRUE(Ok(OpenReplica("db")));
  WriteByPlainProgram("db");
  EXPECT_EQ(Id("db"), 0) << err_.str();

  options_.merge_operator = std::make_shared<AppendOperator>("test.Concat");
  replication_.merge_families = {"default"};
  ReplicatedDB* raw = nullptr;
  ASSERT_TRUE(
      Ok(ReplicatedDB::Open(options_, replication_, Dir("single"), &raw)));
  IdentityRecord identity;
  std::string bytes;
  {
    const std::unique_ptr<ReplicatedDB> db(raw);
    ASSERT_TRUE(Ok(db->Close()));
  }
  {
    std::vector<ColumnFamilyHandle*> handles;
    std::unique_ptr<rocksdb::DB> db;
    ASSERT_TRUE(Ok(OpenPlain(options_, Dir("single"),
                             {{"default", options_}, {kIndexFamilyName, {}}},
                             &handles, &db)));
    EXPECT_TRUE(Ok(db->Merge({}, handles[0], "m", "one")));
    EXPECT_TRUE(Ok(db->Get({}, handles[1], MetaKey(kIdentityRecord), &bytes)));
    ASSERT_TRUE(Decode(bytes, &identity));
    identity.replica_id = 0xabc;
    EXPECT_TRUE(Ok(
        db->Put({}, handles[1], MetaKey(kIdentityRecord), Encode(identity))));
    for (ColumnFamilyHandle* handle : handles) {
      EXPECT_TRUE(Ok(db->DestroyColumnFamilyHandle(handle)));
    }
  }
  EXPECT_EQ(Id("single"), 0) << err_.str();
  EXPECT_EQ(out_.str(), "0000000000000abc\n");
}

TEST_F(UnreplayableRecordsTest,
       PlainDatabasesAreNotCalledEqualUpToTheFirstMerge) {
  WriteByPlainProgram("left");
  Copy("left", "right");
  EXPECT_EQ(Diff("left", "right"), kDiffError);
  EXPECT_THAT(err_.str(), NamesTheOperator(Dir("left")));
  EXPECT_THAT(out_.str(), IsEmpty());
}

TEST_F(UnreplayableRecordsTest, ALogBehindTablesIsNotCalledDamaged) {
  ASSERT_TRUE(Ok(OpenReplica("db")));
  WriteByPlainProgram("db", /*flush=*/true);
  WriteByPlainProgram("db");
  Copy("db", "other");
  EXPECT_EQ(Diff("db", "other"), kDiffError);
  EXPECT_THAT(err_.str(), NamesTheOperator(Dir("db")));
  EXPECT_EQ(Detach("db"), 2);
  EXPECT_THAT(err_.str(), NamesTheOperator(Dir("db")));
}

TEST_F(UnreplayableRecordsTest, OpenDetachAndRestampNeedTheOperatorOfTheLog) {
  ASSERT_TRUE(Ok(OpenReplica("db")));
  WriteByPlainProgram("db");
  const auto before = ContentOfFiles(Dir("db"));
  const auto refused = NamesTheOperator(Dir("db"));
  Status status = OpenReplica("db", /*with_operator=*/false);
  EXPECT_TRUE(status.IsInvalidArgument());
  EXPECT_THAT(status.ToString(), refused);
  status = ReplicatedDB::Detach(options_, Dir("db"), Families(false));
  EXPECT_TRUE(status.IsInvalidArgument());
  EXPECT_THAT(status.ToString(), refused);
  RestampResult result;
  status = ReplicatedDB::Restamp(options_, replication_, Dir("db"),
                                 Families(false), &result);
  EXPECT_TRUE(status.IsInvalidArgument());
  EXPECT_THAT(status.ToString(), refused);
  EXPECT_EQ(ContentOfFiles(Dir("db")), before);

  ASSERT_TRUE(Ok(ReplicatedDB::Detach(options_, Dir("db"), Families(true))));
  EXPECT_THAT(PairsOf("db"),
              testing::ElementsAre("a=1", "b=2", "m=one", "ours=12", "p=3"));
}

TEST_F(UnreplayableRecordsTest, AnAdoptionNeedsTheOperatorOfTheLog) {
  WriteByPlainProgram("db");
  const auto before = ContentOfFiles(Dir("db"));
  const Status status = OpenReplica("db", /*with_operator=*/false);
  EXPECT_TRUE(status.IsInvalidArgument());
  EXPECT_THAT(status.ToString(), NamesTheOperator(Dir("db")));
  EXPECT_EQ(ContentOfFiles(Dir("db")), before);
  std::vector<ColumnFamilyDescriptor> more = Families(false);
  more.push_back({"young", {}});
  std::vector<ColumnFamilyHandle*> handles;
  ReplicatedDB* none = nullptr;
  EXPECT_THAT(ReplicatedDB::Open(options_, replication_, Dir("db"), more,
                                 &handles, &none)
                  .ToString(),
              NamesTheOperator(Dir("db")));
  ASSERT_TRUE(Ok(OpenReplica("db")));
  EXPECT_THAT(PairsOf("db"),
              testing::ElementsAre("a=1", "b=2", "m=one", "ours=12", "p=3"));
}

TEST_F(UnreplayableRecordsTest, WhatOnlyTheOperatorReadsIsNamed) {
  ASSERT_TRUE(Ok(OpenReplica("db")));
  WriteByPlainProgram("db", /*flush=*/true);
  ASSERT_TRUE(Ok(OpenReplica("db")));
  Copy("db", "other");
  const auto named = NamesTheOperator(Dir("db"));
  EXPECT_EQ(Diff("db", "other"), kDiffError);
  EXPECT_THAT(err_.str(), AllOf(named, HasSubstr("CompactRange")));
  // What both have is on no side alone.
  EXPECT_THAT(out_.str(), IsEmpty());
  EXPECT_EQ(Rescue("db", "other"), kRescueError);
  EXPECT_THAT(err_.str(), named);
  EXPECT_FALSE(fs::exists(Dir("rescued")));
  EXPECT_EQ(Repair("db"), 2);
  EXPECT_THAT(err_.str(), named);
  EXPECT_FALSE(fs::exists(Dir("repaired")));
  // Neither reads it.
  EXPECT_EQ(Verify("db", "other"), kVerifyEqual) << err_.str();
  EXPECT_EQ(Detach("db"), 0) << err_.str();
  EXPECT_THAT(PairsOf("db"),
              testing::ElementsAre("a=1", "b=2", "m=one", "ours=1212", "p=3"));
}

}  // namespace
}  // namespace rocksync
