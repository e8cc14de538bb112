// New replicas as copies of running ones, over TLS.

#include "rocksync/clone.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "replication/clone/clone.h"
#include "replication/clone/clone_directory.h"
#include "replication/clone/clone_messages.h"
#include "replication/store/format/clone_record.h"
#include "rocksdb/utilities/options_util.h"
#include "rocksync/cluster_secret.h"
#include "rocksync/replica_id.h"
#include "rocksync/trial_certificates.h"
#include "tests/integration/replication/clone_child.h"
#include "tests/integration/replication/failing_disk.h"
#include "tests/integration/replication/replica_fixture.h"
#include "tests/integration/store/index_equals_data.h"
#include "tests/support/flip_bit.h"
#include "tests/support/open_plain.h"
#include "tests/support/trial_transport.h"

extern char** environ;

namespace rocksync {
namespace {

namespace fs = std::filesystem;

// A process of clone_child.cc.
class CloneChild {
 public:
  explicit CloneChild(std::vector<std::string> arguments) {
    int to_it[2];
    int from_it[2];
    EXPECT_EQ(pipe2(to_it, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(from_it, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to_it[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from_it[1], STDOUT_FILENO);
    arguments.insert(arguments.begin(), ROCKSYNC_CLONE_CHILD);
    std::vector<char*> words;
    for (std::string& argument : arguments) words.push_back(argument.data());
    words.push_back(nullptr);
    EXPECT_EQ(
        posix_spawn(&pid_, words[0], &actions, nullptr, words.data(), environ),
        0);
    posix_spawn_file_actions_destroy(&actions);
    close(to_it[0]);
    close(from_it[1]);
    input_ = to_it[1];
    output_ = fdopen(from_it[0], "r");
  }
  ~CloneChild() {
    Kill();
    close(input_);
    std::fclose(output_);
  }

  // What it says next; empty: it has ended.
  std::string Line() {
    char line[256];
    if (std::fgets(line, sizeof line, output_) == nullptr) return "";
    std::string text = line;
    text.pop_back();
    return text;
  }
  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
  int input_ = -1;
  std::FILE* output_ = nullptr;
};

class CloneTest : public ReplicationTest {
 protected:
  CloneTest() : source_(NewReplica("source")) {
    EXPECT_TRUE(IsOk(source_->Start()));
    clone_.source = source_->address();
    clone_.io_timeout = milliseconds(10'000);
    UseCertificateOf(kClonedId);
    replication_.cluster_name = "test";
    replication_.cluster_secret.fill(7);
  }

  void UseCertificateOf(uint64_t id) {
    EXPECT_TRUE(IsOk(
        NewTrialTransport(directory_ / "certificates", id, &clone_.transport)));
  }

  std::string Dir() const { return directory_ / "clone"; }

  rocksdb::Status Clone() {
    return ReplicatedDB::Clone(options_, replication_, Dir(), families_, clone_,
                               &result_);
  }

  // `count` pairs with values of 1 000 bytes that do not compress, in a file of
  // their own.
  void Fill(const std::string& prefix, int count) {
    uint64_t state = 88172645463325252 + prefix.size();
    for (int i = 0; i < count; ++i) {
      std::string value;
      while (value.size() < 1000) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        value.append(reinterpret_cast<const char*>(&state), sizeof state);
      }
      source_->Put(prefix + std::to_string(i), value);
    }
    EXPECT_TRUE(IsOk(source_->db()->Flush(rocksdb::FlushOptions())));
  }

  // The clone, opened as its application would.
  std::unique_ptr<TestReplica> OpenClone() { return NewReplica("clone"); }

  void ExpectEqualToSource() {
    const auto replica = OpenClone();
    EXPECT_EQ(replica->id(), kClonedId);
    EXPECT_EQ(replica->Scan(), source_->Scan());
    EXPECT_TRUE(IsOk(replica->Start()));
    EXPECT_TRUE(IsOk(replica->replicator()->SyncNow(source_->address())));
    replica->Stop();
    replica->Close();
    EXPECT_TRUE(IndexEqualsData(Dir(), replication_.cluster_secret));
  }

  // Bytes of files that a clone has so far.
  uint64_t BytesHeld() const {
    uint64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(Dir())) {
      if (IsCloneFileName(entry.path().filename().string())) {
        bytes += entry.file_size();
      }
    }
    return bytes;
  }

  // Directories of checkpoints that the source holds.
  size_t Checkpoints() const {
    size_t count = 0;
    for (const auto& entry :
         fs::directory_iterator(source_->setting().directory)) {
      count += entry.is_directory() ? 1 : 0;
    }
    return count;
  }

  std::unique_ptr<TestReplica> source_;
  rocksdb::DBOptions options_;
  ReplicatedDBOptions replication_;
  std::vector<rocksdb::ColumnFamilyDescriptor> families_ = {
      {rocksdb::kDefaultColumnFamilyName, {}}};
  CloneOptions clone_;
  CloneResult result_;
};

TEST_F(CloneTest, IsANewReplicaProvenEqual) {
  Fill("a", 3000);
  source_->Delete("a17");
  ASSERT_TRUE(IsOk(Clone()));
  EXPECT_EQ(result_.replica_id, kClonedId);
  EXPECT_EQ(result_.source_id, source_->id());
  EXPECT_TRUE(result_.proven_equal) << result_.session_error;
  EXPECT_GT(result_.bytes, 3'000'000u);
  EXPECT_EQ(result_.bytes_received, result_.bytes);
  EXPECT_FALSE(fs::exists(Dir() + "/" + kCloneRecordFileName));
  EXPECT_TRUE(Eventually([this] { return Checkpoints() == 0; }));
  ExpectEqualToSource();
  // It is one now, and no second is made in its place.
  const rocksdb::Status again = Clone();
  EXPECT_TRUE(again.IsInvalidArgument()) << again.ToString();
  EXPECT_TRUE(Mentions(again, "there is a database in"));
}

TEST_F(CloneTest, TheSourceIsReadyForTheProofOnceItIsCopied) {
  Fill("a", 3000);
  const auto read = [this] {
    return source_->db()->GetIndexStats().digest_entries_read;
  };
  ASSERT_EQ(read(), 0u);
  bool copied = false;
  clone_.progress = [&](const CloneProgress& progress) {
    copied = progress.stage == CloneProgress::Stage::kOpening;
  };
  clone_.cancelled = [&] { return copied; };
  const rocksdb::Status s = Clone();
  ASSERT_TRUE(s.IsAborted()) << s.ToString();
  EXPECT_TRUE(Eventually([&] { return read() > 0; }));
  const uint64_t before_proof = read();
  clone_.cancelled = nullptr;
  ASSERT_TRUE(IsOk(Clone()));
  EXPECT_TRUE(result_.proven_equal) << result_.session_error;
  EXPECT_EQ(read(), before_proof);
}

// The cut: `bytes` of files are there, and the call is cancelled.
TEST_F(CloneTest, GoesOnWhereItWas) {
  for (const char* prefix : {"a", "b", "c", "d", "e", "f"}) Fill(prefix, 2000);
  clone_.connections = 1;
  uint64_t received = 0;
  std::atomic<bool> cut{false};
  clone_.progress = [&](const CloneProgress& progress) {
    received = progress.bytes_received;
    if (received > 3'000'000) cut = true;
  };
  // Slow, so that there is something to be cut.
  ReplicatorLimits limits;
  limits.bytes_per_second = 8'000'000;
  ASSERT_TRUE(IsOk(source_->replicator()->SetLimits(limits)));
  clone_.cancelled = [&] { return cut.load(); };
  const rocksdb::Status s = Clone();
  ASSERT_TRUE(s.IsAborted()) << s.ToString();
  const uint64_t before = result_.bytes_received;
  EXPECT_GT(before, 3'000'000u);
  EXPECT_LT(before, result_.bytes);

  EXPECT_EQ(Checkpoints(), 1u) << "for who comes back";

  // Nobody opens the part.
  ReplicatedDBOptions willing = replication_;
  willing.open_copy_as_new_replica = true;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  ReplicatedDB* db = nullptr;
  const rocksdb::Status opened =
      ReplicatedDB::Open(options_, willing, Dir(), families_, &handles, &db);
  EXPECT_TRUE(opened.IsAborted()) << opened.ToString();
  EXPECT_TRUE(Mentions(opened, "unfinished clone"));
  rocksdb::DBOptions creating;
  creating.create_if_missing = true;
  rocksdb::DB* plain = nullptr;
  EXPECT_FALSE(OpenPlain(rocksdb::Options(creating, {}), Dir(), &plain).ok());

  ASSERT_TRUE(IsOk(source_->replicator()->SetLimits(ReplicatorLimits())));
  clone_.cancelled = nullptr;
  ASSERT_TRUE(IsOk(Clone()));
  EXPECT_TRUE(result_.proven_equal) << result_.session_error;
  EXPECT_LE(before + result_.bytes_received,
            result_.bytes + result_.bytes / 50);
  ExpectEqualToSource();
}

TEST_F(CloneTest, WhatStopsLeavesNoCheckpoint) {
  Fill("a", 100);
  int calls = 0;
  clone_.progress = [&](const CloneProgress&) { ++calls; };
  clone_.cancelled = [&] { return Checkpoints() > 0; };
  ReplicatorLimits limits;
  limits.bytes_per_second = 10'000;
  ASSERT_TRUE(IsOk(source_->replicator()->SetLimits(limits)));
  EXPECT_TRUE(Clone().IsAborted());
  EXPECT_GT(calls, 0);
  EXPECT_EQ(Checkpoints(), 1u);
  source_->Stop();
  EXPECT_EQ(Checkpoints(), 0u);
}

// The source is closed and opened again in between, which makes another
// checkpoint; files that are the same are not sent again.
TEST_F(CloneTest, GoesOnFromAnotherCheckpoint) {
  for (const char* prefix : {"a", "b", "c", "d"}) Fill(prefix, 2000);
  CloneResult first;
  ASSERT_TRUE(IsOk(CopyReplica(rocksdb::Env::Default(), replication_, Dir(),
                               clone_, &first)));
  // As if it had been cut before its end, with a damaged byte in a file and a
  // file that is too long.
  ASSERT_TRUE(IsOk(MarkUnfinished(rocksdb::Env::Default(), Dir())));
  int touched = 0;
  for (const auto& entry : fs::directory_iterator(Dir())) {
    if (entry.path().extension() != ".sst" || ++touched > 2) continue;
    if (fs::file_size(entry) < 1'000'000) {
      --touched;
      continue;
    }
    if (touched == 1) {
      FlipABit(entry.path(), 1000);
    } else {
      std::ofstream(entry.path(), std::ios::app | std::ios::binary) << 'x';
    }
  }
  ASSERT_GE(touched, 2);
  source_->Stop();
  source_->Close();
  ASSERT_TRUE(source_->Open());
  ASSERT_TRUE(IsOk(source_->Start()));
  source_->Put("later", "1");
  ASSERT_TRUE(IsOk(Clone()));
  EXPECT_TRUE(result_.proven_equal) << result_.session_error;
  EXPECT_LT(result_.bytes_received, result_.bytes * 3 / 4);
  ExpectEqualToSource();
}

// kill -9 of the side that clones.
TEST_F(CloneTest, GoesOnAfterItWasKilled) {
  for (const char* prefix : {"a", "b", "c", "d", "e", "f"}) Fill(prefix, 1000);
  ReplicatorLimits limits;
  limits.bytes_per_second = kServedBytesPerSecond;
  ASSERT_TRUE(IsOk(source_->replicator()->SetLimits(limits)));
  CloneChild child(
      {"clone", Dir(), directory_ / "certificates", source_->address()});
  ASSERT_EQ(child.Line(), "half");
  child.Kill();
  const uint64_t held = BytesHeld();
  EXPECT_GT(held, 1'000'000u);
  ASSERT_TRUE(IsOk(source_->replicator()->SetLimits(ReplicatorLimits())));
  ASSERT_TRUE(IsOk(Clone()));
  EXPECT_TRUE(result_.proven_equal) << result_.session_error;
  EXPECT_LE(held + result_.bytes_received, result_.bytes + result_.bytes / 50);
  EXPECT_TRUE(Eventually([this] { return Checkpoints() == 0; }));
  ExpectEqualToSource();
}

// kill -9 of the source, which comes back with another checkpoint.
TEST_F(CloneTest, GoesOnAfterTheSourceWasKilled) {
  for (const char* prefix : {"a", "b", "c", "d", "e", "f"}) Fill(prefix, 1000);
  source_->Stop();
  source_->Close();
  const std::vector<std::string> serve = {"serve", source_->setting().directory,
                                          directory_ / "certificates"};
  CloneChild child(serve);
  clone_.source = child.Line();
  bool killed = false;
  clone_.progress = [&](const CloneProgress& progress) {
    if (killed || progress.bytes == 0) return;
    if (progress.bytes_done < progress.bytes / 2) return;
    child.Kill();
    killed = true;
  };
  const rocksdb::Status s = Clone();
  EXPECT_FALSE(s.ok());
  ASSERT_TRUE(killed);
  const uint64_t held = BytesHeld();
  EXPECT_EQ(Checkpoints(), 1u) << "what was killed leaves it";
  CloneChild again(serve);
  clone_.source = again.Line();
  EXPECT_EQ(Checkpoints(), 0u) << "what comes back removes it";
  ASSERT_TRUE(IsOk(Clone()));
  EXPECT_TRUE(result_.proven_equal) << result_.session_error;
  EXPECT_LE(held + result_.bytes_received, result_.bytes + result_.bytes / 50);
}

TEST_F(CloneTest, SeveralFamiliesAndBlobFiles) {
  rocksdb::ColumnFamilyOptions blobs;
  blobs.enable_blob_files = true;
  blobs.min_blob_size = 100;
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  ASSERT_TRUE(IsOk(source_->db()->CreateColumnFamily(blobs, "blobs", &handle)));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(IsOk(source_->db()->Put({}, handle, Numbered("b", i),
                                        std::string(1000, 'b'))));
    source_->Put(Numbered("a", i), "a");
  }
  ASSERT_TRUE(IsOk(source_->db()->Flush(rocksdb::FlushOptions(), handle)));
  // Not flushed.
  ASSERT_TRUE(IsOk(source_->db()->Put({}, handle, "late", "1")));
  // All of them have to be named, and the copy stays until they are.
  rocksdb::Status s = Clone();
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "blobs"));
  families_.push_back({"blobs", {}});
  ASSERT_TRUE(IsOk(Clone()));
  EXPECT_EQ(result_.bytes_received, 0u);
  EXPECT_TRUE(result_.proven_equal) << result_.session_error;

  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  ReplicatedDB* raw = nullptr;
  ASSERT_TRUE(IsOk(ReplicatedDB::Open(options_, replication_, Dir(), families_,
                                      &handles, &raw)));
  const std::unique_ptr<ReplicatedDB> db(raw);
  EXPECT_EQ(db->Identity().replica_id, kClonedId);
  std::string value;
  EXPECT_TRUE(IsOk(db->Get({}, handles[1], "b99", &value)));
  EXPECT_EQ(value, std::string(1000, 'b'));
  EXPECT_TRUE(IsOk(db->Get({}, handles[1], "late", &value)));
  EXPECT_TRUE(IsOk(db->Get({}, handles[0], "a99", &value)));
  for (auto* one : handles) {
    EXPECT_TRUE(IsOk(db->DestroyColumnFamilyHandle(one)));
  }
  EXPECT_TRUE(IsOk(source_->db()->DestroyColumnFamilyHandle(handle)));
}

// A comparator of the application's own.
class Backwards : public rocksdb::Comparator {
 public:
  const char* Name() const override { return "test.Backwards"; }
  int Compare(const rocksdb::Slice& a, const rocksdb::Slice& b) const override {
    return b.compare(a);
  }
  bool CanKeysWithDifferentByteContentsBeEqual() const override {
    return false;
  }
  void FindShortestSeparator(std::string*,
                             const rocksdb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

TEST_F(CloneTest, AComparatorOfItsOwn) {
  const Backwards backwards;
  rocksdb::ColumnFamilyOptions family;
  family.comparator = &backwards;
  rocksdb::ColumnFamilyHandle* handle = nullptr;
  ASSERT_TRUE(IsOk(source_->db()->CreateColumnFamily(family, "back", &handle)));
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(IsOk(source_->db()->Put({}, handle, Numbered("b", i), "v")));
  }
  families_.push_back({"back", {}});
  rocksdb::Status s = Clone();
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "test.Backwards"));
  families_.back().options.comparator = &backwards;
  ASSERT_TRUE(IsOk(Clone()));
  EXPECT_TRUE(result_.proven_equal) << result_.session_error;
  EXPECT_TRUE(IsOk(source_->db()->DestroyColumnFamilyHandle(handle)));
  source_.reset();
}

