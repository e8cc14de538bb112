// Replicas that are far behind, brought up to date by a copy of another one.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "replication/store/directory/directory_switch.h"
#include "replication/store/format/clone_record.h"
#include "replication/store/store_access.h"
#include "replication/store/upkeep/peer_memory.h"
#include "replication/store/write/indexed_db.h"
#include "rocksdb/env.h"
#include "rocksync/clone.h"
#include "tests/integration/replication/resync_fixture.h"
#include "tests/integration/replication/silent_port.h"
#include "tests/integration/replication/version_of.h"
#include "tests/integration/store/index_equals_data.h"
#include "tests/support/flip_bit.h"
#include "tests/support/open_plain.h"
#include "tests/support/options_text.h"
#include "tests/support/wrong_clock.h"

namespace rocksync {
namespace {

TEST_F(ResyncTest, IsTheReplicaThatItWasAndKeepsWhatItAloneHolds) {
  PartFarBehind();
  const std::string options_file = OptionsText(Dir());
  ASSERT_TRUE(IsOk(Resync()));
  EXPECT_EQ(OptionsText(Dir()), options_file);
  EXPECT_TRUE(result_.copy.proven_equal) << result_.copy.session_error;
  EXPECT_EQ(result_.copy.replica_id, id_);
  EXPECT_EQ(result_.copy.source_id, source_->id());
  EXPECT_EQ(result_.carried_over, carried_over_);
  ExpectUpToDate();
  EXPECT_EQ(source_->Scan(), expected_) << "by the session";
  // Versions go on above all that it issued or holds.
  const auto third = NewReplica("third");
  Meet(third.get());
  for (const char* key : {"alone", "source7", "common1"}) {
    old_->Put(key, "again");
  }
  Meet(old_.get());
  Meet(third.get());
  for (const char* key : {"alone", "source7", "common1"}) {
    EXPECT_EQ(third->Scan()[key], "again") << key;
  }
  old_->Close();
  EXPECT_TRUE(IndexEqualsData(Dir(), replication_.cluster_secret));
}

TEST_F(ResyncTest, FilesOfOthersStay) {
  PartFarBehind();
  std::ofstream(Dir() + "/notes.txt") << "mine";
  fs::create_directory(Dir() + "/more");
  std::ofstream(Dir() + "/more/notes.txt") << "mine, too";
  ASSERT_TRUE(IsOk(Resync()));
  ExpectUpToDate();
  EXPECT_TRUE(fs::exists(Dir() + "/notes.txt"));
  EXPECT_TRUE(fs::exists(Dir() + "/more/notes.txt"));
}

// A disk that fails for a while: the next opening moves them.
TEST_F(ResyncTest, FilesOfOthersThatCannotBeMovedAreMovedLater) {
  class FailingRenames : public rocksdb::EnvWrapper {
   public:
    FailingRenames() : EnvWrapper(rocksdb::Env::Default()) {}
    const char* Name() const override { return "FailingRenames"; }
    rocksdb::Status RenameFile(const std::string& from,
                               const std::string& to) override {
      if (from.find(".replaced/") != std::string::npos) {
        return rocksdb::Status::IOError(from, "Input/output error");
      }
      return EnvWrapper::RenameFile(from, to);
    }
  } failing;
  PartFarBehind();
  std::ofstream(Dir() + "/notes.txt") << "mine";
  options_.env = &failing;
  ASSERT_TRUE(IsOk(Resync()));
  EXPECT_FALSE(fs::exists(Dir() + "/notes.txt"));
  // Tools take it for what it is.
  EXPECT_TRUE(IsOk(CheckNoUnfinishedClone(Env(), Dir())));
  ExpectUpToDate();
  EXPECT_TRUE(fs::exists(Dir() + "/notes.txt"));
  old_->Close();
  options_.env = Env();
  resync_.copy_from_share = 0;
  ASSERT_TRUE(IsOk(Resync()));
}

TEST_F(ResyncTest, TheDirectoryKeepsItsModeHoweverItIsNamed) {
  PartFarBehind();
  resync_.copy_from_share = 0;
  fs::permissions(Dir(), fs::perms::owner_all);
  std::vector<fs::perms> copying;
  resync_.copy.progress = [&](const CloneProgress& progress) {
    if (progress.stage != CloneProgress::Stage::kCopying) return;
    copying.push_back(fs::status(ResyncDirectory(Env(), Dir())).permissions());
  };
  for (const char* end : {"", "/", "//", "/.", "/../old"}) {
    copying.clear();
    ASSERT_TRUE(IsOk(ReplicatedDB::Resync(options_, replication_, Dir() + end,
                                          families_, resync_, &result_)))
        << end;
    EXPECT_EQ(fs::status(Dir()).permissions(), fs::perms::owner_all);
    ASSERT_FALSE(copying.empty());
    for (const fs::perms mode : copying) EXPECT_EQ(mode, fs::perms::owner_all);
    EXPECT_FALSE(fs::exists(Dir() + "/..resync"));
    ExpectUpToDate();
    old_->Close();
  }
}

// Tombstones that all acknowledged are collected while it is away, and what
// they deleted does not come back, nor does its own state hold them up after.
TEST_F(ResyncTest, OfMembersWithCollectedTombstones) {
  const auto third = NewReplica("third");
  ASSERT_TRUE(IsOk(third->Start()));
  const std::vector<TestReplica*> all = {source_.get(), old_.get(),
                                         third.get()};
  const auto meet_until_collected = [&] {
    ASSERT_TRUE(IsOk(old_->Start()));
    EXPECT_TRUE(Eventually([&] {
      for (TestReplica* replica : {old_.get(), third.get()}) {
        // What is collected may change while they meet.
        (void)replica->replicator()->SyncNow(source_->address());
      }
      return std::all_of(all.begin(), all.end(), [](TestReplica* replica) {
        return replica->db()->CollectTombstones().ok() &&
               replica->db()->GetTombstoneGcStats().tombstones == 0;
      });
    }));
    old_->Stop();
  };
  Fill(source_.get(), "k", 200, "1");
  ASSERT_TRUE(IsOk(
      source_->db()->SetMembers(1, {source_->id(), old_->id(), third->id()})));
  meet_until_collected();
  for (int i = 0; i < 100; ++i) source_->Delete(Numbered("k", i));
  meet_until_collected();
  old_->Put("alone", "1");
  old_->Delete("k150");
  old_->Close();
  // Of these it knows nothing, and they stay tombstones until it does.
  for (int i = 100; i < 120; ++i) source_->Delete(Numbered("k", i));
  Fill(source_.get(), "later", 500, "2");
  ASSERT_TRUE(IsOk(third->replicator()->SyncNow(source_->address())));
  expected_ = source_->Scan();
  expected_["alone"] = "1";
  expected_.erase("k150");
  ASSERT_TRUE(IsOk(Resync()));
  EXPECT_TRUE(result_.copy.proven_equal) << result_.copy.session_error;
  ExpectUpToDate();
  meet_until_collected();
  for (TestReplica* replica : all) EXPECT_EQ(replica->Scan(), expected_);
}

// What the source's opening noted of itself is not the replica's.
TEST_F(ResyncTest, FromASourceThatWasMoved) {
  source_->Stop();
  source_->Close();
  fs::rename(directory_ / "source", directory_ / "moved");
  source_ = NewReplica("moved");
  ASSERT_TRUE(IsOk(source_->Start()));
  resync_.copy.source = source_->address();
  PartFarBehind();
  ASSERT_TRUE(IsOk(Resync()));
  ExpectUpToDate();
  old_->Close();
  TestReplica::Setting setting = old_->setting();
  setting.adjust = [](rocksdb::Options*, ReplicatedDBOptions* replication) {
    replication->open_copy_as_new_replica = true;
  };
  TestReplica again(setting);
  ASSERT_TRUE(again.Open()) << again.open_status().ToString();
  EXPECT_EQ(again.id(), id_);
}

// Its versions would be held back; the replica's clock does not follow either.
TEST_F(ResyncTest, FromASourceWhoseClockIsAhead) {
  PartFarBehind();
  source_->Stop();
  source_->Close();
  WrongClock ahead;
  ahead.ahead_ms = 7'200'000;
  TestReplica::Setting setting = source_->setting();
  setting.adjust = [&](rocksdb::Options* options, ReplicatedDBOptions*) {
    options->env = &ahead;
  };
  TestReplica source(setting);
  ASSERT_TRUE(source.Open()) << source.open_status().ToString();
  source.Put("from the future", "1");
  ASSERT_TRUE(IsOk(source.Start()));
  resync_.copy.source = source.address();
  const rocksdb::Status s = Resync();
  EXPECT_TRUE(s.IsTryAgain()) << s.ToString();
  // By less on a slow machine: the reading of the source's that counts is
  // older.
  const std::string text = s.ToString();
  const size_t is = text.find(" is ");
  ASSERT_NE(is, std::string::npos) << text;
  const int ahead_s = std::atoi(text.c_str() + is + 4);
  EXPECT_GT(ahead_s, 7200 - 600) << text;
  EXPECT_LE(ahead_s, 7201) << text;
  EXPECT_TRUE(Mentions(s, " s ahead of this one's")) << text;
  ASSERT_TRUE(old_->Open()) << old_->open_status().ToString();
  EXPECT_EQ(old_->Scan().count("alone"), 1u);
}

TEST_F(ResyncTest, WhatIsRefusedIsNamedAndLeftAlone) {
  PartFarBehind();
  const auto refused = [&](const std::string& text) {
    const rocksdb::Status s = Resync();
    EXPECT_TRUE(Mentions(s, text)) << s.ToString();
    EXPECT_FALSE(s.ok());
    EXPECT_FALSE(fs::exists(ResyncDirectory(Env(), Dir())));
    EXPECT_FALSE(fs::exists(ReplacedDirectory(Env(), Dir())));
    return s;
  };
  fs::create_directory(ReplacedDirectory(Env(), Dir()));
  const rocksdb::Status there = Resync();
  EXPECT_TRUE(there.IsInvalidArgument()) << there.ToString();
  EXPECT_TRUE(Mentions(there, ".replaced is there"));
  fs::remove(ReplacedDirectory(Env(), Dir()));

  fs::create_directory_symlink(Dir(), directory_ / "link");
  const rocksdb::Status link =
      ReplicatedDB::Resync(options_, replication_, directory_ / "link/",
                           families_, resync_, &result_);
  EXPECT_TRUE(link.IsNotSupported()) << link.ToString();
  EXPECT_TRUE(Mentions(link, "is a link"));

  families_.push_back({"local", {}});
  replication_.families = {rocksdb::kDefaultColumnFamilyName};
  EXPECT_TRUE(refused("'local' is not replicated").IsNotSupported());
  families_.pop_back();
  replication_.families.clear();

  const std::shared_ptr<Transport> own = resync_.copy.transport;
  EXPECT_TRUE(IsOk(source_->NewTransport(&resync_.copy.transport)));
  EXPECT_TRUE(refused("the certificate is of").IsInvalidArgument());
  resync_.copy.transport = own;

  const std::string address = std::exchange(resync_.copy.source, "127.0.0.1:1");
  refused("cannot connect to 127.0.0.1:1");
  resync_.copy.source = address;

  ASSERT_TRUE(IsOk(source_->db()->SetMembers(1, {source_->id()})));
  EXPECT_TRUE(refused("member").IsInvalidArgument());
  ASSERT_TRUE(IsOk(source_->db()->SetMembers(2, {source_->id(), id_})));

  ASSERT_TRUE(old_->Open());
  refused("open");
  old_->Close();

  const rocksdb::Status nothing =
      ReplicatedDB::Resync(options_, replication_, directory_ / "nothing",
                           families_, resync_, &result_);
  EXPECT_TRUE(nothing.IsInvalidArgument()) << nothing.ToString();
  EXPECT_TRUE(Mentions(nothing, "no replica is in"));
  const std::string plain = directory_ / "plain";
  {
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* db = nullptr;
    ASSERT_TRUE(IsOk(OpenPlain(options, plain, &db)));
    delete db;
  }
  ReplicatedDBOptions adopting = replication_;
  adopting.adopt_existing = true;
  const rocksdb::Status is_plain = ReplicatedDB::Resync(
      options_, adopting, plain, families_, resync_, &result_);
  EXPECT_TRUE(is_plain.IsInvalidArgument()) << is_plain.ToString();
  EXPECT_TRUE(Mentions(is_plain, "but a plain database"));
  EXPECT_FALSE(fs::exists(plain + "/ROCKSYNC"));
  EXPECT_FALSE(fs::exists(directory_ / "nothing"));
}

// After they have met: before the files are copied, and after that.
TEST_F(ResyncTest, TheSourceChangesMeanwhile) {
  PartFarBehind();
  resync_.copy_from_share = 0;
  std::function<void()> meanwhile;
  bool is_copied = false;
  const auto met = [this] {
    return StoreAccess::PeersOf(source_->db())->Recall(id_)->incarnation;
  };
  const auto before = met();
  resync_.copy.progress = [&](const CloneProgress& progress) {
    const bool copied =
        progress.bytes > 0 && progress.files_done == progress.files;
    if (meanwhile && copied == is_copied && met() != before)
      std::exchange(meanwhile, nullptr)();
  };
  meanwhile = [&] {
    ASSERT_TRUE(IsOk(source_->db()->SetMembers(1, {source_->id(), id_})));
  };
  rocksdb::Status s = Resync();
  EXPECT_TRUE(s.IsTryAgain()) << s.ToString();
  EXPECT_TRUE(
      Mentions(s, "the member list, or what is collected, has changed"));
  is_copied = true;
  meanwhile = [&] {
    source_->Stop();
    source_->Close();
    ASSERT_TRUE(source_->Open());
    ASSERT_TRUE(IsOk(source_->Start()));
  };
  s = Resync();
  EXPECT_TRUE(s.IsTryAgain()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "has restarted meanwhile"));
  ASSERT_TRUE(IsOk(Resync()));
  EXPECT_TRUE(result_.copy.proven_equal) << result_.copy.session_error;
  ExpectUpToDate();
}

// Came into the list with data, and is proven equal to nobody that was in it.
TEST_F(ResyncTest, FromASourceThatMayHoldDeletedPairs) {
  PartFarBehind();
  resync_.copy_from_share = 0;
  ASSERT_TRUE(old_->Open());
  const auto newcomer = NewReplica("newcomer");
  newcomer->Put("of the newcomer", "1");
  ASSERT_TRUE(IsOk(newcomer->Start()));
  ASSERT_TRUE(IsOk(old_->db()->SetMembers(1, {id_})));
  ASSERT_TRUE(IsOk(old_->db()->SetMembers(2, {id_, newcomer->id()})));
  old_->Close();
  resync_.copy.source = newcomer->address();
  const rocksdb::Status s = Resync();
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "is not proven equal to one"));
  ASSERT_TRUE(old_->Open());
  EXPECT_EQ(old_->Scan().count("alone"), 1u);
}

