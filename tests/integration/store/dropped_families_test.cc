// What RocksDB has of a family goes when the family is dropped and its handle
// is given back, as with RocksDB alone: tables, memtables, and what these take
// of a write buffer budget.

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "rocksdb/file_system.h"
#include "rocksdb/merge_operator.h"
#include "rocksdb/write_buffer_manager.h"
#include "tests/integration/store/store_fixture.h"
#include "tests/support/eventually.h"
#include "tests/support/open_plain.h"

namespace rocksync {
namespace {

class DroppedFamiliesTest : public StoreTest,
                            public ::testing::WithParamInterface<bool> {
 protected:
  static constexpr size_t kMemtable = size_t{1} << 20;

  void SetUp() override {
    StoreTest::SetUp();
    budget_ = std::make_shared<rocksdb::WriteBufferManager>(size_t{64} << 20);
    options_.write_buffer_manager = budget_;
    if (!Replicated()) replication_.families = {"default"};
    ASSERT_ROCKS_OK(Open());
    before_ = budget_->memory_usage();
  }
  static bool Replicated() { return GetParam(); }

  // A family with a table and a memtable of `kMemtable`.
  rocksdb::ColumnFamilyHandle* NewFamily(const std::string& name) {
    rocksdb::ColumnFamilyHandle* family = nullptr;
    EXPECT_ROCKS_OK(db_->CreateColumnFamily({}, name, &family));
    EXPECT_ROCKS_OK(db_->Put({}, family, "in a table", "v"));
    EXPECT_ROCKS_OK(db_->Flush({}, family));
    EXPECT_ROCKS_OK(
        db_->Put({}, family, "in memory", std::string(kMemtable, 'v')));
    EXPECT_TRUE(IsThere());
    return family;
  }
  // A family whose memtable alone is more than a budget that stalls writes.
  rocksdb::ColumnFamilyHandle* OpenWithAFullBudget() {
    budget_ = std::make_shared<rocksdb::WriteBufferManager>(
        size_t{4} << 20, nullptr, /*allow_stall=*/true);
    options_.write_buffer_manager = budget_;
    options_.atomic_flush = true;
    EXPECT_ROCKS_OK(Open());
    rocksdb::ColumnFamilyHandle* family = nullptr;
    EXPECT_ROCKS_OK(db_->CreateColumnFamily({}, "family", &family));
    EXPECT_ROCKS_OK(
        db_->Put({}, family, "k", std::string(size_t{8} << 20, 'v')));
    return family;
  }
  bool IsThere() const { return budget_->memory_usage() > before_ + kMemtable; }
  size_t Tables() const {
    size_t tables = 0;
    for (const auto& file : std::filesystem::directory_iterator(Dir())) {
      if (file.path().extension() == ".sst") ++tables;
    }
    return tables;
  }

  std::shared_ptr<rocksdb::WriteBufferManager> budget_;
  size_t before_ = 0;
};

TEST_P(DroppedFamiliesTest, GoWithTheirHandles) {
  const size_t tables = Tables();
  for (int i = 0; i < 3; ++i) {
    rocksdb::ColumnFamilyHandle* const family = NewFamily("family");
    ASSERT_ROCKS_OK(db_->DropColumnFamily(family));
    // As in RocksDB, what was dropped is read as long as there is a handle.
    std::string value;
    EXPECT_ROCKS_OK(db_->Get({}, family, "in a table", &value));
    EXPECT_TRUE(IsThere());
    ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(family));
    EXPECT_TRUE(Eventually([&] { return !IsThere(); }));
  }
  EXPECT_TRUE(Eventually([&] { return Tables() <= tables + 1; }))
      << "but for one of the index";
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60'000));
  CloseAndCheck();
}

TEST_P(DroppedFamiliesTest, StayForThoseThatReadThem) {
  rocksdb::ColumnFamilyHandle* const family = NewFamily("family");
  const auto view = StoreAccess::NewView(db_.get());
  auto snapshot = *view->TakeSnapshot({});
  IndexEntry entry;
  if (Replicated()) {
    entry = **snapshot->FindKey(*view->OrdinalOf(family->GetID()), "in memory");
    EXPECT_TRUE(snapshot->ReadValue(entry).ok());
  }
  ASSERT_ROCKS_OK(db_->DropColumnFamily(family));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(family));
  if (Replicated()) {
    StoreAccess::IndexedOf(db_.get())->shown_families()->FreeUnused();
    EXPECT_TRUE(IsThere()) << "a session may read it";
    EXPECT_TRUE(absl::IsUnavailable(snapshot->ReadValue(entry).status()))
        << "which ends then";
    EXPECT_TRUE(
        absl::IsUnavailable(snapshot->NewValueReader(1)->Read(entry).status()));
    snapshot.reset();
  }
  EXPECT_TRUE(Eventually([&] { return !IsThere(); }))
      << "a view alone keeps nothing";
}

