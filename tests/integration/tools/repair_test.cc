// rocksync repair: a replica that has lost its list of files, or some of its
// files, made anew from the rest.

#include "tools/repair.h"

#include <gmock/gmock.h>
#include <sys/mount.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "replication/store/format/current_manifest.h"
#include "rocksdb/env.h"
#include "rocksdb/sst_file_reader.h"
#include "rocksdb/table_properties.h"
#include "rocksdb/utilities/options_util.h"
#include "tests/integration/store/store_fixture.h"
#include "tests/support/own_mounts.h"
#include "tools/id.h"
#include "tools/rescue.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class RepairTest : public StoreTest {
 protected:
  // Three openings, each of which overwrites and deletes some: closes leave the
  // data in the log and the index in tables, openings the data in tables.
  void MakeReplica() {
    for (int i = 0; i < 3; ++i) {
      ASSERT_ROCKS_OK(Open());
      const std::string number = std::to_string(i);
      for (int k = 0; k < 50; ++k) {
        ASSERT_ROCKS_OK(Put("key" + std::to_string(k), "value" + number));
        ASSERT_ROCKS_OK(Put("only" + number + std::to_string(k), number));
      }
      ASSERT_ROCKS_OK(db_->Delete({}, "key" + number));
      original_ = db_->Identity().replica_id;
      ASSERT_ROCKS_OK(db_->Close());
      db_.reset();
    }
  }

  std::vector<fs::path> TablesOf(const std::string& family) const {
    std::vector<fs::path> tables;
    for (const auto& file : fs::directory_iterator(Dir())) {
      if (file.path().extension() != ".sst") continue;
      rocksdb::SstFileReader reader{rocksdb::Options()};
      EXPECT_TRUE(reader.Open(file.path()).ok());
      if (reader.GetTableProperties()->column_family_name == family) {
        tables.push_back(file.path());
      }
    }
    std::sort(tables.begin(), tables.end());
    return tables;
  }
  fs::path Manifest() const {
    return fs::path(Dir()) /
           ManifestFile(CurrentManifest(rocksdb::Env::Default(), Dir()));
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& file : fs::directory_iterator(Dir())) {
      names.push_back(file.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  int Repair(std::vector<std::string> wal_dirs = {}) {
    out_.str("");
    err_.str("");
    return RunRepair({Dir(), Dir("copy"), std::move(wal_dirs)}, out_, err_);
  }
  // Pairs that are in the log alone, of a process that ended without a close.
  void MakeKilled() {
    MakeReplica();  // so that there are tables
    ASSERT_ROCKS_OK(Open());
    for (int k = 0; k < 100; ++k) {
      ASSERT_ROCKS_OK(Put("only" + std::to_string(k), std::string(100, 'v')));
    }
    ASSERT_ROCKS_OK(db_->PauseBackgroundWork());  // no table is half there
    CopyAsKilled("db", "killed");
    if (!options_.wal_dir.empty()) CopyAsKilled("wal", "killed log");
    ASSERT_ROCKS_OK(db_->ContinueBackgroundWork());
    ASSERT_ROCKS_OK(db_->Close());
    db_.reset();
    fs::remove_all(Dir());
    fs::rename(Dir("killed"), Dir());
    if (options_.wal_dir.empty()) return;
    fs::remove_all(Dir("wal"));
    fs::rename(Dir("killed log"), Dir("wal"));
  }
  fs::path Log(const std::string& name) const {
    for (const auto& file : fs::directory_iterator(Dir(name))) {
      if (file.path().extension() == ".log") return file.path();
    }
    return {};
  }
  // As the output says.
  rocksdb::Status OpenAsNew() {
    const rocksdb::Status refused = Open("copy");
    EXPECT_THAT(refused.ToString(), HasSubstr("what was left after a loss"));
    replication_.open_copy_as_new_replica = true;
    const rocksdb::Status status = Open("copy");
    replication_.open_copy_as_new_replica = false;
    return status;
  }
  void ExpectWhole() {
    ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
    EXPECT_NE(db_->Identity().replica_id, original_);
    EXPECT_EQ(Get("key49"), "value2");
    EXPECT_EQ(Get("key2"), "-");
    EXPECT_EQ(Get("only049"), "0");
    EXPECT_EQ(Get("only249"), "2") << "was in the log";
    Total();
    EXPECT_EQ(db_->GetIndexStats().quarantined_now, 0u);
    CloseAndCheck(nullptr, "copy");
  }

  std::ostringstream out_;
  std::ostringstream err_;
  uint64_t original_ = 0;
};

TEST_F(RepairTest, OfALostManifest) {
  MakeReplica();
  fs::remove(Manifest());
  const std::vector<std::string> before = Names();
  EXPECT_FALSE(Open().ok());
  ASSERT_EQ(Repair(), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("--as-new-replica"));
  EXPECT_EQ(Names(), before);
  ASSERT_ROCKS_OK(OpenAsNew());
  ExpectWhole();
  // It is a database like any other then.
  ASSERT_ROCKS_OK(Open("copy"));
}

TEST_F(RepairTest, OfNothingLostFindsTheNewestValues) {
  MakeReplica();
  ASSERT_EQ(Repair(), 0) << err_.str();
  ASSERT_ROCKS_OK(OpenAsNew());
  ExpectWhole();
}

TEST_F(RepairTest, OfAReplicaThatWasKilled) {
  MakeReplica();
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("last", "write"));
  ASSERT_ROCKS_OK(db_->FlushWAL(true));
  CopyAsKilled("db", "killed");
  db_.reset();
  fs::remove_all(Dir());
  fs::rename(Dir("killed"), Dir());
  fs::remove(Dir() + "/CURRENT");
  ASSERT_EQ(Repair(), 0) << err_.str();
  ASSERT_ROCKS_OK(OpenAsNew());
  EXPECT_EQ(Get("last"), "write");
  ExpectWhole();
}

