// The power goes at every step of an opening, a close, a detach and a renewal:
// what is found afterwards opens as what it was, or says what to do.

#include <filesystem>
#include <functional>
#include <string>

#include "replication/store/format/marker.h"
#include "tests/integration/store/mortal_disk.h"
#include "tests/integration/store/store_fixture.h"
#include "tests/sanitized.h"
#include "tests/support/open_plain.h"
#include "tests/support/wrong_clock.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;

class MarkerCrashTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    options_.write_dbid_to_manifest = true;
    options_.info_log_level = rocksdb::WARN_LEVEL;
    options_.max_background_jobs = 1;
  }
  // An offline replica, written to in two openings.
  void MakeReplica() {
    ASSERT_ROCKS_OK(OpenOther("base", &db_));
    original_ = db_->Identity().replica_id;
    ASSERT_ROCKS_OK(db_->Put({}, "k", "v"));
    ASSERT_ROCKS_OK(OpenAgain("base"));
    ASSERT_ROCKS_OK(db_->Put({}, "l", "v"));
    ASSERT_ROCKS_OK(db_->Close());
    db_.reset();
  }
  rocksdb::Status OpenAgain(const std::string& name) {
    db_.reset();
    return OpenOther(name, &db_);
  }

  // `act` runs on a copy of the base, `check` on what the power loss leaves; so
  // often that the loss came at every operation (under sanitizers at every
  // fourth).
  void AtEveryStep(const std::function<void(rocksdb::Options)>& act,
                   const std::function<void()>& check) {
    bool finished = false;
    uint64_t step = 0;
    for (; !finished && !HasFailure(); step += kSanitized ? 4 : 1) {
      SCOPED_TRACE("power lost after operation " + std::to_string(step));
      fs::remove_all(Dir());
      if (fs::exists(Dir("base"))) {
        fs::copy(Dir("base"), Dir(), fs::copy_options::recursive);
      } else {
        fs::create_directory(Dir());
      }
      MortalDisk disk;
      rocksdb::Options options = options_;
      options.env = disk.env();
      disk.DieAfter(step);
      act(options);
      finished = !disk.dead();
      disk.LosePower();
      // It never syncs, which is quicker.
      disk.DieAfter(UINT64_MAX);
      options_.env = disk.env();
      check();
      db_.reset();
      options_.env = rocksdb::Env::Default();
    }
    EXPECT_GT(step, 20u) << "nothing was interrupted";
  }
  rocksdb::Status OpenOn(const rocksdb::Options& options,
                         std::unique_ptr<ReplicatedDB>* db) {
    ReplicatedDB* raw = nullptr;
    const rocksdb::Status status =
        ReplicatedDB::Open(options, replication_, Dir(), &raw);
    db->reset(raw);
    return status;
  }
  void ExpectValues() {
    EXPECT_EQ(Get("k"), "v");
    EXPECT_EQ(Get("l"), "v");
  }

  uint64_t original_ = 0;
};

TEST_F(MarkerCrashTest, OpeningWritingAndClosing) {
  MakeReplica();
  bool acknowledged = false;
  AtEveryStep(
      [&](const rocksdb::Options& options) {
        std::unique_ptr<ReplicatedDB> db;
        acknowledged = false;
        if (!OpenOn(options, &db).ok()) return;
        rocksdb::WriteOptions synced;
        synced.sync = true;
        acknowledged = db->Put(synced, "m", "v").ok();
        db->Close().PermitUncheckedError();
      },
      [&] {
        ASSERT_ROCKS_OK(Open());
        EXPECT_EQ(db_->Identity().replica_id, original_);
        const IndexBuildProgress build = db_->GetIndexBuildProgress();
        EXPECT_TRUE(build.done) << build.activity << InfoLog();
        ExpectValues();
        if (acknowledged) {
          EXPECT_EQ(Get("m"), "v");
        }
      });
}