TEST_P(DroppedFamiliesTest, AScanMeanwhileLetsGoAtItsEnd) {
  rocksdb::ColumnFamilyHandle* const family = NewFamily("family");
  FamiliesInUse in_use = StoreAccess::IndexedOf(db_.get())->families();
  ASSERT_ROCKS_OK(db_->DropColumnFamily(family));
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(family));
  StoreAccess::IndexedOf(db_.get())->shown_families()->FreeUnused();
  EXPECT_TRUE(IsThere());
  in_use = {};
  EXPECT_TRUE(Eventually([&] { return !IsThere(); }))
      << "the index build frees it";
}

// Until then their memtables alone may stall all writes.
TEST_P(DroppedFamiliesTest, FillABudgetThatStallsUntilTheirHandlesGo) {
  db_.reset();
  rocksdb::ColumnFamilyHandle* const family = OpenWithAFullBudget();
  std::atomic<bool> dropped{false};
  std::thread dropping([&] {
    EXPECT_ROCKS_OK(db_->DropColumnFamily(family));
    dropped = true;
  });
  EXPECT_TRUE(Eventually([&] { return dropped.load(); }));
  if (!dropped) budget_->SetBufferSize(size_t{1} << 30);
  dropping.join();
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(family));
  ASSERT_ROCKS_OK(Put("k", "v"));
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_EQ(Total().count, 1u);
}

// Fails to append to a MANIFEST when it is told to.
class ManifestFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  ManifestFile(std::unique_ptr<rocksdb::FSWritableFile> file,
               const std::atomic<bool>* fails)
      : FSWritableFileOwnerWrapper(std::move(file)), fails_(fails) {}
  rocksdb::IOStatus Append(const rocksdb::Slice& data,
                           const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override {
    return *fails_ ? rocksdb::IOStatus::IOError("no MANIFEST")
                   : FSWritableFileOwnerWrapper::Append(data, options, debug);
  }
  rocksdb::IOStatus Append(const rocksdb::Slice& data,
                           const rocksdb::IOOptions& options,
                           const rocksdb::DataVerificationInfo& info,
                           rocksdb::IODebugContext* debug) override {
    return *fails_
               ? rocksdb::IOStatus::IOError("no MANIFEST")
               : FSWritableFileOwnerWrapper::Append(data, options, info, debug);
  }

 private:
  const std::atomic<bool>* const fails_;
};

// Does what it is told before an OPTIONS file is made, as a drop does at its
// end.
class BeforeOptionsFile final : public rocksdb::FileSystemWrapper {
 public:
  BeforeOptionsFile() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "BeforeOptionsFile"; }
  void FailManifest(bool fails) { manifest_fails_ = fails; }

  rocksdb::IOStatus NewWritableFile(
      const std::string& name, const rocksdb::FileOptions& options,
      std::unique_ptr<rocksdb::FSWritableFile>* file,
      rocksdb::IODebugContext* debug) override {
    if (act_ && name.find("OPTIONS-") != std::string::npos) {
      const rocksdb::IOStatus status = act_();
      if (!status.ok()) return status;
    }
    const rocksdb::IOStatus status =
        FileSystemWrapper::NewWritableFile(name, options, file, debug);
    if (status.ok() && name.find("MANIFEST-") != std::string::npos) {
      *file =
          std::make_unique<ManifestFile>(std::move(*file), &manifest_fails_);
    }
    return status;
  }
  // Not while a database works.
  void Do(std::function<rocksdb::IOStatus()> act) { act_ = std::move(act); }

 private:
  std::function<rocksdb::IOStatus()> act_;
  std::atomic<bool> manifest_fails_{false};
};