TEST_F(RepairTest, OfADatabaseThatOftenBeginsANewManifest) {
  options_.max_manifest_file_size = 1;
  MakeReplica();
  ASSERT_EQ(Repair(), 0) << err_.str();
  ASSERT_ROCKS_OK(OpenAsNew());
  ExpectWhole();
}

// RepairDB makes one level of them, in which the order of their numbers is not
// that of the writes.
TEST_F(RepairTest, OfTablesInSeveralLevels) {
  options_.write_buffer_size = 32 << 10;
  options_.target_file_size_base = 16 << 10;
  options_.max_bytes_for_level_base = 32 << 10;
  options_.level0_file_num_compaction_trigger = 2;
  MakeReplica();
  ASSERT_ROCKS_OK(Open());
  std::map<std::string, std::string> newest;
  std::mt19937 random(1);
  for (int i = 0; i < 6000; ++i) {
    // Now here, now there, so that levels hold writes of all times.
    const uint32_t from = i / 500 * 7919 % 2000;
    const std::string key = "new" + std::to_string(from + random() % 300);
    newest[key] = std::to_string(i) + std::string(100, 'v');
    ASSERT_ROCKS_OK(Put(key, newest[key]));
  }
  ASSERT_ROCKS_OK(db_->Flush({}));
  ASSERT_ROCKS_OK(db_->PauseBackgroundWork());
  CopyAsKilled("db", "killed");
  ASSERT_ROCKS_OK(db_->ContinueBackgroundWork());
  db_.reset();
  fs::remove_all(Dir());
  fs::rename(Dir("killed"), Dir());
  if (Repair() == 2) {
    EXPECT_THAT(err_.str(), HasSubstr("compiled with assertions"));
    return;
  }
  ASSERT_ROCKS_OK(OpenAsNew());
  for (const auto& [key, value] : newest) EXPECT_EQ(Get(key), value) << key;
}

