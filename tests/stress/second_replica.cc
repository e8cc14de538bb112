#include "tests/stress/second_replica.h"

#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>
#include <utility>

#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/merge_operator.h"
#include "rocksync/replicated_db.h"
#include "rocksync/replicator.h"
#include "tests/crash/index_scan.h"
#include "tests/stress/open_replicated.h"
#include "tests/support/memory_transport.h"
#include "tests/support/open_plain.h"

namespace rocksync::stress {
namespace {

using crash::DatabaseScan;
using rocksdb::ColumnFamilyDescriptor;
using rocksdb::Status;
using std::chrono::seconds;

constexpr uint64_t kMaxLeadMs = 60'000;
constexpr seconds kPatience{120};

std::string SecondOf(const std::string& directory) {
  return directory + "/.second";
}

// A replica, open with the families that it is told, and default options but
// for the merge operator of db_stress.
class Opened {
 public:
  Status Open(const std::string& directory,
              const std::vector<std::string>& families) {
    rocksdb::ColumnFamilyOptions options;
    Status status = rocksdb::MergeOperator::CreateFromString(
        rocksdb::ConfigOptions(), "put", &options.merge_operator);
    if (!status.ok()) return status;
    std::vector<ColumnFamilyDescriptor> descriptors;
    for (const std::string& name : families) {
      descriptors.emplace_back(name, options);
    }
    rocksdb::DBOptions db_options;
    db_options.create_if_missing = true;
    db_options.create_missing_column_families = true;
    ReplicatedDB* db = nullptr;
    status = ReplicatedDB::Open(db_options, ReplicationOptions(descriptors),
                                directory, descriptors, &handles_, &db);
    db_.reset(db);
    if (!status.ok()) return status;
    return db_->WaitForIndexBuild(std::chrono::milliseconds(kPatience).count());
  }

  Status Join(MemoryNetwork* network, const std::string& name) {
    ReplicatorOptions options;
    options.listen_address = name;
    return Replicator::Start(options, db_.get(),
                             network->Join(db_->Identity().replica_id),
                             &replicator_);
  }

  Status SyncUntilEqual(const std::string& peer) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (true) {
      const Status status = replicator_->SyncNow(peer);
      if (!(status.IsBusy() || status.IsTryAgain()) ||
          std::chrono::steady_clock::now() > deadline) {
        return status;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }

  Status Close() {
    replicator_.reset();
    for (rocksdb::ColumnFamilyHandle* handle : handles_) {
      db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
    }
    handles_.clear();
    const Status status = db_ == nullptr ? Status::OK() : db_->Close();
    db_.reset();
    return status;
  }

  ~Opened() { Close().PermitUncheckedError(); }

 private:
  std::unique_ptr<ReplicatedDB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
  std::unique_ptr<Replicator> replicator_;
};

class Checker {
 public:
  explicit Checker(const std::string& directory) : directory_(directory) {}

  Check Run() {
    const DatabaseScan before = Scan(directory_);
    if (check_.wrong.empty() && before.has_index) {
      check_.pairs = before.contents.size();
      check_.tombstones = before.tombstones;
      Heal();
    }
    if (check_.wrong.empty() && before.has_index) Compare();
    return std::move(check_);
  }

 private:
  bool Expect(const Status& status, const std::string& what) {
    if (!status.ok()) {
      check_.wrong.push_back(what + ": " + status.ToString());
    }
    return status.ok();
  }

  DatabaseScan Scan(const std::string& directory) {
    std::array<uint8_t, 32> secret = ReplicationOptions({}).cluster_secret;
    DatabaseScan scan = crash::ScanDatabase(directory, secret, kMaxLeadMs);
    for (const std::string& wrong : scan.wrong) {
      check_.wrong.push_back(directory + ": " + wrong);
    }
    return scan;
  }

  void Heal() {
    std::vector<std::string> families;
    const std::shared_ptr<MemoryNetwork> network = NewMemoryNetwork();
    Opened first, second;
    if (!Expect(ListColumnFamilies({}, directory_, &families), "families") ||
        !Expect(first.Open(directory_, families), "open as a replica") ||
        !Expect(second.Open(SecondOf(directory_), families),
                "open the second replica") ||
        !Expect(first.Join(network.get(), "first"), "replicator") ||
        !Expect(second.Join(network.get(), "second"), "second replicator")) {
      return;
    }
    Expect(second.SyncUntilEqual("first"), "sync");
    Expect(second.Close(), "close the second replica");
    Expect(first.Close(), "close");
  }

  void Compare() {
    const DatabaseScan first = Scan(directory_);
    const DatabaseScan second = Scan(SecondOf(directory_));
    if (first.being_read || second.being_read) {
      check_.wrong.push_back("a replica is to be read again after its close");
    }
    if (first.contents.size() != check_.pairs) {
      check_.wrong.push_back("making the second replica changed the first");
    }
    if (first.contents != second.contents) {
      check_.wrong.push_back("proven equal, but the data differ: " +
                             FirstDifference(first, second));
    }
    if (!(first.live == second.live)) {
      check_.wrong.push_back("proven equal, but the digests differ");
    }
  }

  static std::string FirstDifference(const DatabaseScan& first,
                                     const DatabaseScan& second) {
    for (const auto& [name, value] : first.contents) {
      const auto found = second.contents.find(name);
      if (found == second.contents.end() || found->second != value) {
        return name.first + "/" + rocksdb::Slice(name.second).ToString(true);
      }
    }
    return "the second replica has more";
  }

  const std::string directory_;
  Check check_;
};

}  // namespace

Check CheckDatabase(const std::string& directory) {
  if (!std::filesystem::exists(directory + "/CURRENT")) return {};
  return Checker(directory).Run();
}

Status DropPair(const std::string& directory) {
  rocksdb::DBOptions options;
  options.track_and_verify_wals_in_manifest = true;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;
  Status status = OpenAllPlain(options, directory, &handles, &db);
  if (!status.ok()) return status;
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    std::unique_ptr<rocksdb::Iterator> it(db->NewIterator({}, handle));
    it->SeekToFirst();
    if (!it->Valid() || handle->GetName() == kIndexFamilyName) continue;
    status = db->Delete({}, handle, it->key());
    break;
  }
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    db->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }
  return status.ok() ? db->Close() : status;
}

}  // namespace rocksync::stress
