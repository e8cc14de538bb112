// What a replica costs beside RocksDB: threads, file descriptors, memory and
// bytes on disk, counted in this process. The same pairs go into a plain
// database and into a replicated one; README.md has the table that it prints.

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "rocksdb/statistics.h"
#include "rocksync/replicated_db.h"
#include "rocksync/replicator.h"
#include "tests/bench/number_check.h"
#include "tests/bench/scratch_option.h"
#include "tests/support/open_plain.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/trial_transport.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;

void Check(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "bench_cost: %s\n", status.ToString().c_str());
  std::exit(1);
}

long EntriesOf(const char* directory) {
  return std::distance(fs::directory_iterator(directory),
                       fs::directory_iterator());
}

struct Process {
  long threads = EntriesOf("/proc/self/task");
  long descriptors = EntriesOf("/proc/self/fd") - 1;  // but its own
};

void Tell(const char* what, const Process& before) {
  const Process now;
  std::printf("%-52s %8ld %8ld\n", what, now.threads - before.threads,
              now.descriptors - before.descriptors);
}

std::unique_ptr<ReplicatedDB> OpenReplicated(const rocksdb::Options& options,
                                             const std::string& name) {
  ReplicatedDBOptions replication;
  replication.cluster_name = "cost";
  replication.cluster_secret.fill(1);
  ReplicatedDB* db = nullptr;
  Check(ReplicatedDB::Open(options, replication, name, &db));
  return std::unique_ptr<ReplicatedDB>(db);
}

std::unique_ptr<Replicator> StartReplicator(ReplicatedDB* db,
                                            const std::string& certificates,
                                            const std::string& peer) {
  std::shared_ptr<Transport> transport;
  Check(NewTrialTransport(certificates, db->Identity().replica_id, &transport));
  ReplicatorOptions options;
  options.listen_address = "127.0.0.1:0";
  if (!peer.empty()) options.peers = {peer};
  std::unique_ptr<Replicator> replicator;
  Check(Replicator::Start(options, db, transport, &replicator));
  return replicator;
}

void CountProcess(const std::string& directory, rocksdb::Options options) {
  std::printf("%-52s %8s %8s\n", "in one process, more than before", "threads",
              "files");
  const Process start;
  rocksdb::DB* raw = nullptr;
  Check(OpenPlain(options, directory + "/p", &raw));
  Tell("a plain database (with RocksDB's own pool)", start);
  std::unique_ptr<rocksdb::DB> plain(raw);
  const Process one;
  const auto a = OpenReplicated(options, directory + "/a");
  Tell("a replicated database", one);
  const Process two;
  const auto first = StartReplicator(a.get(), directory + "/trial", "");
  Tell("its replicator, listening", two);
  const Process three;
  const auto b = OpenReplicated(options, directory + "/b");
  const auto second =
      StartReplicator(b.get(), directory + "/trial", first->listen_address());
  Check(second->SyncNow(first->listen_address()));
  Tell("a second replica, in a session with the first", three);
  Tell("all of that", start);
}

struct Figures {
  double log = 0;      // bytes of the WAL
  double tables = 0;   // bytes written by flushes and compactions
  double on_disk = 0;  // of all table files, at the end
  double index = 0;    // of these, the index's
};

class Load {
 public:
  Load(rocksdb::DB* db, rocksdb::Statistics* statistics, uint64_t keys)
      : db_(db), statistics_(statistics), keys_(keys) {}

  Figures Put() {
    return Measure([this](uint64_t i) {
      return db_->Put({}, Key(i), std::string(100, static_cast<char>(i)));
    });
  }
  Figures Delete() {
    return Measure([this](uint64_t i) { return db_->Delete({}, Key(i)); });
  }

 private:
  static std::string Key(uint64_t i) {
    char key[17];
    std::snprintf(key, sizeof key, "%016" PRIx64, i * 0x9e3779b97f4a7c15);
    return key;
  }

  template <typename Write>
  Figures Measure(const Write& write) {
    Check(statistics_->Reset());
    const auto count = [&](rocksdb::Tickers ticker) {
      return static_cast<double>(statistics_->getTickerCount(ticker)) /
             static_cast<double>(keys_);
    };
    Figures figures;
    for (uint64_t i = 0; i < keys_; ++i) Check(write(i));
    // Before the close, which writes the digests of all leaves.
    figures.log = count(rocksdb::WAL_FILE_BYTES);
    Check(db_->Flush({}));
    Check(db_->CompactRange({}, nullptr, nullptr));
    Check(db_->Close());
    figures.tables =
        count(rocksdb::FLUSH_WRITE_BYTES) + count(rocksdb::COMPACT_WRITE_BYTES);
    return figures;
  }

  rocksdb::DB* const db_;
  rocksdb::Statistics* const statistics_;
  const uint64_t keys_;
};