TEST_F(RepairTest, SaysHowMuchIsThere) {
  for (const bool killed : {false, true}) {
    SCOPED_TRACE(killed);
    if (killed) {
      MakeKilled();
    } else {
      MakeReplica();
      ASSERT_ROCKS_OK(Open());  // so that all is in tables
      ASSERT_ROCKS_OK(db_->Close());
      db_.reset();
    }
    ASSERT_EQ(Repair(), 0) << err_.str();
    // Of 50 keys the last opening deletes one, and 50 more are of each opening;
    // of those that the killed one wrote 20 were there.
    EXPECT_THAT(out_.str(), HasSubstr(killed ? " holds 279 pairs; "
                                             : " holds 199 pairs; "));
    fs::remove_all(Dir());
    fs::remove_all(Dir("copy"));
  }
}

TEST_F(RepairTest, OfATableThatIsLostOrDamaged) {
  MakeReplica();
  const std::vector<fs::path> tables = TablesOf("default");
  ASSERT_FALSE(tables.empty());
  for (const bool lost : {true, false}) {
    SCOPED_TRACE(lost);
    if (lost) {
      fs::copy(Dir(), Dir("whole"));
      fs::remove(tables.front());
    } else {
      fs::resize_file(tables.front(), fs::file_size(tables.front()) / 2);
    }
    ASSERT_EQ(Repair(), 1) << err_.str();
    const std::string name = tables.front().filename();
    EXPECT_EQ(out_.str().find(name + " is not there") != std::string::npos,
              lost)
        << out_.str();
    EXPECT_EQ(out_.str().find(name + " was left out") != std::string::npos,
              !lost)
        << out_.str();
    EXPECT_EQ(fs::exists(Dir("copy") + "/lost/" + name), !lost);
    ASSERT_ROCKS_OK(OpenAsNew());
    ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
    EXPECT_EQ(Get("only249"), "2");
    EXPECT_EQ(Get("only049"), "-");
    Total();
    EXPECT_GT(db_->GetIndexStats().quarantined_now, 0u) << "peers have them";
    CloseAndCheck(nullptr, "copy");
    fs::remove_all(Dir("copy"));
    if (lost) {
      fs::remove_all(Dir());
      fs::rename(Dir("whole"), Dir());
    }
  }
}

TEST_F(RepairTest, SaysWhatATableHadThatOneBlockOfDoesNotRead) {
  ASSERT_ROCKS_OK(Open());
  for (int i = 0; i < 1000; ++i) {
    ASSERT_ROCKS_OK(Put("key" + std::to_string(i), std::string(50, 'v')));
  }
  ASSERT_ROCKS_OK(db_->Flush({}));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  const std::vector<fs::path> tables = TablesOf("default");
  ASSERT_EQ(tables.size(), 1u);
  {
    std::fstream table(tables.front(),
                       std::ios::in | std::ios::out | std::ios::binary);
    table.seekp(500);
    table << "damaged";
  }
  EXPECT_EQ(Repair(), 1) << err_.str();
  EXPECT_THAT(
      out_.str(),
      HasSubstr(
          tables.front().filename().string() +
          ", 1000 entries of the column family 'default', was left out as "
          "a whole"));
  EXPECT_THAT(out_.str(), HasSubstr("`rocksync rescue`"));
}

TEST_F(RepairTest, OfALostIndex) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "value"));
  ASSERT_ROCKS_OK(db_->Flush({}));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  for (const fs::path& table : TablesOf(kIndexFamilyName)) fs::remove(table);
  ASSERT_EQ(Repair(), 1) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("--adopt-after-index-loss"));
  EXPECT_FALSE(Open("copy").ok());
  replication_.adopt_after_index_loss = true;
  ASSERT_ROCKS_OK(Open("copy"));
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_EQ(Get("key"), "value");
  CloseAndCheck(nullptr, "copy");
}