TEST_F(MarkerCrashTest, FirstOpening) {
  AtEveryStep(
      [&](const rocksdb::Options& options) {
        std::unique_ptr<ReplicatedDB> db;
        OpenOn(options, &db).PermitUncheckedError();
      },
      [&] {
        ASSERT_ROCKS_OK(Open());
        ASSERT_ROCKS_OK(Put("k", "v"));
        ASSERT_ROCKS_OK(Open());
        EXPECT_EQ(Get("k"), "v");
      });
}

TEST_F(MarkerCrashTest, FirstOpeningOfAPlainDatabase) {
  Plain("base",
        [](rocksdb::DB* db) { ASSERT_ROCKS_OK(db->Put({}, "k", "v")); });
  AtEveryStep(
      [&](const rocksdb::Options& options) {
        std::unique_ptr<ReplicatedDB> db;
        OpenOn(options, &db).PermitUncheckedError();
      },
      [&] {
        ASSERT_ROCKS_OK(Open());
        ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
        EXPECT_EQ(Get("k"), "v");
        EXPECT_EQ(Total().count, 1u);
      });
}

// Before the index goes it is the replica that it was, after that plain.
TEST_F(MarkerCrashTest, Detaching) {
  MakeReplica();
  int stayed = 0;
  int detached = 0;
  AtEveryStep(
      [&](const rocksdb::Options& options) {
        ReplicatedDB::Detach(options, Dir()).PermitUncheckedError();
      },
      [&] {
        std::vector<std::string> names;
        ASSERT_ROCKS_OK(rocksdb::DB::ListColumnFamilies({}, Dir(), &names));
        ASSERT_ROCKS_OK(Open());
        ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
        const bool stays = db_->Identity().replica_id == original_;
        EXPECT_EQ(stays, names.size() == 2);
        ++(stays ? stayed : detached);
        ExpectValues();
      });
  EXPECT_GT(stayed, 0);
  EXPECT_GT(detached, 0);
}

// Never the identity of its original, at whatever moment it was interrupted.
TEST_F(MarkerCrashTest, ACopyThatBecomesANewReplica) {
  MakeReplica();
  fs::remove(Dir("base") + "/" + kMarkerFileName);
  AtEveryStep(
      [&](const rocksdb::Options& options) {
        replication_.open_copy_as_new_replica = true;
        std::unique_ptr<ReplicatedDB> db;
        OpenOn(options, &db).PermitUncheckedError();
        replication_.open_copy_as_new_replica = false;
      },
      [&] {
        rocksdb::Status status = Open();
        if (!status.ok()) {
          EXPECT_TRUE(status.IsAborted()) << status.ToString();
          replication_.open_copy_as_new_replica = true;
          status = Open();
          replication_.open_copy_as_new_replica = false;
        }
        ASSERT_ROCKS_OK(status);
        ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
        EXPECT_NE(db_->Identity().replica_id, original_);
        EXPECT_EQ(db_->GetIndexStats().pairs_quarantined, 0u);
        ExpectValues();
      });
}

// Dropped by the application, and nobody else: before it is there with all that
// the index knows, after that gone.
TEST_F(MarkerCrashTest, DroppingAFamily) {
  const auto open_all = [&](const rocksdb::Options& options,
                            const std::string& name,
                            std::vector<rocksdb::ColumnFamilyHandle*>* handles,
                            std::unique_ptr<ReplicatedDB>* db) {
    std::vector<std::string> names;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    rocksdb::DB::ListColumnFamilies(options, Dir(name), &names)
        .PermitUncheckedError();
    if (names.empty()) names.push_back("default");
    for (const std::string& family : names) {
      if (family != kIndexFamilyName) families.push_back({family, options});
    }
    ReplicatedDB* raw = nullptr;
    const rocksdb::Status status = ReplicatedDB::Open(
        options, replication_, Dir(name), families, handles, &raw);
    db->reset(raw);
    return status;
  };
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  const auto close = [&](std::unique_ptr<ReplicatedDB>* db) {
    for (auto* handle : handles) {
      (*db)->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    }
    handles.clear();
    db->reset();
  };
  ASSERT_ROCKS_OK(open_all(options_, "base", &handles, &db_));
  ASSERT_ROCKS_OK(
      db_->CreateColumnFamily({}, "orders", &handles.emplace_back()));
  ASSERT_ROCKS_OK(db_->Put({}, handles[1], "k", "v"));
  close(&db_);
  int dropped = 0;
  AtEveryStep(
      [&](const rocksdb::Options& options) {
        std::unique_ptr<ReplicatedDB> db;
        if (!open_all(options, "db", &handles, &db).ok()) return;
        db->DropColumnFamily(handles[1]).PermitUncheckedError();
        close(&db);
      },
      [&] {
        ASSERT_ROCKS_OK(open_all(options_, "db", &handles, &db_));
        ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
        EXPECT_EQ(Total().count, handles.size() - 1);
        dropped += handles.size() == 1;
        close(&db_);
      });
  EXPECT_GT(dropped, 0);
}

