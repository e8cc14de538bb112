// Databases whose TransactionDB was killed. RocksDB replays what is prepared in
// their log for a TransactionDB alone; built with assertions, it ends the
// process of everybody else.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/utilities/transaction.h"
#include "rocksdb/utilities/transaction_db.h"
#include "rocksync/replicated_db.h"
#include "tests/support/file_content.h"
#include "tests/support/temporary_directory.h"
#include "tools/detach.h"
#include "tools/diff.h"
#include "tools/repair.h"
#include "tools/restamp.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;

using rocksdb::ColumnFamilyDescriptor;
using rocksdb::ColumnFamilyHandle;
using rocksdb::Status;
using rocksdb::TransactionDB;
using testing::AllOf;
using testing::HasSubstr;

class PreparedTransactionsTest : public testing::Test {
 protected:
  PreparedTransactionsTest() : secret_(root_ / "secret") {
    std::ofstream(secret_, std::ios::binary) << std::string(32, '\7');
    replication_.cluster_name = "test";
    replication_.cluster_secret.fill(7);
    options_.create_if_missing = true;
  }

  static testing::AssertionResult Ok(const Status& status) {
    return status.ok() ? testing::AssertionSuccess()
                       : testing::AssertionFailure() << status.ToString();
  }
  std::string Dir(const std::string& name) const { return root_ / name; }

