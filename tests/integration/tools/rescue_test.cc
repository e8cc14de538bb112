// rocksync rescue: what a replica alone holds comes out, and nothing else; its
// directory stays as it is.

#include "tools/rescue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "nlohmann/json.hpp"
#include "replication/store/format/index_key.h"
#include "replication/store/store_access.h"
#include "replication/store/write/indexed_db.h"
#include "rocksdb/sst_file_reader.h"
#include "tests/integration/replication/replica_fixture.h"
#include "tests/support/file_content.h"
#include "tests/support/open_plain.h"

namespace rocksync {
namespace {

using testing::HasSubstr;

class RescueTest : public ReplicationTest {
 protected:
  void SetUp() override {
    a_ = NewReplica("a");
    b_ = NewReplica("b");
    ASSERT_TRUE(IsOk(a_->Start()));
    ASSERT_TRUE(IsOk(b_->Start()));
    for (int i = 0; i < 500; ++i) a_->Put("k" + std::to_string(i), "value");
    ASSERT_TRUE(IsOk(a_->replicator()->SyncNow(b_->address())));
    std::ofstream(directory_ / "certificates/trial-secret", std::ios::binary)
        << std::string(32, '\7');
  }

  // `a` goes its own way and is then fenced, say.
  void Diverge() {
    a_->Stop();
    a_->Put("mine", "kept");
    a_->Put("k1", "later here");
    a_->Delete("k2");
    a_->Put("k3", "earlier");
    std::this_thread::sleep_for(milliseconds(5));  // else one clock reading
    b_->Put("k3", "later there");
    b_->Put("theirs", "not mine");
    a_->Close();
  }

  int Rescue(const std::string& against,
             const std::string& output = "rescued") {
    RescueOptions options;
    options.directory = a_->setting().directory;
    options.against = against;
    options.output = directory_ / output;
    options.credentials.cluster = "test";
    options.credentials.trial_directory = directory_ / "certificates";
    out_.str("");
    err_.str("");
    return RunRescue(options, out_, err_);
  }

  // Takes the index entry of a key of `a` away.
  void Unindex(const std::string& key) {
    IndexedDB* const store = StoreAccess::IndexedOf(a_->db());
    const FamiliesInUse now = store->families();
    const Family& family = now->families()[0];
    std::string index_key;
    AppendIndexKey(
        &index_key,
        {store->reader().hasher().Position(family.name, key), family.id, key});
    store->digests()->Invalidate();
    ASSERT_TRUE(
        IsOk(store->db()->Delete({}, store->reader().index(), index_key)));
  }

  // Lines of the list by key.
  std::map<std::string, nlohmann::json> List() const {
    std::map<std::string, nlohmann::json> list;
    std::ifstream in(directory_ / "rescued/pairs.jsonl");
    for (std::string line; std::getline(in, line);) {
      const auto json = nlohmann::json::parse(line);
      list[json["key"]] = json;
    }
    return list;
  }

  Contents Pairs(const char* file = "default.sst") const {
    Contents pairs;
    rocksdb::SstFileReader reader{rocksdb::Options()};
    if (!reader.Open(directory_ / "rescued/" + file).ok()) return pairs;
    const std::unique_ptr<rocksdb::Iterator> it(
        reader.NewIterator(rocksdb::ReadOptions()));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      pairs[it->key().ToString()] = it->value().ToString();
    }
    return pairs;
  }

  // Name and content of every file.
  Contents Files(const std::string& directory) const {
    Contents files;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      files[entry.path().filename()] = FileContent(entry.path());
    }
    return files;
  }

  void ExpectExported() {
    EXPECT_EQ(Pairs(), (Contents{{"k1", "later here"}, {"mine", "kept"}}));
    const auto list = List();
    ASSERT_EQ(list.size(), 3u);
    EXPECT_EQ(list.at("mine")["difference"], "missing_there");
    EXPECT_EQ(list.at("mine")["key_hex"], "6d696e65");
    EXPECT_EQ(list.at("mine")["value_bytes"], 4);
    EXPECT_FALSE(list.at("mine")["damaged"].get<bool>());
    EXPECT_EQ(list.at("k1")["difference"], "version");
    EXPECT_EQ(list.at("k2")["kind"], "tombstone");
    EXPECT_THAT(out_.str(), HasSubstr("2 pairs and 1 tombstone exported"));
  }