TEST_F(CloneTest, TheSourceWritesMeanwhile) {
  Fill("a", 3000);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) source_->Put(Numbered("w", i % 500), "v");
  });
  const rocksdb::Status s = Clone();
  stop = true;
  writer.join();
  ASSERT_TRUE(IsOk(s));
  EXPECT_TRUE(result_.proven_equal) << result_.session_error;
  const auto replica = OpenClone();
  ASSERT_TRUE(IsOk(replica->Start()));
  ASSERT_TRUE(IsOk(replica->replicator()->SyncNow(source_->address())));
  EXPECT_EQ(replica->Scan(), source_->Scan());
}

TEST_F(CloneTest, KnownIdsAreRefused) {
  Fill("a", 10);
  UseCertificateOf(source_->id());
  rocksdb::Status s = Clone();
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "the source itself"));
  const auto other = NewReplica("other");
  ASSERT_TRUE(IsOk(other->Start()));
  ASSERT_TRUE(IsOk(other->replicator()->SyncNow(source_->address())));
  UseCertificateOf(other->id());
  s = Clone();
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "known to the source already"));
}

// Its peers meet it as ever; who asks, and why it was refused, is told on both
// sides.
TEST_F(CloneTest, ASourceThatAllowsNone) {
  Fill("a", 10);
  ReplicatorOptions options = TestReplica::OnDemand();
  options.allow_clones = false;
  source_->Stop();
  ASSERT_TRUE(IsOk(source_->Start(options)));
  for (uint64_t asked = 1; asked <= 2; ++asked) {
    const rocksdb::Status s = Clone();
    EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
    EXPECT_TRUE(Mentions(s, "allow_clones"));
    EXPECT_TRUE(Mentions(s, "--no-clones"));
    EXPECT_FALSE(fs::exists(Dir())) << "nothing was copied";
    const ReplicationStats stats = source_->replicator()->stats();
    EXPECT_EQ(stats.connections_refused, asked);
    EXPECT_NE(stats.last_refusal.find("allow_clones"), std::string::npos)
        << stats.last_refusal;
    EXPECT_NE(stats.last_refusal.find(ReplicaIdHex(kClonedId)),
              std::string::npos)
        << stats.last_refusal;
  }
  EXPECT_EQ(Checkpoints(), 0u);
  const auto other = NewReplica("other");
  ASSERT_TRUE(IsOk(other->Start()));
  EXPECT_TRUE(IsOk(other->replicator()->SyncNow(source_->address())));
  // What was refused goes on once the source allows it.
  source_->Stop();
  ASSERT_TRUE(IsOk(source_->Start()));
  ASSERT_TRUE(IsOk(Clone()));
  ExpectEqualToSource();
}