  Status OpenReplica(const std::string& name) {
    ReplicatedDB* raw = nullptr;
    Status status = ReplicatedDB::Open(options_, replication_, Dir(name), &raw);
    const std::unique_ptr<ReplicatedDB> db(raw);
    if (status.ok()) status = db->WaitForIndexBuild(60'000);
    if (status.ok()) status = db->Put({}, "ours", "1");
    return status.ok() ? db->Close() : status;
  }
  Status OpenTransactions(const std::string& name,
                          std::vector<ColumnFamilyHandle*>* handles,
                          std::unique_ptr<TransactionDB>* db) {
    std::vector<std::string> names;
    std::vector<ColumnFamilyDescriptor> families;
    if (!rocksdb::DB::ListColumnFamilies(options_, Dir(name), &names).ok()) {
      names = {rocksdb::kDefaultColumnFamilyName};
    }
    for (const std::string& there : names) families.push_back({there, {}});
    TransactionDB* raw = nullptr;
    const Status status =
        TransactionDB::Open(options_, {}, Dir(name), families, handles, &raw);
    db->reset(raw);
    return status;
  }
  // `killed` is as the process that held `name` leaves it. A transaction is
  // prepared there, and committed or not.
  void Kill(const std::string& name, const std::string& killed, bool commit) {
    std::vector<ColumnFamilyHandle*> handles;
    std::unique_ptr<TransactionDB> db;
    ASSERT_TRUE(Ok(OpenTransactions(name, &handles, &db)));
    ASSERT_TRUE(Ok(db->Put({}, "earlier", "1")));
    ASSERT_TRUE(Ok(db->Flush({}, handles)));
    const std::unique_ptr<rocksdb::Transaction> transaction(
        db->BeginTransaction({}));
    ASSERT_TRUE(Ok(transaction->SetName("prepared")));
    ASSERT_TRUE(Ok(transaction->Put("key", "value")));
    ASSERT_TRUE(Ok(transaction->Prepare()));
    if (commit) ASSERT_TRUE(Ok(transaction->Commit()));
    ASSERT_TRUE(Ok(db->Put({}, "later", "1")));
    ASSERT_TRUE(Ok(db->SyncWAL()));
    fs::copy(Dir(name), Dir(killed));
    for (ColumnFamilyHandle* handle : handles) {
      EXPECT_TRUE(Ok(db->DestroyColumnFamilyHandle(handle)));
    }
  }
  // What the error asks for.
  void Remedy(const std::string& name) {
    std::vector<ColumnFamilyHandle*> handles;
    std::unique_ptr<TransactionDB> db;
    ASSERT_TRUE(Ok(OpenTransactions(name, &handles, &db)));
    std::vector<rocksdb::Transaction*> prepared;
    db->GetAllPreparedTransactions(&prepared);
    for (rocksdb::Transaction* transaction : prepared) {
      EXPECT_TRUE(Ok(transaction->Commit()));
      delete transaction;
    }
    EXPECT_TRUE(Ok(db->Flush({}, handles)));
    for (ColumnFamilyHandle* handle : handles) {
      EXPECT_TRUE(Ok(db->DestroyColumnFamilyHandle(handle)));
    }
  }
  std::string Get(const std::string& name, const std::string& key) {
    rocksdb::DB* raw = nullptr;
    EXPECT_TRUE(Ok(rocksdb::DB::OpenForReadOnly(options_, Dir(name), &raw)));
    const std::unique_ptr<rocksdb::DB> db(raw);
    std::string value;
    EXPECT_TRUE(Ok(db->Get({}, key, &value)));
    return value;
  }
  static auto NamesWhatIsPrepared(const std::string& directory) {
    return AllOf(HasSubstr("Invalid argument: rocksync: the log of " +
                           directory + " holds transactions"),
                 HasSubstr("commit or roll back what is prepared, flush"));
  }

  const TemporaryDirectory root_;
  const std::string secret_;
  rocksdb::Options options_;
  ReplicatedDBOptions replication_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(PreparedTransactionsTest, APlainDatabaseIsRefused) {
  for (const bool commit : {false, true}) {
    const std::string killed = commit ? "committed" : "prepared";
    Kill("db of " + killed, killed, commit);
    const auto before = ContentOfFiles(Dir(killed));
    const Status status = OpenReplica(killed);
    EXPECT_THAT(status.ToString(), NamesWhatIsPrepared(Dir(killed)));
    EXPECT_EQ(ContentOfFiles(Dir(killed)), before);
    Remedy(killed);
    EXPECT_TRUE(Ok(OpenReplica(killed)));
    EXPECT_EQ(Get(killed, "key"), "value");
    EXPECT_EQ(Get(killed, "later"), "1");
  }
}

TEST_F(PreparedTransactionsTest, AReplicaIsRefused) {
  ASSERT_TRUE(Ok(OpenReplica("db")));
  Kill("db", "killed", /*commit=*/true);
  EXPECT_THAT(OpenReplica("killed").ToString(),
              NamesWhatIsPrepared(Dir("killed")));
  Remedy("killed");
  EXPECT_TRUE(Ok(OpenReplica("killed")));
  EXPECT_EQ(Get("killed", "key"), "value");
}

// Its tables are looked for before anything of its log is.
TEST_F(PreparedTransactionsTest, OneWithOtherPathsIsRefused) {
  options_.db_paths = {{Dir("tables"), 1 << 30}};
  Kill("db", "killed", /*commit=*/true);
  EXPECT_THAT(OpenReplica("killed").ToString(),
              NamesWhatIsPrepared(Dir("killed")));
}

TEST_F(PreparedTransactionsTest, CommandsRefuseItOrReplayIt) {
  ASSERT_TRUE(Ok(OpenReplica("db")));
  Kill("db", "killed", /*commit=*/true);
  fs::copy(Dir("killed"), Dir("same"));
  // By the OPTIONS file it is a TransactionDB's.
  EXPECT_EQ(RunDiff({Dir("killed"), Dir("same")}, out_, err_), 0) << err_.str();
  EXPECT_EQ(RunRepair({Dir("killed"), Dir("repaired"), {}}, out_, err_), 0)
      << err_.str();
  EXPECT_EQ(Get("repaired", "key"), "value");
  EXPECT_EQ(RunDetach({Dir("same")}, out_, err_), 0) << err_.str();
  EXPECT_EQ(Get("same", "key"), "value");

  // A program's own options, which are not.
  EXPECT_THAT(ReplicatedDB::Detach(options_, Dir("killed"), {{"default", {}}})
                  .ToString(),
              NamesWhatIsPrepared(Dir("killed")));
  RestampResult result;
  EXPECT_THAT(ReplicatedDB::Restamp(options_, replication_, Dir("killed"),
                                    {{"default", {}}}, &result)
                  .ToString(),
              NamesWhatIsPrepared(Dir("killed")));
}

}  // namespace
}  // namespace rocksync