// Of the table files of a database that is closed. `compact`: its index first,
// as time would.
void Weigh(const std::string& name, uint64_t keys, bool compact,
           Figures* figures) {
  figures->on_disk = 0;
  figures->index = 0;
  std::vector<std::string> names;
  Check(rocksdb::DB::ListColumnFamilies({}, name, &names));
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const std::string& family : names) families.push_back({family, {}});
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  std::unique_ptr<rocksdb::DB> db;
  Check(compact ? OpenPlain({}, name, families, &handles, &db)
                : OpenPlainForReadOnly({}, name, families, &handles, &db));
  for (auto* handle : handles) {
    if (compact) Check(db->CompactRange({}, handle, nullptr, nullptr));
  }
  std::vector<rocksdb::LiveFileMetaData> files;
  db->GetLiveFilesMetaData(&files);
  for (const rocksdb::LiveFileMetaData& file : files) {
    const double size =
        static_cast<double>(file.size) / static_cast<double>(keys);
    figures->on_disk += size;
    if (file.column_family_name == kIndexFamilyName) figures->index += size;
  }
  for (auto* handle : handles) Check(db->DestroyColumnFamilyHandle(handle));
}

void Print(const char* what, const Figures& plain, const Figures& replicated) {
  std::printf("%-10s %8.1f %8.1f %10.1f %10.1f %10.1f %10.1f %8.1f\n", what,
              plain.log, replicated.log, plain.tables, replicated.tables,
              plain.on_disk, replicated.on_disk, replicated.index);
}

void CountBytes(const std::string& directory, rocksdb::Options options,
                uint64_t keys) {
  options.statistics = rocksdb::CreateDBStatistics();
  const std::string names[] = {directory + "/plain", directory + "/replica"};
  Figures puts[2];
  Figures deletes[2];
  for (const bool deleting : {false, true}) {
    for (const bool replicated : {false, true}) {
      std::unique_ptr<rocksdb::DB> db;
      if (replicated) {
        db = OpenReplicated(options, names[1]);
      } else {
        rocksdb::DB* raw = nullptr;
        Check(OpenPlain(options, names[0], &raw));
        db.reset(raw);
      }
      Load load(db.get(), options.statistics.get(), keys);
      Figures* const figures =
          deleting ? &deletes[replicated] : &puts[replicated];
      *figures = deleting ? load.Delete() : load.Put();
      db.reset();
      Weigh(names[replicated], keys, /*compact=*/false, figures);
    }
  }
  std::printf(
      "\nbytes a key, %" PRIu64
      " keys of 16 B, values of 100 B\n"
      "%-10s %17s %21s %21s %8s\n%-10s %8s %8s %10s %10s %10s %10s %8s\n",
      keys, "", "write to the log", "flush and compact", "tables at the end",
      "of that", "", "plain", "replica", "plain", "replica", "plain", "replica",
      "index");
  Print("put", puts[0], puts[1]);
  Print("delete all", deletes[0], deletes[1]);
  Figures left;
  Weigh(names[1], keys, /*compact=*/true, &left);
  std::printf("the index once it is compacted, of tombstones alone: %.1f\n",
              left.index);
}

void CountMemory(const std::string& directory, const rocksdb::Options& options,
                 uint64_t keys) {
  const auto db = OpenReplicated(options, directory + "/memory");
  std::printf("\n%-12s %s\n", "puts", "MiB in memtables of the index");
  for (uint64_t i = 1; i <= keys; ++i) {
    Check(db->Put({}, std::to_string(i * 0x9e3779b97f4a7c15), "v"));
    if ((i & (i - 1)) != 0 && i != keys) continue;
    if (i < 1024) continue;
    uint64_t all = 0;
    uint64_t own = 0;
    db->GetAggregatedIntProperty(rocksdb::DB::Properties::kSizeAllMemTables,
                                 &all);
    db->GetIntProperty(rocksdb::DB::Properties::kSizeAllMemTables, &own);
    std::printf("%-12" PRIu64 " %.1f\n", i,
                static_cast<double>(all - own) / (1 << 20));
  }
}

int Main(int argc, char** argv) {
  CLI::App app("What a replica costs beside RocksDB", "bench_cost");
  std::string parent = std::filesystem::temp_directory_path();
  uint64_t keys = 200'000;
  bench::AddScratchOption(&app, &parent);
  app.add_option("--keys", keys, "how many keys")
      ->capture_default_str()
      ->check(bench::Number(1, 1e9));
  CLI11_PARSE(app, argc, argv);
  const TemporaryDirectory scratch(parent);
  const std::string& directory = scratch.path();
  rocksdb::Options options;
  options.create_if_missing = true;
  CountProcess(directory, options);
  CountBytes(directory, options, keys);
  CountMemory(directory, options, keys);
  return 0;
}

}  // namespace
}  // namespace rocksync

int main(int argc, char** argv) { return rocksync::Main(argc, argv); }