TEST_F(CloneTest, AnotherSecretIsRefused) {
  Fill("a", 10);
  replication_.cluster_secret.fill(8);
  const rocksdb::Status s = Clone();
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "secret"));
  EXPECT_EQ(Checkpoints(), 0u);
}

TEST_F(CloneTest, OtherDirectoriesAreLeftAlone) {
  fs::create_directory(Dir());
  std::ofstream(Dir() + "/letter") << "dear";
  rocksdb::Status s = Clone();
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "letter"));
  EXPECT_EQ(std::distance(fs::directory_iterator(Dir()), {}), 1)
      << "not even a LOCK beside the letter";
  fs::remove(Dir() + "/letter");
  EXPECT_TRUE(IsOk(Clone()));
}

TEST_F(CloneTest, WithAMemberList) {
  Fill("a", 100);
  ASSERT_TRUE(IsOk(source_->db()->SetMembers(1, {source_->id()})));
  ASSERT_TRUE(IsOk(Clone()));
  EXPECT_FALSE(result_.proven_equal);
  EXPECT_NE(result_.session_error.find("member list"), std::string::npos)
      << result_.session_error;
  ASSERT_TRUE(IsOk(source_->db()->SetMembers(2, {source_->id(), kClonedId})));
  ExpectEqualToSource();
}