// A write that began before the drop waits for the end of a stall, which comes
// with the memtables of the dropped family.
TEST_P(DroppedFamiliesTest, AWriteThatBeganBeforeKeepsNoMemtables) {
  db_.reset();
  const auto files = std::make_shared<BeforeOptionsFile>();
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(files);
  options_.env = env.get();
  rocksdb::ColumnFamilyHandle* const family = OpenWithAFullBudget();
  std::vector<std::thread> writers;
  std::atomic<int> written{0};
  files->Do([&] {
    writers.emplace_back([&] {
      EXPECT_ROCKS_OK(Put("one", "v"));
      ++written;
    });
    writers.emplace_back([&] {
      rocksdb::WriteBatch batch;
      EXPECT_ROCKS_OK(batch.Put("two", "v"));
      EXPECT_ROCKS_OK(batch.Put("three", "v"));
      EXPECT_ROCKS_OK(db_->Write({}, &batch));
      ++written;
    });
    writers.emplace_back([&] {
      EXPECT_ROCKS_OK(db_->Update({}, db_->DefaultColumnFamily(), "four",
                                  [](std::optional<std::string>* value) {
                                    *value = "v";
                                    return rocksdb::Status::OK();
                                  }));
      ++written;
    });
    // Until they wait for the drop, most likely.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return rocksdb::IOStatus::OK();
  });
  EXPECT_ROCKS_OK(db_->DropColumnFamily(family));
  files->Do(nullptr);
  EXPECT_ROCKS_OK(db_->DestroyColumnFamilyHandle(family));
  EXPECT_TRUE(Eventually([&] { return written == 3; }));
  if (written < 3) budget_->SetBufferSize(size_t{1} << 30);
  for (std::thread& writer : writers) writer.join();
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_EQ(Total().count, 4u);
  db_.reset();
}

// Newer versions always do.
template <typename Options>
void FailWithoutOptionsFile(Options* options) {
  if constexpr (requires { options->fail_if_options_file_error; }) {
    options->fail_if_options_file_error = true;
  }
}

// RocksDB has dropped it by then.
TEST_P(DroppedFamiliesTest, GoWhereTheOptionsFileCannotBeWritten) {
  db_.reset();
  const auto files = std::make_shared<BeforeOptionsFile>();
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(files);
  options_.env = env.get();
  FailWithoutOptionsFile(&options_);
  ASSERT_ROCKS_OK(Open());
  rocksdb::ColumnFamilyHandle* family = nullptr;
  ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, "family", &family));
  ASSERT_ROCKS_OK(db_->Put({}, family, "k", "v"));
  ASSERT_ROCKS_OK(Put("k", "v"));
  files->Do([] { return rocksdb::IOStatus::NoSpace("no OPTIONS file"); });
  EXPECT_TRUE(db_->DropColumnFamily(family).IsIOError());
  files->Do(nullptr);
  EXPECT_TRUE(db_->Put({}, family, "k", "v").IsInvalidArgument());
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(family));
  ASSERT_ROCKS_OK(Put("k", "later"));
  ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_EQ(Total().count, 1u);
  db_.reset();
}

// RocksDB has not dropped it, and takes no writes before it is opened anew.
TEST_P(DroppedFamiliesTest, StayIfTheManifestCannotBeWritten) {
  db_.reset();
  const auto files = std::make_shared<BeforeOptionsFile>();
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(files);
  options_.env = env.get();
  ASSERT_ROCKS_OK(Open());
  rocksdb::ColumnFamilyHandle* family = nullptr;
  ASSERT_ROCKS_OK(db_->CreateColumnFamily({}, "family", &family));
  ASSERT_ROCKS_OK(db_->Put({}, family, "k", "v"));
  files->FailManifest(true);
  EXPECT_TRUE(db_->DropColumnFamily(family).IsIOError());
  files->FailManifest(false);
  std::string value;
  EXPECT_ROCKS_OK(db_->Get({}, family, "k", &value));
  EXPECT_EQ(db_->ReplicatedFamilies().size(), Replicated() ? 2u : 1u);
  ASSERT_ROCKS_OK(db_->DestroyColumnFamilyHandle(family));
  db_.reset();
  std::vector<std::string> names;
  ASSERT_ROCKS_OK(rocksdb::DB::ListColumnFamilies({}, Dir(), &names));
  EXPECT_EQ(names.size(), 3u);
}