// The table that is lost had the entries, and a later one has what the index
// says of itself: what the tool says to do works.
TEST_F(RepairTest, OfAnIndexWithoutEntries) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "value"));
  ASSERT_ROCKS_OK(Open());  // closed before, which flushes the index
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  const std::vector<fs::path> tables = TablesOf(kIndexFamilyName);
  ASSERT_GE(tables.size(), 2u);
  fs::remove(tables.front());
  ASSERT_EQ(Repair(), 1) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("lost all that it knew of the column "
                                    "family 'default'"));
  EXPECT_THAT(out_.str(),
              HasSubstr("--as-new-replica --adopt-after-index-loss"));
  const rocksdb::Status refused = OpenAsNew();
  EXPECT_THAT(refused.ToString(), HasSubstr("--adopt-after-index-loss"));
  replication_.open_copy_as_new_replica = true;
  replication_.adopt_after_index_loss = true;
  ASSERT_ROCKS_OK(Open("copy"));
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_EQ(Get("key"), "value");
  CloseAndCheck(nullptr, "copy");
}

TEST_F(RepairTest, OfNothing) {
  fs::remove_all(Dir());
  EXPECT_EQ(Repair(), 2);
  EXPECT_THAT(err_.str(), HasSubstr(Dir() + " is not there"));
}

TEST_F(RepairTest, OfALogInADirectoryOfItsOwn) {
  options_.wal_dir = Dir("wal");
  MakeReplica();
  fs::remove(Manifest());
  ASSERT_EQ(Repair(), 0) << err_.str();
  options_.wal_dir.clear();
  ASSERT_ROCKS_OK(OpenAsNew());
  ExpectWhole();
}

// As an opening leaves it that was killed while it removed logs.
TEST_F(RepairTest, OfALogThatIsNotNeededAnyMore) {
  ASSERT_ROCKS_OK(Open());
  for (int k = 0; k < 50; ++k) {
    ASSERT_ROCKS_OK(Put("key" + std::to_string(k), "old"));
  }
  std::vector<fs::path> logs;
  for (const auto& file : fs::directory_iterator(Dir())) {
    if (file.path().extension() == ".log") logs.push_back(file.path());
  }
  ASSERT_EQ(logs.size(), 1u);
  ASSERT_ROCKS_OK(db_->FlushWAL(true));
  fs::copy(logs.front(), Dir("old"));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  MakeReplica();
  fs::copy(Dir("old"), logs.front());
  fs::remove(Manifest());
  ASSERT_EQ(Repair(), 0) << err_.str();
  ASSERT_ROCKS_OK(OpenAsNew());
  ExpectWhole();
}

// As two openings leave it that were killed before their tables were listed.
TEST_F(RepairTest, OfATableThatIsThereTwice) {
  MakeReplica();
  for (const char* family : {"default", kIndexFamilyName}) {
    fs::copy(TablesOf(family).back(),
             Dir() + (family == std::string("default") ? "/000998.sst"
                                                       : "/000999.sst"));
  }
  fs::remove(Manifest());
  ASSERT_EQ(Repair(), 0) << err_.str();
  ASSERT_ROCKS_OK(OpenAsNew());
  ExpectWhole();
}

TEST_F(RepairTest, AFamilyWithoutATableIsNamed) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "value"));
  ASSERT_ROCKS_OK(db_->Flush({}));
  rocksdb::ColumnFamilyHandle* other = nullptr;
  ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, "other", &other));
  ASSERT_ROCKS_OK(db_->Put({}, other, "key", "value"));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(other));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  ASSERT_EQ(Repair(), 1) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("the column family 'other' had no table"));
  EXPECT_THAT(out_.str(),
              HasSubstr("all of it is compared with its index; name in "
                        "discard_history_of as well what was "
                        "replicated of 'other'\n"));
  replication_.open_copy_as_new_replica = true;
  EXPECT_FALSE(Open("copy").ok());
  replication_.discard_history_of = {"other"};
  ASSERT_ROCKS_OK(Open("copy"));
  EXPECT_EQ(Get("key"), "value");
}

