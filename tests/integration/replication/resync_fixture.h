// A source, and a replica that parted from it and is brought up to date by a
// copy of it.

#ifndef ROCKSYNC_TESTS_INTEGRATION_REPLICATION_RESYNC_FIXTURE_H_
#define ROCKSYNC_TESTS_INTEGRATION_REPLICATION_RESYNC_FIXTURE_H_

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "replication/store/directory/directory_switch.h"
#include "replication/store/format/clone_record.h"
#include "rocksdb/env.h"
#include "rocksync/clone.h"
#include "tests/integration/replication/replica_fixture.h"
#include "tests/integration/replication/version_of.h"

namespace rocksync {

namespace fs = std::filesystem;

class ResyncTest : public ReplicationTest {
 protected:
  ResyncTest() : source_(NewReplica("source")), old_(NewReplica("old")) {
    EXPECT_TRUE(IsOk(source_->Start()));
    replication_.cluster_name = "test";
    replication_.cluster_secret.fill(7);
    resync_.copy.source = source_->address();
    resync_.copy.io_timeout = milliseconds(10'000);
    id_ = old_->id();
    EXPECT_TRUE(IsOk(old_->NewTransport(&resync_.copy.transport)));
  }

  static rocksdb::Env* Env() { return rocksdb::Env::Default(); }
  std::string Dir() const { return old_->setting().directory; }

  void Fill(TestReplica* replica, const std::string& prefix, int count,
            const std::string& value) {
    for (int i = 0; i < count; ++i) {
      replica->Put(prefix + std::to_string(i), value);
    }
  }

  void Meet(TestReplica* replica) {
    ASSERT_TRUE(IsOk(replica->Start()));
    ASSERT_TRUE(IsOk(replica->replicator()->SyncNow(source_->address())));
    replica->Stop();
  }

  // Both have 500 pairs; then the source goes on alone, and so does the other
  // one for a little.
  void PartFarBehind() {
    Fill(source_.get(), "common", 500, "1");
    Meet(old_.get());
    Fill(source_.get(), "source", 3000, std::string(100, 's'));
    source_->Put("common1", "of the source, later");
    for (int i = 2; i < 100; ++i) source_->Delete(Numbered("common", i));
    old_->Put("common1", "of the old one, latest");
    old_->Put("alone", "1");
    old_->Put("common400", "2");
    old_->Delete("common401");
    source_->Put("common402", "of the source");
    expected_ = source_->Scan();
    carried_over_ = 3;
    if (VersionOf(old_->db(), "common1") >
        VersionOf(source_->db(), "common1")) {
      expected_["common1"] = "of the old one, latest";
      ++carried_over_;
    }
    expected_["alone"] = "1";
    expected_["common400"] = "2";
    expected_.erase("common401");
    incarnation_ = old_->db()->Identity().incarnation;
    old_->Close();
  }

  rocksdb::Status Resync() {
    return ReplicatedDB::Resync(options_, replication_, Dir(), families_,
                                resync_, &result_);
  }

  // From the `most`-th call of progress in this stage on it is cancelled.
  void ExpectToEndAfterCalls(CloneProgress::Stage stage, int most) {
    int calls = 0;
    const auto thread = std::this_thread::get_id();
    resync_.copy.progress = [&](const CloneProgress& progress) {
      EXPECT_EQ(std::this_thread::get_id(), thread);
      calls += progress.stage == stage ? 1 : 0;
    };
    resync_.copy.cancelled = [&] { return calls >= most; };
    const auto began = std::chrono::steady_clock::now();
    const rocksdb::Status s = Resync();
    EXPECT_TRUE(s.IsAborted()) << s.ToString();
    EXPECT_LT(std::chrono::steady_clock::now() - began, milliseconds(15'000));
    EXPECT_GE(calls, most);
    resync_.copy.progress = nullptr;
    resync_.copy.cancelled = nullptr;
  }

  void ExpectUpToDate() {
    ASSERT_TRUE(old_->Open()) << old_->open_status().ToString();
    EXPECT_EQ(old_->id(), id_);
    EXPECT_GT(old_->db()->Identity().incarnation, incarnation_);
    EXPECT_EQ(old_->Scan(), expected_);
    EXPECT_FALSE(fs::exists(Dir() + "/" + kCloneRecordFileName));
    EXPECT_FALSE(fs::exists(ResyncDirectory(Env(), Dir())));
    EXPECT_FALSE(fs::exists(ReplacedDirectory(Env(), Dir())));
  }

  std::unique_ptr<TestReplica> source_;
  std::unique_ptr<TestReplica> old_;
  uint64_t id_ = 0;
  uint64_t incarnation_ = 0;
  Contents expected_;
  uint64_t carried_over_ = 0;
  rocksdb::DBOptions options_;
  ReplicatedDBOptions replication_;
  std::vector<rocksdb::ColumnFamilyDescriptor> families_ = {
      {rocksdb::kDefaultColumnFamilyName, {}}};
  ResyncOptions resync_;
  ResyncResult result_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_INTEGRATION_REPLICATION_RESYNC_FIXTURE_H_