TEST_F(ResyncTest, QuarantinedPairsAreNotDropped) {
  PartFarBehind();
  resync_.copy_from_share = 0;
  ASSERT_TRUE(old_->Open());
  ASSERT_TRUE(IsOk(old_->Start()));
  // Bypasses rocksync as a disk would.
  ASSERT_TRUE(IsOk(StoreAccess::IndexedOf(old_->db())
                       ->db()
                       ->Put({}, "alone", "is something else")));
  ASSERT_TRUE(IsOk(old_->replicator()->ScrubNow()));
  ASSERT_EQ(old_->db()->GetIndexStats().pairs_quarantined, 1u);
  old_->Stop();
  old_->Close();
  const rocksdb::Status s = Resync();
  EXPECT_FALSE(s.ok());
  EXPECT_TRUE(Mentions(s, "has 1 quarantined pairs")) << s.ToString();
  EXPECT_FALSE(fs::exists(ResyncDirectory(Env(), Dir())))
      << "nothing is copied";
  ASSERT_TRUE(old_->Open());
  EXPECT_EQ(old_->Scan()["alone"], "is something else");
}

// A copy is the remedy, so no compaction meets the block first.
TEST_F(ResyncTest, OfAReplicaWithABlockThatDoesNotRead) {
  TestReplica::Setting setting = SettingOf("old");
  setting.adjust = [](rocksdb::Options* options, ReplicatedDBOptions*) {
    options->compression = rocksdb::kNoCompression;
    options->disable_auto_compactions = true;
  };
  old_ = std::make_unique<TestReplica>(setting);
  ASSERT_TRUE(old_->Open());
  Fill(old_.get(), "k", 500, std::string(1000, 'v'));
  ASSERT_TRUE(IsOk(old_->db()->Flush({})));
  Meet(old_.get());
  std::vector<rocksdb::LiveFileMetaData> files;
  old_->db()->GetLiveFilesMetaData(&files);
  std::string table;
  for (const auto& file : files) {
    if (file.column_family_name == "default") table = file.db_path + file.name;
  }
  incarnation_ = old_->db()->Identity().incarnation;
  expected_ = old_->Scan();
  old_->Put("alone", "1");
  expected_["alone"] = "1";
  old_->Close();
  FlipABit(table, static_cast<std::streamoff>(fs::file_size(table) / 2));
  families_[0].options.level0_file_num_compaction_trigger = 2;
  resync_.copy_from_share = 0;
  ASSERT_TRUE(IsOk(Resync()));
  EXPECT_TRUE(result_.copied);
  ExpectUpToDate();
}