// Which is said with the remedy, as OPTIONS files do not name them.
TEST_F(RepairTest, TablesInAnotherDirectoryAreCopiedIntoIt) {
  ASSERT_ROCKS_OK(Open());
  ASSERT_ROCKS_OK(Put("key", "value"));
  ASSERT_ROCKS_OK(db_->Flush({}));
  rocksdb::ColumnFamilyOptions elsewhere;
  elsewhere.cf_paths = {{Dir("tables"), 1 << 30}};
  rocksdb::ColumnFamilyHandle* other = nullptr;
  ASSERT_ROCKS_OK(db_->CreateColumnFamily(elsewhere, "other", &other));
  ASSERT_ROCKS_OK(db_->Put({}, other, "key", "value"));
  ASSERT_ROCKS_OK(db_->Flush({}, other));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(other));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  ASSERT_EQ(Repair(), 1) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr(".sst is not there, and perhaps others"));
  EXPECT_THAT(out_.str(), HasSubstr("copy them into the directory"));
  fs::remove_all(Dir("copy"));
  fs::remove(Manifest());
  ASSERT_EQ(Repair(), 1) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("the column family 'other' had no table"));
  EXPECT_THAT(out_.str(), HasSubstr("copy them into the directory"));
  fs::remove_all(Dir("copy"));
  for (const auto& file : fs::directory_iterator(Dir("tables"))) {
    if (file.path().extension() == ".sst") fs::copy(file.path(), Dir());
  }
  EXPECT_EQ(Repair(), 0) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("copy holds 2 pairs"));
}

// What the repair opens the database with is its own affair.
TEST_F(RepairTest, TheOptionsFileIsTheDatabases) {
  options_.wal_dir = Dir("wal");
  MakeReplica();
  fs::remove(Manifest());
  ASSERT_EQ(Repair(), 0) << err_.str();
  rocksdb::DBOptions options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  ASSERT_ROCKS_OK(
      rocksdb::LoadLatestOptions({}, Dir("copy"), &options, &families));
  EXPECT_EQ(options.wal_dir, "");
  EXPECT_EQ(options.wal_recovery_mode,
            rocksdb::WALRecoveryMode::kPointInTimeRecovery);
  for (const auto& family : families) {
    EXPECT_FALSE(family.options.disable_auto_compactions) << family.name;
    EXPECT_TRUE(family.options.force_consistency_checks) << family.name;
  }
  options_.wal_dir.clear();
  ASSERT_ROCKS_OK(OpenAsNew());
  ASSERT_ROCKS_OK(Put("more", "value"));
  ASSERT_ROCKS_OK(db_->Flush({}));
  ASSERT_ROCKS_OK(db_->Delete({}, "more"));
  ExpectWhole();
}

// Records that name their log are read only under its number: what they hold is
// not there, and that is said.
TEST_F(RepairTest, ALogWhoseFilesAreUsedAgainIsNamed) {
  MakeReplica();
  rocksdb::DBOptions options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  ASSERT_ROCKS_OK(rocksdb::LoadLatestOptions({}, Dir(), &options, &families));
  // All versions of RocksDB use files again in this mode, which the library
  // refuses.
  options.wal_recovery_mode =
      rocksdb::WALRecoveryMode::kSkipAnyCorruptedRecords;
  options.recycle_log_file_num = 3;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  ASSERT_ROCKS_OK(
      OpenPlain(rocksdb::Options(options, {}), Dir(), families, &handles, &db));
  EXPECT_ROCKS_OK(db->Put({}, "in the log", "value"));
  for (auto* handle : handles) {
    EXPECT_ROCKS_OK(db->DestroyColumnFamilyHandle(handle));
  }
  delete db;
  fs::remove(Manifest());
  ASSERT_EQ(Repair(), 1) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("the log is lost, or a part of it: "));
  EXPECT_THAT(out_.str(), HasSubstr("was written with recycle_log_file_num"));
  ASSERT_ROCKS_OK(OpenAsNew());
  EXPECT_EQ(Get("in the log"), "-");
  ExpectWhole();
}

