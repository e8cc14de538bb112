#include "tools/rescue.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <ostream>
#include <utility>
#include <vector>

#include "replication/json.h"
#include "replication/store/resting_replica.h"
#include "rocksdb/comparator.h"
#include "rocksdb/sst_file_writer.h"
#include "tools/counterpart.h"
#include "tools/resting_db.h"

namespace rocksync {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

std::string FileName(const std::string& family) {
  const bool plain = std::all_of(family.begin(), family.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
           c == '-';
  });
  return (plain && !family.empty() ? family
                                   : "0x" + Slice(family).ToString(true)) +
         ".sst";
}

// True if what is here is not there.
bool Alone(const Difference& difference) {
  switch (KindOf(difference)) {
    case DifferenceKind::kMissingHere:
      return false;
    case DifferenceKind::kVersion:
      return difference.mine.version > difference.theirs.version;
    case DifferenceKind::kMissingThere:
    case DifferenceKind::kContent:
      return true;
  }
  return false;
}

const char* Why(const Difference& difference) {
  switch (KindOf(difference)) {
    case DifferenceKind::kMissingThere:
      return "missing_there";
    case DifferenceKind::kVersion:
      return "newer_here";
    default:
      return "other_content";
  }
}

class Export {
 public:
  Export(const RestingReplica& replica, const std::string& output)
      : replica_(replica), output_(output) {}

  Status Run(std::vector<Difference> alone) {
    std::error_code error;
    if (!std::filesystem::create_directory(output_, error)) {
      return Status::IOError(
          output_, error ? error.message() : "is there already; name another");
    }
    list_.open(output_ + "/pairs.jsonl");
    std::map<uint32_t, std::vector<Difference>> families;
    for (Difference& difference : alone) {
      families[difference.family].push_back(std::move(difference));
    }
    for (auto& [ordinal, differences] : families) {
      const Status status =
          Write(replica_.families()[ordinal], std::move(differences));
      if (!status.ok()) return status;
    }
    list_.close();
    return list_ ? Status::OK()
                 : Status::IOError(output_ + "/pairs.jsonl", "cannot write");
  }

  uint64_t pairs() const { return pairs_; }
  uint64_t tombstones() const { return tombstones_; }
  uint64_t damaged() const { return damaged_; }

 private:
  Status Write(const Family& family, std::vector<Difference> differences) {
    const rocksdb::Comparator* const order = family.handle()->GetComparator();
    std::sort(differences.begin(), differences.end(),
              [order](const Difference& a, const Difference& b) {
                return order->Compare(a.key, b.key) < 0;
              });
    rocksdb::Options options;
    options.comparator = order;
    rocksdb::SstFileWriter file(rocksdb::EnvOptions(), options);
    bool opened = false;
    for (const Difference& difference : differences) {
      JsonObject line = Describe(family, difference);
      if (difference.mine.state == Held::State::kTombstone) {
        ++tombstones_;
        list_ << line.Text() << "\n";
        continue;
      }
      std::string value;
      const bool good = Read(family, difference, &value);
      line.Add("value_bytes", uint64_t{value.size()}).Add("damaged", !good);
      list_ << line.Text() << "\n";
      if (!good) {
        ++damaged_;
        continue;
      }
      Status status;
      if (!std::exchange(opened, true)) {
        status = file.Open(output_ + "/" + FileName(family.name));
      }
      if (status.ok()) status = file.Put(difference.key, value);
      if (!status.ok()) return status;
      ++pairs_;
    }
    return opened ? file.Finish() : Status::OK();
  }

  static JsonObject Describe(const Family& family,
                             const Difference& difference) {
    const Version& version = difference.mine.version;
    JsonObject line;
    return line.Add("family", Readable(family.name))
        .Add("key", Readable(difference.key))
        .Add("key_hex", Slice(difference.key).ToString(true))
        .Add("kind", difference.mine.state == Held::State::kTombstone
                         ? "tombstone"
                         : "pair")
        .Add("why", Why(difference))
        .Add("time_ms", version.time >> 16)
        .Add("counter", version.time & 0xffff)
        .Add("replica", HexId(version.replica));
  }

  bool Read(const Family& family, const Difference& difference,
            std::string* value) {
    return replica_.reader()
               .db()
               ->Get(rocksdb::ReadOptions(), family.handle(), difference.key,
                     value)
               .ok() &&
           replica_.reader().hasher().HashPair(
               family.name, difference.key, difference.mine.version,
               HashValue(*value)) == difference.mine.hash;
  }

  const RestingReplica& replica_;
  const std::string output_;
  std::ofstream list_;
  uint64_t pairs_ = 0;
  uint64_t tombstones_ = 0;
  uint64_t damaged_ = 0;
};

Status FindAlone(const RescueOptions& options, const RestingReplica& replica,
                 std::vector<Difference>* alone) {
  std::unique_ptr<Counterpart> counterpart;
  Status status = Counterpart::Open(options.against, options.credentials,
                                    replica.family_names(), &counterpart);
  if (!status.ok()) return status;
  VerifyTask task;
  task.found = [alone](Difference difference) {
    if (Alone(difference)) alone->push_back(std::move(difference));
    return true;
  };
  const std::unique_ptr<StorageView> view = replica.NewView();
  SessionReport report;
  status = counterpart->Compare(view.get(), task, &report);
  if (status.ok() && !report.compared) {
    status = Status::Incomplete("not all could be compared");
  }
  return status;
}

}  // namespace

int RunRescue(const RescueOptions& options, std::ostream& out,
              std::ostream& err) {
  ClusterSecret secret;
  std::unique_ptr<RestingDB> db;
  std::unique_ptr<RestingReplica> replica;
  std::vector<Difference> alone;
  Status status = ReadClusterSecret(options.credentials, &secret);
  if (status.ok()) status = RestingDB::Open(options.directory, &db);
  if (status.ok()) {
    status = RestingReplica::Open(
        db->db(), db->handles(), options.credentials.cluster, secret, &replica);
  }
  if (status.ok()) status = FindAlone(options, *replica, &alone);
  if (status.ok() && alone.empty()) {
    out << options.directory << " holds nothing that " << options.against
        << " lacks\n";
    return kRescueNothing;
  }
  if (status.ok()) {
    Export exported(*replica, options.output);
    status = exported.Run(std::move(alone));
    if (status.ok()) {
      out << exported.pairs() << " pairs and " << exported.tombstones()
          << " tombstones exported to " << options.output;
      if (exported.damaged() > 0) {
        out << "; " << exported.damaged() << " more pairs are damaged";
      }
      out << "\n";
      return kRescueExported;
    }
  }
  err << "rocksync rescue: " << status.ToString() << "\n";
  return kRescueError;
}

}  // namespace rocksync