INSTANTIATE_TEST_SUITE_P(ReplicatedOrNot, DroppedFamiliesTest,
                         ::testing::Bool());

// Merges when it is allowed to; the opening does not wait for that.
class HeldMerge final : public rocksdb::AssociativeMergeOperator {
 public:
  bool Merge(const rocksdb::Slice& /*key*/, const rocksdb::Slice* /*existing*/,
             const rocksdb::Slice& value, std::string* merged,
             rocksdb::Logger* /*logger*/) const override {
    if (std::this_thread::get_id() != opener_) {
      waits_ = true;
      EXPECT_TRUE(Eventually([this] { return allowed_.load(); }));
    }
    *merged = value.ToString();
    return true;
  }
  const char* Name() const override { return "HeldMerge"; }

  bool waits() const { return waits_; }
  void Allow() { allowed_ = true; }

 private:
  const std::thread::id opener_ = std::this_thread::get_id();
  mutable std::atomic<bool> waits_{false};
  std::atomic<bool> allowed_{false};
};

// However long the index build reads one.
TEST_F(StoreTest, DroppedFamiliesGoWhileAnotherOneIsAdopted) {
  options_.merge_operator = std::make_shared<HeldMerge>();
  auto* const merge = static_cast<HeldMerge*>(options_.merge_operator.get());
  const std::vector<rocksdb::ColumnFamilyDescriptor> families = {
      {"default", options_}, {"cache", rocksdb::ColumnFamilyOptions()}};
  rocksdb::DBOptions plain_options = options_;
  plain_options.create_missing_column_families = true;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  {
    rocksdb::DB* plain = nullptr;
    ASSERT_ROCKS_OK(
        OpenPlain(plain_options, Dir(), families, &handles, &plain));
    ASSERT_ROCKS_OK(plain->Merge({}, handles[0], "k", "v"));
    ASSERT_ROCKS_OK(plain->Put({}, handles[1], "k", "v"));
    ASSERT_ROCKS_OK(plain->Flush({}, handles[1]));
    for (auto* handle : handles) plain->DestroyColumnFamilyHandle(handle);
    delete plain;
  }
  replication_.families = {"default"};
  replication_.merge_families = {"default"};
  ReplicatedDB* raw = nullptr;
  ASSERT_ROCKS_OK(ReplicatedDB::Open(options_, replication_, Dir(), families,
                                     &handles, &raw));
  db_.reset(raw);
  EXPECT_TRUE(Eventually([&] { return merge->waits(); }));
  std::vector<rocksdb::LiveFileMetaData> tables;
  db_->GetLiveFilesMetaData(&tables);
  std::string table;
  for (const auto& file : tables) {
    if (file.column_family_name == "cache") table = file.db_path + file.name;
  }
  ASSERT_TRUE(std::filesystem::exists(table)) << table;
  EXPECT_ROCKS_OK(db_->DropColumnFamily(handles[1]));
  EXPECT_ROCKS_OK(db_->DestroyColumnFamilyHandle(handles[1]));
  EXPECT_TRUE(Eventually([&] { return !std::filesystem::exists(table); }));
  EXPECT_FALSE(db_->GetIndexBuildProgress().done);
  merge->Allow();
  EXPECT_ROCKS_OK(db_->WaitForIndexBuild(60000));
  EXPECT_EQ(Total().count, 1u);
  EXPECT_ROCKS_OK(db_->DestroyColumnFamilyHandle(handles[0]));
}

}  // namespace
}  // namespace rocksync