TEST_F(RepairTest, ALogThatIsNotThereIsSaid) {
  MakeKilled();
  fs::remove(Log("db"));
  ASSERT_EQ(Repair(), 1) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr("the log is lost, or a part of it: there "
                                    "is no *.log in " +
                                    Dir()));
}

TEST_F(RepairTest, AnEmptyOrMissingDirectoryOfTheLogIsSaid) {
  options_.wal_dir = Dir("wal");
  MakeKilled();
  for (const bool missing : {false, true}) {
    fs::remove_all(Dir("wal"));
    if (!missing) fs::create_directory(Dir("wal"));
    ASSERT_EQ(Repair(), 1) << err_.str();
    EXPECT_THAT(out_.str(), HasSubstr("there is no *.log in " + Dir("wal")));
    fs::remove_all(Dir("copy"));
  }
}

TEST_F(RepairTest, TheLogOfAnotherReplicaIsRefused) {
  MakeReplica();
  options_.wal_dir = Dir("wal");
  ASSERT_ROCKS_OK(Open("other"));
  ASSERT_ROCKS_OK(Put("others", "value"));
  ASSERT_ROCKS_OK(db_->Close());
  db_.reset();
  options_.wal_dir.clear();
  for (const auto& file : fs::directory_iterator(Dir())) {
    if (file.path().extension() == ".log") fs::remove(file);
  }
  EXPECT_EQ(Repair({Dir() + "=" + Dir("wal")}), 2);
  EXPECT_THAT(
      err_.str(),
      HasSubstr("belongs to another database, which was in " + Dir("other")));
}

TEST_F(RepairTest, AWrongDirectoryOfTheLogIsRefused) {
  options_.wal_dir = Dir("wal");
  MakeKilled();
  fs::create_directory(Dir("empty"));
  // Of another database, whose log has the same name.
  fs::create_directory(Dir("other"));
  const std::string name = Log("wal").filename();
  std::string bytes = FileContent(Log("wal"));
  bytes.back() ^= 1;
  std::ofstream(Dir("other") + "/" + name, std::ios::binary) << bytes;
  for (const char* wrong : {"db", "empty", "other"}) {
    EXPECT_EQ(Repair({Dir() + "=" + Dir(wrong)}), 2) << out_.str();
    EXPECT_THAT(err_.str(), HasSubstr("was written to " + Dir("wal") + " (" +
                                      name + "), and is not in " + Dir(wrong)));
    EXPECT_THAT(err_.str(), HasSubstr("--wal-dir " + Dir() + "=LOGDIR"));
    EXPECT_FALSE(fs::exists(Dir("copy")));
    EXPECT_FALSE(fs::exists(Dir("copy.unfinished")));
  }
  EXPECT_THAT(err_.str(), HasSubstr("where another file has that name"));
  options_.wal_dir = Dir("other");
  EXPECT_THAT(Open().ToString(), HasSubstr("where another file has that name"));
  // A copy of the log is as good.
  fs::remove_all(Dir("other"));
  fs::copy(Dir("wal"), Dir("other"));
  EXPECT_EQ(Repair({Dir() + "=" + Dir("other")}), 0) << err_.str();
  options_.wal_dir.clear();
  ASSERT_ROCKS_OK(OpenAsNew());
  EXPECT_EQ(Get("only99"), std::string(100, 'v'));
}

