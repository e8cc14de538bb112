#include "tools/rescue.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

#include "replication/base/directories.h"
#include "replication/metrics/json.h"
#include "replication/session/pair_coding.h"
#include "replication/store/index/plain_value.h"
#include "replication/store/offline/offline_replica.h"
#include "replication/store/open/unreplayable_records.h"
#include "rocksdb/comparator.h"
#include "rocksdb/sst_file_writer.h"
#include "rocksync/replica_id.h"
#include "tools/counterpart.h"
#include "tools/difference_line.h"
#include "tools/offline_db.h"
#include "tools/uncertain_pairs.h"
#include "tools/with_noun.h"

namespace rocksync {
namespace {

using rocksdb::Slice;
using rocksdb::Status;

std::string FileName(const std::string& family, bool quarantined) {
  const bool plain = std::all_of(family.begin(), family.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
           c == '-';
  });
  return (plain && !family.empty() ? family : "0x" + HexBytes(family)) +
         (quarantined ? ".quarantined.sst" : ".sst");
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

std::string_view Kind(const Difference& difference) {
  const bool later = difference.mine.version > difference.theirs.version;
  switch (difference.theirs.state) {
    case Held::State::kNothing:
      return kMissingThereWord;
    case Held::State::kTombstone:
      return later ? kOtherVersion : "deleted_there";
    case Held::State::kLive:
      break;
  }
  return later ? kOtherVersion : kOtherContent;
}

// A pair or tombstone to be exported.
struct Rescued {
  Difference difference;
  bool quarantined = false;  // no index entry confirms the value
};

Status ReadPairOf(const OfflineReplica& replica, uint32_t family,
                  const std::string& key, std::string* value) {
  return GetPlain(replica.reader().db(), rocksdb::ReadOptions(),
                  replica.families()[family], key, value);
}

// What the element's hash would be if it had this value.
ElementHash HashWith(const OfflineReplica& replica, uint32_t family,
                     const std::string& key, const Version& version,
                     const std::string& value) {
  const ElementHasher& hasher = replica.reader().hasher();
  return hasher.HashPair(replica.families()[family].name, key, version,
                         hasher.HashValue(version, value));
}

// The pairs of one family that go into one SST file, made with the first.
class PairFile {
 public:
  PairFile(const rocksdb::Comparator* order, std::string path)
      : path_(std::move(path)), options_(OptionsWith(order)) {}

  Status Add(const std::string& key, const std::string& value) {
    Status status;
    if (file_ == nullptr) {
      file_ = std::make_unique<rocksdb::SstFileWriter>(rocksdb::EnvOptions(),
                                                       options_);
      status = file_->Open(path_);
    }
    return status.ok() ? file_->Put(key, value) : status;
  }
  Status Finish() { return file_ == nullptr ? Status::OK() : file_->Finish(); }

 private:
  static rocksdb::Options OptionsWith(const rocksdb::Comparator* order) {
    rocksdb::Options options;
    options.comparator = order;
    return options;
  }

  const std::string path_;
  const rocksdb::Options options_;
  std::unique_ptr<rocksdb::SstFileWriter> file_;
};

class Export {
 public:
  Export(const OfflineReplica& replica, const std::string& output)
      : replica_(replica), output_(output) {}

  Status Run(std::vector<Rescued> found) {
    std::error_code error;
    if (!std::filesystem::create_directory(output_, error)) {
      if (!error) {
        return Status::IOError(output_, "is there already; name another");
      }
      return Status::IOError(
          "--output " + output_ + " cannot be made",
          error.message() +
              "; the directory above it has to be there and writable");
    }
    list_.open(output_ + "/pairs.jsonl");
    std::map<uint32_t, std::vector<Rescued>> families;
    for (Rescued& rescued : found) {
      families[rescued.difference.family].push_back(std::move(rescued));
    }
    for (auto& [ordinal, rescued] : families) {
      const Status status =
          Write(replica_.families()[ordinal], std::move(rescued));
      if (!status.ok()) return status;
    }
    list_.close();
    return list_ ? Status::OK()
                 : Status::IOError(output_ + "/pairs.jsonl", "cannot write");
  }

  uint64_t pairs() const { return pairs_; }
  uint64_t tombstones() const { return tombstones_; }
  uint64_t quarantined() const { return quarantined_; }
  uint64_t damaged() const { return damaged_; }

 private:
  Status Write(const Family& family, std::vector<Rescued> found) {
    const rocksdb::Comparator* const order = family.handle()->GetComparator();
    std::sort(found.begin(), found.end(),
              [order](const Rescued& a, const Rescued& b) {
                return order->Compare(a.difference.key, b.difference.key) < 0;
              });
    PairFile sound(order, output_ + "/" + FileName(family.name, false));
    PairFile quarantined(order, output_ + "/" + FileName(family.name, true));
    Status status;
    for (const Rescued& rescued : found) {
      status = WritePair(family, rescued,
                         rescued.quarantined ? &quarantined : &sound);
      if (!status.ok()) return status;
    }
    status = sound.Finish();
    return status.ok() ? quarantined.Finish() : status;
  }