  std::unique_ptr<TestReplica> a_;
  std::unique_ptr<TestReplica> b_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(RescueTest, AgainstARunningReplica) {
  Diverge();
  const Contents before = Files(a_->setting().directory);
  EXPECT_EQ(Rescue(b_->address()), kRescueExported) << err_.str();
  ExpectExported();
  EXPECT_EQ(Files(a_->setting().directory), before) << "it stays as it is";
}

TEST_F(RescueTest, AgainstAnOfflineOne) {
  Diverge();
  b_->Stop();
  b_->Close();
  const Contents before = Files(a_->setting().directory);
  EXPECT_EQ(Rescue(b_->setting().directory), kRescueExported) << err_.str();
  ExpectExported();
  EXPECT_EQ(Files(a_->setting().directory), before);
}

TEST_F(RescueTest, NothingToRescue) {
  a_->Stop();
  a_->Close();
  b_->Put("theirs", "not mine");
  EXPECT_EQ(Rescue(b_->address()), kRescueNothing) << err_.str();
  EXPECT_FALSE(std::filesystem::exists(directory_ / "rescued"));
}

TEST_F(RescueTest, ADamagedPairIsNotAmongTheSoundOnes) {
  a_->Stop();
  a_->Put("mine", "kept");
  a_->Put("corrupted", "value");
  // Not a foreign write, which would be noticed and count.
  ASSERT_TRUE(IsOk(StoreAccess::IndexedOf(a_->db())->db()->Put(
      rocksdb::WriteOptions(), "corrupted", "valuf")));
  a_->Close();
  EXPECT_EQ(Rescue(b_->address()), kRescueExported) << err_.str();
  EXPECT_EQ(Pairs(), (Contents{{"mine", "kept"}}));
  EXPECT_TRUE(List().at("corrupted")["damaged"].get<bool>());
  EXPECT_EQ(Pairs("default.quarantined.sst"),
            (Contents{{"corrupted", "valuf"}}));
  EXPECT_THAT(out_.str(), HasSubstr("1 quarantined pair,"));
}

// A foreign write, and a crash before that was noticed: no index knows
// of it, and the digests of the two are equal.
// The replica itself cannot be opened any more.
TEST_F(RescueTest, OfADamagedLogTheRestIsExported) {
  a_->Stop();
  a_->Put("mine", "kept");
  a_->Put("damaged", std::string(10'000, 'x'));
  a_->Close();
  size_t damaged = 0;
  std::filesystem::path log_of_it;
  size_t begin = 0;
  for (const auto& [file, bytes] : Files(a_->setting().directory)) {
    const size_t value = bytes.find(std::string(1'000, 'x'));
    if (!file.ends_with(".log") || value == std::string::npos) continue;
    log_of_it = a_->setting().directory + "/" + file;
    begin = value;
    std::fstream log(a_->setting().directory + "/" + file,
                     std::ios::in | std::ios::out | std::ios::binary);
    log.seekp(static_cast<std::streamoff>(value));
    log.put('~');
    ++damaged;
  }
  ASSERT_EQ(damaged, 1u);
  EXPECT_TRUE(ReplicatedDB::Detach({}, a_->setting().directory).IsAborted());
  ASSERT_EQ(Rescue(b_->address()), kRescueError);
  EXPECT_THAT(out_.str(), HasSubstr("exported to"));
  EXPECT_EQ(Pairs(), (Contents{{"mine", "kept"}}));
  // Of a log that ends there, too.
  std::filesystem::resize_file(log_of_it, begin);
  std::filesystem::remove_all(directory_ / "rescued");
  EXPECT_TRUE(ReplicatedDB::Detach({}, a_->setting().directory).IsAborted());
  ASSERT_EQ(Rescue(b_->address()), kRescueError);
  EXPECT_THAT(out_.str(), HasSubstr("exported to"));
  EXPECT_EQ(Pairs(), (Contents{{"mine", "kept"}}));
}

TEST_F(RescueTest, WhatHasNoIndexEntryIsExportedAsQuarantined) {
  a_->Stop();
  for (const auto& [key, value] :
       Contents{{"unknown", "only here"}, {"k5", "value"}, {"k6", "another"}}) {
    Unindex(key);
    ASSERT_TRUE(
        IsOk(StoreAccess::IndexedOf(a_->db())->db()->Put({}, key, value)));
  }
  b_->Put("shared", "x");
  b_->Delete("gone");
  for (const char* key : {"shared", "gone"}) {
    ASSERT_TRUE(
        IsOk(StoreAccess::IndexedOf(a_->db())->db()->Put({}, key, "x")));
  }
  a_->Close();
  EXPECT_EQ(Rescue(b_->address()), kRescueExported) << out_.str() << err_.str();
  EXPECT_EQ(Pairs(), Contents());
  EXPECT_EQ(
      Pairs("default.quarantined.sst"),
      (Contents{{"gone", "x"}, {"k6", "another"}, {"unknown", "only here"}}))
      << "but not what the other holds too";
  const auto list = List();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list.at("unknown")["difference"], "missing_there");
  EXPECT_EQ(list.at("k6")["difference"], "content");
  EXPECT_EQ(list.at("gone")["difference"], "deleted_there");
  EXPECT_TRUE(list.at("unknown")["quarantined"].get<bool>());
  EXPECT_FALSE(list.at("unknown")["damaged"].get<bool>());
  EXPECT_EQ(list.at("unknown")["time_ms"], 0);
  EXPECT_THAT(out_.str(), HasSubstr("also 3 quarantined pairs"));
}

// And once a scrub has found it.
TEST_F(RescueTest, AQuarantinedPairIsExported) {
  a_->Put("mine", "kept");
  Unindex("mine");
  ASSERT_TRUE(IsOk(a_->replicator()->ScrubNow()));
  ASSERT_EQ(a_->db()->GetIndexStats().pairs_quarantined, 1u);
  a_->Stop();
  a_->Close();
  EXPECT_EQ(Rescue(b_->address()), kRescueExported) << out_.str() << err_.str();
  EXPECT_EQ(Pairs("default.quarantined.sst"), (Contents{{"mine", "kept"}}));
  EXPECT_EQ(List().at("mine")["difference"], "missing_there");

  std::filesystem::remove_all(directory_ / "rescued");
  b_->Stop();
  b_->Close();
  EXPECT_EQ(Rescue(b_->setting().directory), kRescueExported) << err_.str();
  EXPECT_EQ(Pairs("default.quarantined.sst"), (Contents{{"mine", "kept"}}));
}

TEST_F(RescueTest, Errors) {
  EXPECT_EQ(Rescue(b_->address()), kRescueError) << "it is open";
  EXPECT_THAT(err_.str(), HasSubstr("is in use"));
  Diverge();
  std::filesystem::create_directory(directory_ / "rescued");
  EXPECT_EQ(Rescue(b_->address()), kRescueError);
  EXPECT_THAT(err_.str(), HasSubstr("name another"));
}

TEST_F(RescueTest, AReplicaWithoutItsIndexIsNoPlainDatabase) {
  const std::string name = a_->setting().directory;
  a_->Stop();
  a_->Close();
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;
  ASSERT_TRUE(IsOk(OpenAllPlain({}, name, &handles, &db)));
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    if (handle->GetName() == kIndexFamilyName) {
      ASSERT_TRUE(IsOk(db->DropColumnFamily(handle)));
    }
    ASSERT_TRUE(IsOk(db->DestroyColumnFamilyHandle(handle)));
  }
  db.reset();
  EXPECT_EQ(Rescue(b_->address()), 2);
  EXPECT_THAT(err_.str(), HasSubstr("the index of " + name + " is lost"));
  EXPECT_THAT(err_.str(), HasSubstr("adopt_after_index_loss"));
}

TEST_F(RescueTest, WhereTheExportCannotBeMadeIsSaid) {
  Diverge();
  EXPECT_EQ(Rescue(b_->address(), "nowhere/rescued"), kRescueError);
  EXPECT_THAT(err_.str(), HasSubstr("the directory above it has to be there"));
  const std::filesystem::path own = a_->setting().directory;
  EXPECT_EQ(Rescue(b_->address(), own.filename().string() + "/rescued"),
            kRescueError);
  EXPECT_THAT(err_.str(), HasSubstr("name a directory outside of it"));
  EXPECT_FALSE(std::filesystem::exists(own / "rescued"));
}

TEST_F(RescueTest, AnEntityIsNotExportedAsItsDefaultColumn) {
  Diverge();
  ASSERT_TRUE(a_->Open());
  IndexedDB* const store = StoreAccess::IndexedOf(a_->db());
  ASSERT_TRUE(
      IsOk(store->db()->PutEntity({}, store->db()->DefaultColumnFamily(),
                                  "mine", {{"", "kept"}, {"city", "Jena"}})));
  a_->Close();
  EXPECT_EQ(Rescue(b_->address()), kRescueExported) << err_.str();
  EXPECT_EQ(Pairs(), (Contents{{"k1", "later here"}}));
  EXPECT_TRUE(List().at("mine")["damaged"].get<bool>());
  EXPECT_THAT(err_.str(), HasSubstr("wide-column"));
}

}  // namespace
}  // namespace rocksync