// RocksDB would drop what follows the damage, and the next opening would not
// know.
TEST_F(RepairTest, OtherOfflineCommandsRefuseADamagedLog) {
  MakeKilled();
  const fs::path log = Log("db");
  const auto damage = [&](uint64_t at) {
    std::fstream(log, std::ios::in | std::ios::out | std::ios::binary)
            .seekp(static_cast<std::streamoff>(at))
        << "0123456789";
  };
  uint64_t id = 0;
  RestampResult restamped;
  EXPECT_ROCKS_OK(ReadReplicaId(Dir(), {}, &id));
  fs::copy(Dir(), Dir("sound"));
  damage(fs::file_size(log) / 2);
  const std::string bytes = FileContent(log);
  for (const rocksdb::Status& status :
       {ReadReplicaId(Dir(), {}, &id),
        ReplicatedDB::Detach(options_, Dir(), {{"default", options_}}),
        ReplicatedDB::Restamp(options_, replication_, Dir(),
                              {{"default", options_}}, &restamped)}) {
    EXPECT_TRUE(status.IsCorruption()) << status.ToString();
    EXPECT_THAT(status.ToString(),
                HasSubstr("whole batches follow the damaged place"));
  }
  EXPECT_EQ(FileContent(log), bytes);
  // A rescue reads what there is, and does not say that there is nothing.
  RescueOptions rescue = {Dir(), Dir("sound"), Dir("rescued"), {}};
  rescue.credentials.cluster = replication_.cluster_name;
  rescue.credentials.secret_file = Dir("secret");
  std::ofstream(Dir("secret"), std::ios::binary)
      .write(reinterpret_cast<const char*>(replication_.cluster_secret.data()),
             static_cast<std::streamsize>(replication_.cluster_secret.size()));
  fs::permissions(Dir("secret"), fs::perms::owner_read);
  EXPECT_EQ(RunRescue(rescue, out_, err_), kRescueError) << out_.str();
  EXPECT_THAT(
      err_.str(),
      HasSubstr("the log is damaged, not at its end alone: " + log.string()));
}

TEST_F(RepairTest, WhatADamagedLogLostIsSaid) {
  MakeKilled();
  fs::copy(Log("db"), Dir("sound"));
  const fs::path log = Log("db");
  std::fstream(log, std::ios::in | std::ios::out | std::ios::binary)
          .seekp(static_cast<std::streamoff>(fs::file_size(log) / 2))
      << "0123456789";
  ASSERT_EQ(Repair(), 1) << err_.str();
  EXPECT_THAT(out_.str(), HasSubstr(log.filename().string() +
                                    " is damaged, not at its end alone"));
  EXPECT_THAT(out_.str(), testing::ContainsRegex("and [0-9]+ sound batches"));
  // A log that is cut is what a kill leaves.
  fs::remove_all(Dir("copy"));
  fs::copy(Dir("sound"), log, fs::copy_options::overwrite_existing);
  fs::resize_file(log, fs::file_size(log) / 2);
  EXPECT_EQ(Repair(), 0) << out_.str();
}