TEST_F(MarkerCrashTest, AnIndexThatIsLostAndMadeAnew) {
  MakeReplica();
  Plain("base",
        [](rocksdb::DB* db) { ASSERT_ROCKS_OK(db->Put({}, "foreign", "v")); });
  {
    rocksdb::DB* raw = nullptr;
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    ASSERT_ROCKS_OK(OpenPlain({}, Dir("base"),
                              {{"default", {}}, {kIndexFamilyName, {}}},
                              &handles, &raw));
    // Without its records, and with entries.
    ASSERT_ROCKS_OK(raw->DeleteRange({}, handles[1], std::string(8, '\0'),
                                     std::string(8, '\0') + "\xff"));
    for (auto* handle : handles) {
      ASSERT_ROCKS_OK(raw->DestroyColumnFamilyHandle(handle));
    }
    delete raw;
  }
  int dropped = 0;
  AtEveryStep(
      [&](const rocksdb::Options& options) {
        replication_.adopt_after_index_loss = true;
        std::unique_ptr<ReplicatedDB> db;
        OpenOn(options, &db).PermitUncheckedError();
        replication_.adopt_after_index_loss = false;
      },
      [&] {
        std::vector<std::string> names;
        ASSERT_ROCKS_OK(rocksdb::DB::ListColumnFamilies({}, Dir(), &names));
        rocksdb::Status status = Open();
        if (names.size() == 1) {
          ++dropped;
          EXPECT_ROCKS_OK(status);  // what was allowed is under way
        }
        if (!status.ok()) {
          EXPECT_TRUE(status.IsCorruption()) << status.ToString();
          replication_.adopt_after_index_loss = true;
          status = Open();
          replication_.adopt_after_index_loss = false;
        }
        ASSERT_ROCKS_OK(status);
        ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
        EXPECT_NE(db_->Identity().replica_id, original_);
        EXPECT_EQ(Total().count, 3u);
        ExpectValues();
      });
  EXPECT_GT(dropped, 0);
}

// Whoever comes next goes on: restamps again, and then opens it, which finds
// nothing that others wrote.
TEST_F(MarkerCrashTest, Restamping) {
  WrongClock clock;
  clock.ahead_ms = 7'200'000;
  options_.env = &clock;
  MakeReplica();
  options_.env = rocksdb::Env::Default();
  bool done = false;
  RestampResult result;
  AtEveryStep(
      [&](const rocksdb::Options& options) {
        done = ReplicatedDB::Restamp(options, replication_, Dir(),
                                     {{"default", options}}, &result)
                   .ok();
      },
      [&] {
        ASSERT_ROCKS_OK(ReplicatedDB::Restamp(
            options_, replication_, Dir(), {{"default", options_}}, &result));
        EXPECT_EQ(result.entries_read, 2u);
        if (done) {
          EXPECT_EQ(result.restamped, 0u);
        }
        ASSERT_ROCKS_OK(ReplicatedDB::Restamp(
            options_, replication_, Dir(), {{"default", options_}}, &result));
        EXPECT_EQ(result.restamped, 0u);
        ASSERT_ROCKS_OK(Open());
        EXPECT_TRUE(db_->GetIndexBuildProgress().done) << InfoLog();
        EXPECT_EQ(db_->Identity().replica_id, original_);
        ExpectValues();
      });
}

}  // namespace
}  // namespace rocksync