TEST_F(CloneTest, AMemberFromTheBeginning) {
  Fill("a", 100);
  source_->Delete("a1");
  ASSERT_TRUE(IsOk(source_->db()->SetMembers(1, {source_->id(), kClonedId})));
  ASSERT_TRUE(IsOk(Clone()));
  EXPECT_TRUE(result_.proven_equal) << result_.session_error;
  ExpectEqualToSource();
}

// It was InvalidArgument, as if it could never be cloned.
TEST_F(CloneTest, ASourceWhoseStorageFailsMayBeAskedAgain) {
  FailingDisk disk = MakeFailingDisk();
  TestReplica::Setting setting = SettingOf("broken");
  setting.adjust = [&](rocksdb::Options* options, ReplicatedDBOptions*) {
    options->env = disk.env.get();
  };
  TestReplica broken(setting);
  ASSERT_TRUE(broken.Open()) << broken.open_status().ToString();
  ASSERT_TRUE(IsOk(broken.Start()));
  broken.Put("key", "value");
  clone_.source = broken.address();
  *disk.state = DiskState::kBroken;
  const rocksdb::Status s = Clone();
  EXPECT_TRUE(s.IsIOError()) << s.ToString();
  EXPECT_TRUE(Mentions(s, "the source says: its storage failed (IO error)"));
  broken.Stop();
  EXPECT_FALSE(broken.TryClose().ok()) << "the seal cannot be written";
}