TEST_F(RepairTest, BadInput) {
  EXPECT_EQ(Repair(), 2);
  EXPECT_THAT(err_.str(), HasSubstr(Dir()));
  MakeReplica();
  fs::create_directory(Dir("copy"));
  EXPECT_EQ(Repair(), 2);
  EXPECT_THAT(err_.str(), HasSubstr("is there already"));
  EXPECT_TRUE(fs::exists(Dir("copy"))) << "it is not ours";
  fs::remove(Dir("copy"));
  fs::create_symlink(Dir("nothing"), Dir("copy"));
  EXPECT_EQ(Repair(), 2);
  EXPECT_THAT(err_.str(), HasSubstr("is there already"));
  fs::remove(Dir("copy"));
  fs::create_directory(Dir("copy.unfinished"));
  EXPECT_EQ(Repair(), 2);
  EXPECT_THAT(err_.str(), HasSubstr("an earlier repair was interrupted"));
  EXPECT_TRUE(fs::exists(Dir("copy.unfinished")));
  fs::remove(Dir("copy.unfinished"));
  fs::create_directory(Dir("other"));
  std::ofstream(Dir("other") + "/CURRENT") << "MANIFEST-000001\n";
  EXPECT_EQ(RunRepair({Dir(), Dir("other") + "/copy"}, out_, err_), 2);
  EXPECT_THAT(err_.str(), HasSubstr("/copy lies in the directory of another "
                                    "database, " +
                                    Dir("other")));
  EXPECT_FALSE(fs::exists(Dir("other") + "/copy"));
  EXPECT_EQ(RunRepair({Dir(), Dir() + "/copy"}, out_, err_), 2);
  EXPECT_THAT(err_.str(), HasSubstr("/copy is in "));
  std::ofstream(Dir() + "/000999.blob") << "blob";
  EXPECT_EQ(Repair(), 2);
  EXPECT_THAT(err_.str(), HasSubstr("blob files"));
  EXPECT_FALSE(fs::exists(Dir("copy")));
  fs::remove(Dir() + "/000999.blob");
  ASSERT_ROCKS_OK(Open());
  EXPECT_EQ(Repair(), 2);
  EXPECT_THAT(err_.str(), HasSubstr("is in use"));
  EXPECT_FALSE(fs::exists(Dir("copy")));
  EXPECT_FALSE(fs::exists(Dir("copy.unfinished")));
  db_.reset();
  fs::remove_all(Dir());
  Plain("db",
        [](rocksdb::DB* db) { ASSERT_ROCKS_OK(db->Put({}, "key", "value")); });
  EXPECT_EQ(Repair(), 2);
  EXPECT_THAT(err_.str(), HasSubstr("is no replica"));
  EXPECT_FALSE(fs::exists(Dir("copy")));
}

// RepairDB would end the process there.
TEST_F(RepairTest, OnASmallDiskNothingIsBegun) {
  MakeReplica();
  const std::string disk = Dir("disk");
  fs::create_directory(disk);
  // Of this thread alone, which ends with the mount.
  std::thread([&] {
    if (!HasOwnMounts() ||
        mount("none", disk.c_str(), "tmpfs", 0, "size=16k") != 0) {
      GTEST_SKIP() << "this process may mount nothing";
    }
    EXPECT_EQ(RunRepair({Dir(), disk + "/copy"}, out_, err_), 2);
    EXPECT_THAT(err_.str(), HasSubstr(disk + "/copy.unfinished has "));
    EXPECT_THAT(err_.str(), HasSubstr("bytes free"));
    EXPECT_THAT(err_.str(), HasSubstr("name a directory on a disk with"));
    EXPECT_TRUE(fs::is_empty(disk));
  }).join();
}

// RepairDB refuses tables side by side whose sequence numbers overlap, and has
// made a list without any by then.
TEST_F(RepairTest, AfterARepairThatFailedNothingIsDeleted) {
  MakeReplica();
  fs::remove(Manifest());
  if (rocksdb::RepairDB(Dir(), rocksdb::Options()).ok()) {
    GTEST_SKIP() << "newer RocksDBs order such tables";
  }
  std::vector<fs::path> tables;
  for (const auto& file : fs::directory_iterator(Dir())) {
    if (file.path().extension() == ".sst") tables.push_back(file.path());
  }
  ASSERT_FALSE(tables.empty());
  replication_.open_copy_as_new_replica = true;
  replication_.adopt_after_index_loss = true;
  const rocksdb::Status opened = Open();
  const rocksdb::Status detached = ReplicatedDB::Detach(options_, Dir());
  replication_.open_copy_as_new_replica = false;
  replication_.adopt_after_index_loss = false;
  EXPECT_FALSE(Open().ok());
  EXPECT_THAT(opened.ToString(), HasSubstr("the MANIFEST of " + Dir()));
  EXPECT_FALSE(detached.ok());
  for (const fs::path& table : tables) EXPECT_TRUE(fs::exists(table)) << table;
  // Nor is anything made of it: which tables stand beside others RocksDB does
  // not tell.
  EXPECT_EQ(Repair(), 2);
  EXPECT_FALSE(fs::exists(Dir("copy")));
}

}  // namespace
}  // namespace rocksync