  Status WritePair(const Family& family, const Rescued& rescued,
                   PairFile* file) {
    const Difference& difference = rescued.difference;
    JsonObject line = Describe(family, difference);
    if (difference.mine.state == Held::State::kTombstone) {
      ++tombstones_;
      list_ << line.Text() << "\n";
      return Status::OK();
    }
    std::string value;
    const Status read =
        ReadPairOf(replica_, family.ordinal, difference.key, &value);
    rocksdb::DB* const db = replica_.reader().db();
    const Status merges =
        NameMergeOperator(read, db->GetEnv(), db->GetName(), family.name);
    if (merges.IsInvalidArgument()) return merges;
    const bool reads = read.ok();
    const bool says = difference.mine.hash != ElementHash{};
    const bool matches =
        reads &&
        HashWith(replica_, family.ordinal, difference.key,
                 difference.mine.version, value) == difference.mine.hash;
    list_ << line.Add("value_bytes", uint64_t{value.size()})
                 .Add("damaged", !reads || (says && !matches))
                 .Add("quarantined", rescued.quarantined)
                 .Text()
          << "\n";
    const bool exported = reads && (matches || rescued.quarantined);
    ++(!exported ? damaged_ : rescued.quarantined ? quarantined_ : pairs_);
    return exported ? file->Add(difference.key, value) : Status::OK();
  }

  static JsonObject Describe(const Family& family,
                             const Difference& difference) {
    const Version& version = difference.mine.version;
    JsonObject line;
    return line.AddKey(family.name, difference.key)
        .Add("kind", difference.mine.state == Held::State::kTombstone
                         ? "tombstone"
                         : "pair")
        .Add("difference", Kind(difference))
        .Add("time_ms", version.time >> 16)
        .Add("counter", version.time & 0xffff)
        .Add("replica", ReplicaIdHex(version.replica));
  }

  const OfflineReplica& replica_;
  const std::string output_;
  std::ofstream list_;
  uint64_t pairs_ = 0;
  uint64_t tombstones_ = 0;
  uint64_t quarantined_ = 0;
  uint64_t damaged_ = 0;
};

// What the replica alone holds, in the order in which it is found: first by
// what the two indexes say, then what our index does not confirm.
class Search {
 public:
  explicit Search(const OfflineReplica& replica)
      : replica_(replica), view_(replica.NewView()) {}

  Status Run(const RescueOptions& options) {
    std::unique_ptr<Counterpart> counterpart;
    Status status = Counterpart::Open(options.against, options.credentials,
                                      options.wal_dirs, replica_.family_names(),
                                      &counterpart);
    if (status.ok()) status = FindUncertainPairs(replica_, &uncertain_);
    if (status.ok()) status = CompareAll(counterpart.get());
    if (status.ok()) status = CompareUncertain(counterpart.get());
    return status;
  }

  std::vector<Rescued> TakeFound() { return std::move(found_); }
  const UncertainPairs& uncertain() const { return uncertain_; }

 private:
  Status CompareAll(Counterpart* counterpart) {
    VerifyTask task;
    task.found = [this](Difference difference) {
      // Uncertain pairs are compared separately.
      if (!Alone(difference) || IsUncertain(difference)) return true;
      found_.push_back({std::move(difference), /*quarantined=*/false});
      return true;
    };
    SessionReport report;
    const Status status = counterpart->Compare(view_.get(), task, &report);
    return status.ok() && !report.compared
               ? Status::Incomplete("not all could be compared")
               : status;
  }

  Status CompareUncertain(Counterpart* counterpart) {
    VerifyTask task;
    for (const auto& [place, entry] : uncertain_.pairs) {
      if (place.second.size() <= kMaxKeyBytes) {
        task.keys.push_back(place);
      } else {  // no claim could name it: nobody can have it from here
        Judge(place.first, place.second, Held{});
      }
    }
    if (task.keys.empty()) return Status::OK();
    size_t answered = 0;
    task.found = [&](Difference difference) {
      ++answered;
      Judge(difference.family, difference.key, difference.theirs);
      return true;
    };
    SessionReport report;
    const Status status = counterpart->Compare(view_.get(), task, &report);
    return status.ok() && answered != task.keys.size()
               ? Status::Incomplete(
                     "not all quarantined pairs could be compared")
               : status;
  }

  bool IsUncertain(const Difference& difference) const {
    return uncertain_.pairs.count({difference.family, difference.key}) > 0;
  }

  void Judge(uint32_t family, const std::string& key, const Held& theirs) {
    const StoredEntry& entry = uncertain_.pairs.at({family, key});
    std::string value;
    const Status read = ReadPairOf(replica_, family, key, &value);
    Rescued rescued{{family, key, Said(family, key, entry), theirs}, true};
    const bool they_have_it =
        theirs.state == Held::State::kLive && read.ok() &&
        HashWith(replica_, family, key, theirs.version, value) == theirs.hash;
    if (they_have_it && !(entry.version > theirs.version)) return;
    // What is lost here matters if nobody has its version or a later one.
    const bool lost = read.IsNotFound();
    if (lost &&
        (!SaysAnything(entry) || (theirs.state != Held::State::kNothing &&
                                  !(entry.version > theirs.version)))) {
      return;
    }
    if (lost && entry.tombstone) {
      rescued.difference.mine.state = Held::State::kTombstone;
    }
    found_.push_back(std::move(rescued));
  }

