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
#include <system_error>
#include <vector>

#include "rocksdb/db.h"
#include "rocksdb/utilities/transaction.h"
#include "rocksdb/utilities/transaction_db.h"
#include "rocksync/replicated_db.h"
#include "tests/support/file_content.h"
#include "tests/support/open_plain.h"
#include "tests/support/temporary_directory.h"
#include "tools/detach.h"
#include "tools/diff.h"
#include "tools/id.h"
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
    rocksdb::TransactionDBOptions transactions;
    transactions.write_policy = policy_;
    const Status status = TransactionDB::Open(options_, transactions, Dir(name),
                                              families, handles, &raw);
    db->reset(raw);
    return status;
  }
  // RocksDB removes files that a flush has made obsolete meanwhile.
  void CopyOpen(const std::string& name, const std::string& copy) {
    fs::create_directory(Dir(copy));
    for (const auto& file : fs::directory_iterator(Dir(name))) {
      std::error_code error;
      fs::copy_file(file, fs::path(Dir(copy)) / file.path().filename(), error);
      EXPECT_TRUE(!error || error == std::errc::no_such_file_or_directory)
          << file.path() << ": " << error.message();
    }
  }
  // `killed` is as the process that held `name` leaves it. A transaction is
  // prepared there, and committed or not.
  // All families, after Prepare or after Commit, with older files of the log
  // left over.
  enum class Flushed { kNo, kYes, kAfterCommit };
  void Kill(const std::string& name, const std::string& killed, bool commit,
            Flushed flushed = Flushed::kNo) {
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
    if (flushed == Flushed::kYes) {
      for (ColumnFamilyHandle* handle : handles) {
        ASSERT_TRUE(Ok(db->Put({}, handle, "\377flushed", "1")));
      }
      ASSERT_TRUE(Ok(db->Flush({}, handles)));
    }
    if (flushed == Flushed::kAfterCommit) {
      ASSERT_TRUE(Ok(db->DisableFileDeletions()));
    }
    if (commit) {
      ASSERT_TRUE(Ok(transaction->Commit()));
    }
    if (flushed == Flushed::kAfterCommit) {
      ASSERT_TRUE(Ok(db->Flush({}, handles)));
    }
    ASSERT_TRUE(Ok(db->Put({}, "later", "1")));
    ASSERT_TRUE(Ok(db->SyncWAL()));
    // Else a compaction may take a table away between two files.
    ASSERT_TRUE(Ok(db->PauseBackgroundWork()));
    CopyOpen(name, killed);
    ASSERT_TRUE(Ok(db->ContinueBackgroundWork()));
    // An assertion of RocksDB's ends what is closed with it prepared.
    if (!commit) {
      EXPECT_TRUE(Ok(transaction->Rollback()));
    }
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
    rocksdb::DBOptions options;
    options.allow_2pc = true;  // it may not be resolved yet
    std::vector<ColumnFamilyHandle*> handles;
    std::unique_ptr<rocksdb::DB> db;
    EXPECT_TRUE(Ok(OpenPlainForReadOnly(options, Dir(name), {{"default", {}}},
                                        &handles, &db)));
    if (db == nullptr) return {};
    std::string value;
    EXPECT_TRUE(Ok(db->Get({}, handles[0], key, &value)));
    EXPECT_TRUE(Ok(db->DestroyColumnFamilyHandle(handles[0])));
    return value;
  }
  static auto NamesWhatIsPrepared(const std::string& directory) {
    return AllOf(HasSubstr("Invalid argument: rocksync: the log of " +
                           directory + " holds transactions"),
                 HasSubstr("commit or roll back what is prepared, then flush"));
  }

  const TemporaryDirectory root_;
  const std::string secret_;
  rocksdb::Options options_;
  ReplicatedDBOptions replication_;
  rocksdb::TxnDBWritePolicy policy_ = rocksdb::WRITE_COMMITTED;
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

// Then RocksDB does not read that part of the log without allow_2pc, and drops
// the transaction, if committed or not.
TEST_F(PreparedTransactionsTest, OneWithLaterWritesInTablesIsRefused) {
  for (const bool commit : {false, true}) {
    const std::string killed = commit ? "committed" : "prepared";
    Kill("db of " + killed, killed, commit, Flushed::kYes);
    EXPECT_THAT(OpenReplica(killed).ToString(),
                NamesWhatIsPrepared(Dir(killed)));
    Remedy(killed);
    EXPECT_TRUE(Ok(OpenReplica(killed)));
    EXPECT_EQ(Get(killed, "key"), "value");
  }
  ASSERT_TRUE(Ok(OpenReplica("replica")));
  Kill("replica", "killed", /*commit=*/true, Flushed::kYes);
  EXPECT_THAT(OpenReplica("killed").ToString(),
              NamesWhatIsPrepared(Dir("killed")));
  EXPECT_THAT(ReplicatedDB::Detach(options_, Dir("killed"), {{"default", {}}})
                  .ToString(),
              NamesWhatIsPrepared(Dir("killed")));
}