TEST_F(CloneTest, AFullDiskOfTheClone) {
  Fill("a", 3000);
  FailingDisk disk = MakeFailingDisk();
  options_.env = disk.env.get();
  *disk.state = DiskState::kFull;
  rocksdb::Status s = Clone();
  EXPECT_TRUE(s.IsNoSpace() || s.IsIOError()) << s.ToString();
  // There is room for the first words, not for the files.
  *disk.state = DiskState::kGood;
  clone_.progress = [&](const CloneProgress& progress) {
    if (progress.stage == CloneProgress::Stage::kCopying) {
      *disk.state = DiskState::kFull;
    }
  };
  ReplicatorLimits limits;
  limits.bytes_per_second = 4'000'000;
  ASSERT_TRUE(IsOk(source_->replicator()->SetLimits(limits)));
  s = Clone();
  EXPECT_TRUE(s.IsNoSpace()) << s.ToString();
  *disk.state = DiskState::kGood;
  clone_.progress = nullptr;
  ASSERT_TRUE(IsOk(source_->replicator()->SetLimits(ReplicatorLimits())));
  ASSERT_TRUE(IsOk(Clone()));
  options_.env = rocksdb::Env::Default();
  ExpectEqualToSource();
}

TEST_F(CloneTest, WhatOpenRefusesIsRefusedBeforeTheCopy) {
  options_.persist_stats_to_disk = true;
  EXPECT_FALSE(Clone().ok());
  options_.persist_stats_to_disk = false;
  families_.push_back(families_.front());
  EXPECT_NE(Clone().ToString().find("name it once"), std::string::npos);
  EXPECT_FALSE(fs::exists(Dir()));
  families_.pop_back();
  ASSERT_TRUE(IsOk(Clone()));
}