  // What the entry says, of a pair.
  Held Said(uint32_t family, const std::string& key,
            const StoredEntry& entry) const {
    Held held{Held::State::kLive, entry.version, {}};
    if (SaysAnything(entry)) {
      held.hash = CompleteHash(replica_.reader().hasher(),
                               replica_.families()[family].name, key, entry);
    }
    return held;
  }

  const OfflineReplica& replica_;
  const std::unique_ptr<StorageView> view_;
  UncertainPairs uncertain_;
  std::vector<Rescued> found_;
};

Status OpenReplica(const RescueOptions& options, std::unique_ptr<OfflineDB>* db,
                   std::unique_ptr<OfflineReplica>* replica) {
  ClusterSecret secret;
  Status status = CheckTwoDirectories(options.directory, options.against);
  for (const std::string& read : {options.directory, options.against}) {
    rocksdb::Env* const env = rocksdb::Env::Default();
    if (IsWithin(AbsolutePath(env, options.output), AbsolutePath(env, read))) {
      return Status::InvalidArgument(
          "--output " + options.output + " is in " + read,
          "name a directory outside of it");
    }
  }
  if (status.ok()) status = ReadClusterSecret(options.credentials, &secret);
  if (status.ok()) {
    status =
        CheckWalDirs(options.wal_dirs, {options.directory, options.against});
  }
  if (status.ok()) {
    status = OfflineDB::Open(options.directory, options.wal_dirs, db,
                             DamagedLog::kReadAround);
  }
  if (!status.ok()) return status;
  return OfflineReplica::Open((*db)->db(), (*db)->handles(),
                              options.credentials.cluster, secret, replica);
}

void Tell(const Export& exported, const std::string& output,
          std::ostream& out) {
  out << WithNoun(exported.pairs(), "pair") << " and "
      << WithNoun(exported.tombstones(), "tombstone") << " exported to "
      << output;
  if (exported.quarantined() > 0) {
    out << "; also " << WithNoun(exported.quarantined(), "quarantined pair")
        << ", to FAMILY.quarantined.sst: nothing says of "
           "which"
           " version it is";
  }
  if (exported.damaged() > 0) {
    out << "; damaged, and not exported: "
        << WithNoun(exported.damaged(), "more pair");
  }
  out << "\n";
}

}  // namespace

int RunRescue(const RescueOptions& options, std::ostream& out,
              std::ostream& err) {
  std::unique_ptr<OfflineDB> db;
  std::unique_ptr<OfflineReplica> replica;
  Status status = OpenReplica(options, &db, &replica);
  std::string lost;
  std::string damaged;
  if (status.ok()) {
    rocksdb::Env* const env = rocksdb::Env::Default();
    const std::string own = db->db()->GetDBOptions().wal_dir;
    const std::string wal_dir = own.empty() ? options.directory : own;
    status = FindLostLog(env, options.directory, wal_dir, &lost);
    if (status.ok()) status = FindDamagedLog(env, wal_dir, &damaged);
  }
  if (status.ok()) {
    Search search(*replica);
    status = search.Run(options);
    if (!lost.empty()) {
      err << "rocksync rescue: the log is lost, or a part of it: " << lost
          << "; what only it held is not found\n";
    }
    if (!damaged.empty()) {
      err << "rocksync rescue: the log is damaged, not at its end alone: "
          << damaged
          << "; what was written in the damaged place, or near it, is not "
             "found\n";
    }
    const UncertainPairs& uncertain = search.uncertain();
    for (const std::string& unread : uncertain.unread) {
      err << "rocksync rescue: not all data could be read; pairs without an"
             " index entry may be left out: "
          << unread << "\n";
    }
    if (uncertain.entities > 0) {
      err << "rocksync rescue: " << uncertain.entities
          << " wide-column entities are listed as damaged and not exported; "
             "the first: "
          << uncertain.entity.ToString() << "\n";
    }
    const bool whole =
        uncertain.unread.empty() && lost.empty() && damaged.empty();
    std::vector<Rescued> found = search.TakeFound();
    if (status.ok() && found.empty()) {
      if (!whole) return kRescueError;
      out << options.directory << " holds nothing that " << options.against
          << " lacks\n";
      return kRescueNothing;
    }
    Export exported(*replica, options.output);
    if (status.ok()) status = exported.Run(std::move(found));
    if (status.ok()) {
      Tell(exported, options.output, out);
      return whole ? kRescueExported : kRescueError;
    }
  }
  err << "rocksync rescue: " << status.ToString() << "\n";
  return kRescueError;
}

}  // namespace rocksync