// By default from 0.15 of what the source then has.
TEST_F(ResyncTest, LittleIsBroughtByASession) {
  Fill(source_.get(), "k", 3000, "1");
  Meet(old_.get());
  Fill(source_.get(), "more", 400, "2");
  old_->Put("alone", "1");
  expected_ = source_->Scan();
  expected_["alone"] = "1";
  old_->Close();
  ASSERT_TRUE(IsOk(Resync()));
  EXPECT_FALSE(result_.copied);
  EXPECT_TRUE(result_.copy.proven_equal) << result_.copy.session_error;
  EXPECT_EQ(result_.copy.replica_id, id_);
  EXPECT_EQ(result_.copy.source_id, source_->id());
  EXPECT_EQ(result_.copy.bytes, 0u);
  ExpectUpToDate();
  old_->Close();
  Fill(source_.get(), "most", 1400, "3");
  expected_ = source_->Scan();
  ASSERT_TRUE(IsOk(Resync()));
  EXPECT_TRUE(result_.copied);
  ExpectUpToDate();
  // As asked for.
  for (const auto& [share, copied] :
       {std::pair(0.0, true), std::pair(1.0, false)}) {
    old_->Close();
    resync_.copy_from_share = share;
    ASSERT_TRUE(IsOk(Resync()));
    EXPECT_EQ(result_.copied, copied);
    ExpectUpToDate();
  }
  for (const double share : {-0.1, 1.1, std::nan("")}) {
    resync_.copy_from_share = share;
    EXPECT_TRUE(Resync().IsInvalidArgument()) << share;
  }
}