TEST_F(CloneTest, ASourceWithANewerRocksDBIsRefusedBeforeTheCopy) {
  Fill("a", 100);
  std::string name;
  std::string options;
  const std::string directory = source_->db()->GetName();
  rocksdb::Env* const env = rocksdb::Env::Default();
  ASSERT_TRUE(IsOk(rocksdb::GetLatestOptionsFileName(directory, env, &name)));
  name = directory + "/" + name;
  ASSERT_TRUE(IsOk(rocksdb::ReadFileToString(env, name, &options)));
  // A large one: the whole of it is received.
  std::string newer = options + std::string(kCloneChunkBytes, '#');
  constexpr std::string_view kVersion = "rocksdb_version=";
  newer.insert(newer.find(kVersion) + kVersion.size(), "9");
  ASSERT_TRUE(IsOk(rocksdb::WriteStringToFile(env, newer, name)));
  const rocksdb::Status s = Clone();
  EXPECT_TRUE(s.IsNotSupported()) << s.ToString();
  EXPECT_NE(s.ToString().find("runs with RocksDB 9"), std::string::npos);
  EXPECT_FALSE(fs::exists(Dir()));
  EXPECT_TRUE(Eventually([this] { return Checkpoints() == 0; }));
  ASSERT_TRUE(IsOk(rocksdb::WriteStringToFile(env, options, name)));
  ASSERT_TRUE(IsOk(Clone()));
  ExpectEqualToSource();
}