// With whatever options RocksDB finds fault with the log.
TEST_F(PreparedTransactionsTest, OneOfADamagedLogIsRefused) {
  Kill("db", "plain", /*commit=*/true);
  ASSERT_TRUE(Ok(OpenReplica("replica")));
  Kill("replica", "killed", /*commit=*/true);
  options_.wal_recovery_mode = rocksdb::WALRecoveryMode::kAbsoluteConsistency;
  for (const std::string killed : {"plain", "killed"}) {
    for (const auto& file : fs::directory_iterator(Dir(killed))) {
      if (file.path().extension() != ".log" || file.file_size() < 4) continue;
      fs::resize_file(file, file.file_size() - 3);
    }
    EXPECT_FALSE(OpenReplica(killed).ok());
    EXPECT_FALSE(ReplicatedDB::Detach(options_, Dir(killed)).ok());
  }
}

// With these policies a commit puts nothing into a memtable, and stays in a log
// that is read.
TEST_F(PreparedTransactionsTest, TheRemedyWorksWithEachPolicy) {
  for (const auto policy : {rocksdb::WRITE_COMMITTED, rocksdb::WRITE_PREPARED,
                            rocksdb::WRITE_UNPREPARED}) {
    SCOPED_TRACE(policy);
    policy_ = policy;
    const std::string killed = "killed" + std::to_string(policy);
    Kill("db" + std::to_string(policy), killed, /*commit=*/false);
    EXPECT_THAT(OpenReplica(killed).ToString(),
                NamesWhatIsPrepared(Dir(killed)));
    Remedy(killed);
    EXPECT_TRUE(Ok(OpenReplica(killed)));
    EXPECT_EQ(Get(killed, "key"), "value");
  }
}

// All of it is in tables, and the log is left over.
TEST_F(PreparedTransactionsTest, RepairPassesOverWhatIsInTables) {
  ASSERT_TRUE(Ok(OpenReplica("db")));
  Kill("db", "killed", /*commit=*/true, Flushed::kAfterCommit);
  EXPECT_NE(RunRepair({Dir("killed"), Dir("repaired"), {}}, out_, err_), 2)
      << err_.str();
  EXPECT_EQ(Get("repaired", "key"), "value");
}

TEST_F(PreparedTransactionsTest, WhatOnlyReadsSeesWhatIsCommitted) {
  for (const auto policy : {rocksdb::WRITE_COMMITTED, rocksdb::WRITE_PREPARED,
                            rocksdb::WRITE_UNPREPARED}) {
    SCOPED_TRACE(policy);
    policy_ = policy;
    const std::string db = "db" + std::to_string(policy);
    ASSERT_TRUE(Ok(OpenReplica(db)));
    Kill(db, db + "killed", /*commit=*/true);
    fs::copy(Dir(db + "killed"), Dir(db + "same"));
    const int code =
        RunDiff({Dir(db + "killed"), Dir(db + "same")}, out_, err_);
    if (policy == rocksdb::WRITE_COMMITTED) {
      EXPECT_EQ(code, kDiffEqual) << err_.str();
      EXPECT_EQ(Get(db + "same", "key"), "value");
    } else {
      EXPECT_EQ(code, kDiffError);
      EXPECT_THAT(err_.str(), NamesWhatIsPrepared(Dir(db + "killed")));
    }
    IdOptions id;
    id.directory = Dir(db + "same");
    EXPECT_EQ(RunId(id, out_, err_), 0) << err_.str();
    err_.str("");
  }
}

TEST_F(PreparedTransactionsTest, WhatWritesRefusesIt) {
  for (const auto policy :
       {rocksdb::WRITE_COMMITTED, rocksdb::WRITE_PREPARED}) {
    SCOPED_TRACE(policy);
    policy_ = policy;
    const std::string db = "db" + std::to_string(policy);
    ASSERT_TRUE(Ok(OpenReplica(db)));
    const std::string killed = db + "killed";
    Kill(db, killed, /*commit=*/true);
    EXPECT_EQ(RunRepair({Dir(killed), Dir("repaired"), {}}, out_, err_), 2);
    EXPECT_THAT(err_.str(), HasSubstr("holds transactions"));
    EXPECT_FALSE(fs::exists(Dir("repaired")));
    err_.str("");
    EXPECT_EQ(RunDetach({Dir(killed)}, out_, err_), 2);
    EXPECT_THAT(err_.str(), NamesWhatIsPrepared(Dir(killed)));
    err_.str("");
    RestampToolOptions restamp;
    restamp.directory = Dir(killed);
    restamp.credentials.cluster = "test";
    restamp.credentials.secret_file = secret_;
    EXPECT_EQ(RunRestamp(restamp, out_, err_), 2);
    EXPECT_THAT(err_.str(), NamesWhatIsPrepared(Dir(killed)));
    err_.str("");
    EXPECT_THAT(ReplicatedDB::Detach(options_, Dir(killed), {{"default", {}}})
                    .ToString(),
                NamesWhatIsPrepared(Dir(killed)));
    RestampResult result;
    EXPECT_THAT(ReplicatedDB::Restamp(options_, replication_, Dir(killed),
                                      {{"default", {}}}, &result)
                    .ToString(),
                NamesWhatIsPrepared(Dir(killed)));
  }
}

}  // namespace
}  // namespace rocksync