// Before the copy it meets the source, which says nothing.
TEST_F(ResyncTest, OfASilentSourceIsToldOfAndEndsWhenCancelled) {
  const SilentPort silent;
  old_->Close();
  resync_.copy.source = silent.address();
  resync_.copy.io_timeout = milliseconds(30'000);
  for (const double share : {0.0, 0.5, 1.0}) {
    resync_.copy_from_share = share;
    ExpectToEndAfterCalls(CloneProgress::Stage::kAsking, 4);
  }
  resync_.copy.source = source_->address();
  ASSERT_TRUE(IsOk(Resync()));
}

TEST_F(ResyncTest, ASessionIsToldOfAndEndsWhenCancelled) {
  Fill(source_.get(), "common", 100, "1");
  Meet(old_.get());
  Fill(old_.get(), "alone", 1000, std::string(1000, 'm'));
  expected_ = old_->Scan();
  old_->Close();
  ReplicatorLimits limits;
  limits.bytes_per_second = 20'000;
  ASSERT_TRUE(IsOk(source_->replicator()->SetLimits(limits)));
  resync_.copy_from_share = 1;
  resync_.copy.io_timeout = milliseconds(30'000);
  ExpectToEndAfterCalls(CloneProgress::Stage::kProving, 4);
  EXPECT_FALSE(result_.copied);
  ASSERT_TRUE(IsOk(source_->replicator()->SetLimits({})));
  ASSERT_TRUE(IsOk(Resync()));
  EXPECT_TRUE(result_.copy.proven_equal) << result_.copy.session_error;
  ExpectUpToDate();
}

// So small that every flush begins a MANIFEST, also that of the last close.
TEST_F(ResyncTest, OfAReplicaWhoseManifestIsAlwaysANewOne) {
  PartFarBehind();
  resync_.copy_from_share = 0;
  options_.max_manifest_file_size = 1;
  ASSERT_TRUE(IsOk(Resync()));
  EXPECT_TRUE(result_.copy.proven_equal) << result_.copy.session_error;
  ExpectUpToDate();
}

// Cancelled after the copy, opened and written to, then resynced after all.
TEST_F(ResyncTest, WhatIsWrittenInBetweenIsKept) {
  PartFarBehind();
  resync_.copy_from_share = 0;
  bool carrying = false;
  resync_.copy.progress = [&](const CloneProgress& progress) {
    carrying |= progress.stage == CloneProgress::Stage::kCarryingOver;
  };
  resync_.copy.cancelled = [&] { return carrying; };
  const rocksdb::Status s = Resync();
  ASSERT_TRUE(s.IsAborted()) << s.ToString();
  ASSERT_TRUE(carrying);
  // Nothing but a resync opens the copy.
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  ReplicatedDB* db = nullptr;
  const rocksdb::Status opened =
      ReplicatedDB::Open(options_, replication_, ResyncDirectory(Env(), Dir()),
                         families_, &handles, &db);
  EXPECT_TRUE(opened.IsAborted()) << opened.ToString();
  EXPECT_TRUE(Mentions(opened, "holds a copy that a resync makes"));
  EXPECT_TRUE(Mentions(opened, "open " + Dir() + ";"));

  ASSERT_TRUE(old_->Open());
  old_->Put("in between", "1");
  expected_["in between"] = "1";
  source_->Put("too", "2");
  expected_["too"] = "2";
  Meet(old_.get());
  old_->Delete("too");
  expected_.erase("too");
  old_->Close();
  resync_.copy.cancelled = nullptr;
  ASSERT_TRUE(IsOk(Resync()));
  EXPECT_TRUE(result_.copy.proven_equal) << result_.copy.session_error;
  EXPECT_LT(result_.copy.bytes_received, result_.copy.bytes);
  ExpectUpToDate();
}

// Killed while it was copied, or before there was a record of it.
TEST_F(ResyncTest, APartOfACopyIsNotTakenForAClone) {
  const std::string copy = ResyncDirectory(Env(), Dir());
  fs::create_directory(copy);
  ASSERT_TRUE(IsOk(MarkUnfinished(Env(), copy)));
  for (const bool recorded : {false, true}) {
    if (recorded) {
      ASSERT_TRUE(IsOk(WriteCloneRecord(
          Env(), copy, {.purpose = ClonePurpose::kResync, .replica_id = id_})));
    }
    std::vector<rocksdb::ColumnFamilyHandle*> handles;
    ReplicatedDB* db = nullptr;
    for (const rocksdb::Status& s :
         {ReplicatedDB::Open(options_, replication_, copy, families_, &handles,
                             &db),
          CheckNoUnfinishedClone(Env(), copy)}) {
      EXPECT_TRUE(s.IsAborted()) << s.ToString();
      EXPECT_TRUE(Mentions(s, "holds a copy that a resync makes"))
          << s.ToString();
      EXPECT_TRUE(Mentions(s, "open " + Dir() + ";")) << s.ToString();
      EXPECT_FALSE(Mentions(s, "clone")) << s.ToString();
    }
  }
}

// The place of the copy is not to be chosen.
TEST_F(ResyncTest, WhatLiesInThePlaceOfTheCopyIsToBeMovedAway) {
  PartFarBehind();
  resync_.copy_from_share = 0;
  const std::string copy = ResyncDirectory(Env(), Dir());
  const auto refused = [&] {
    const rocksdb::Status s = Resync();
    EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
    EXPECT_TRUE(Mentions(s, "move " + copy + " away")) << s.ToString();
    fs::remove_all(copy);
  };
  {
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* db = nullptr;
    ASSERT_TRUE(IsOk(OpenPlain(options, copy, &db)));
    delete db;
  }
  refused();
  std::ofstream(copy) << "a file";
  refused();
  fs::create_directory(copy);
  std::ofstream(copy + "/notes.txt") << "mine";
  refused();
  fs::create_directory(copy);
  ASSERT_TRUE(IsOk(MarkUnfinished(Env(), copy)));
  ASSERT_TRUE(IsOk(WriteCloneRecord(Env(), copy, {.replica_id = 5})));
  refused();
  ASSERT_TRUE(IsOk(Resync()));
  ExpectUpToDate();
}

}  // namespace
}  // namespace rocksync