TEST_F(CloneTest, DoesNotLieInItsSource) {
  const std::string within = source_->setting().directory + "/sub";
  const rocksdb::Status s = ReplicatedDB::Clone(options_, replication_, within,
                                                families_, clone_, &result_);
  EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
  EXPECT_TRUE(Mentions(s, within + " lies in the directory of another"));
  EXPECT_FALSE(fs::exists(within));
}

TEST_F(CloneTest, ALinkToNothingIsToldAsOne) {
  fs::create_directory_symlink(directory_ / "gone", Dir());
  const rocksdb::Status s = Clone();
  EXPECT_TRUE(Mentions(s, Dir() + " is a link to what is not there, "))
      << s.ToString();
  EXPECT_TRUE(Mentions(s, "make that directory, or remove the link"));
}

// Of a variable that is not set, mostly.
TEST_F(CloneTest, AnEmptyNameIsToldEverywhere) {
  const auto is_told = [](const rocksdb::Status& s) {
    EXPECT_TRUE(s.IsInvalidArgument()) << s.ToString();
    EXPECT_TRUE(Mentions(s, "is empty: give ")) << s.ToString();
  };
  is_told(ReplicatedDB::Clone(options_, replication_, "", families_, clone_,
                              &result_));
  is_told(
      ReplicatedDB::Resync(options_, replication_, "", families_, {}, nullptr));
  is_told(ReplicatedDB::Detach(options_, ""));
  RestampResult restamped;
  is_told(
      ReplicatedDB::Restamp(options_, replication_, "", families_, &restamped));
  uint64_t id = 0;
  is_told(ReadCloneReplicaId(rocksdb::Env::Default(), "", &id));
  TrialCertificate certificate;
  is_told(MakeTrialCertificate("", 1, &certificate));
  std::array<uint8_t, 32> secret = {};
  is_told(ReadClusterSecret("", &secret));
  is_told(ReadReplicaId("", &id));
}

TEST_F(CloneTest, PlacesElsewhereAreRefused) {
  options_.wal_dir = directory_ / "log";
  EXPECT_TRUE(Clone().IsNotSupported());
  options_.wal_dir.clear();
  options_.db_paths = {{directory_ / "tables", 1 << 30}};
  EXPECT_TRUE(Clone().IsNotSupported());
  EXPECT_FALSE(fs::exists(Dir()));
}

}  // namespace
}  // namespace rocksync
