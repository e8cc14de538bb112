#include "tests/bench/filter/end_to_end.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "plugin/filter_interface.h"
#include "rocksdb/db.h"
#include "rocksdb/statistics.h"
#include "rocksdb/table.h"
#include "rocksync/filter_policy.h"
#include "tests/bench/filter/keys.h"
#include "tests/bench/filter/stopwatch.h"
#include "tests/support/open_plain.h"
#include "tests/support/temporary_directory.h"

namespace rocksync::bench {
namespace {

constexpr size_t kValueBytes = 100;
constexpr size_t kFlushEvery = 4000;  // keys; about half a megabyte
constexpr size_t kTurn = 2048;        // lookups
constexpr size_t kMultiGet = 32;

void Must(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "bench_filter: %s\n", status.ToString().c_str());
  std::exit(1);
}

// Reads every filter as one of no keys, which refuses all: right for absent
// keys and costs next to nothing. What lookups take with it is what no filter
// can get below.
class RefusingPolicy final : public rocksdb::FilterPolicy {
 public:
  explicit RefusingPolicy(double bits_per_key)
      : policy_(NewFilterPolicy(bits_per_key)) {
    rocksdb::BlockBasedTableOptions options;
    const std::unique_ptr<rocksdb::FilterBitsBuilder> builder(
        GetBuilderWithContext(rocksdb::FilterBuildingContext(options)));
    no_keys_ = builder->Finish(&owned_);
  }
  const char* Name() const override { return "RefusingPolicy"; }
  const char* CompatibilityName() const override { return Name(); }
  rocksdb::FilterBitsBuilder* GetBuilderWithContext(
      const rocksdb::FilterBuildingContext& context) const override {
    return policy_->GetBuilderWithContext(context);
  }
  rocksdb::FilterBitsReader* GetFilterBitsReader(
      const rocksdb::Slice& /*contents*/) const override {
    return policy_->GetFilterBitsReader(no_keys_);
  }

 private:
  const std::shared_ptr<const rocksdb::FilterPolicy> policy_;
  std::unique_ptr<const char[]> owned_;
  rocksdb::Slice no_keys_;
};

// Memory-backed if there is such a thing: syncing a disk for each flush would
// take most of the time.
std::filesystem::path FastDirectory() {
  std::error_code error;
  return std::filesystem::is_directory("/dev/shm", error)
             ? "/dev/shm"
             : std::filesystem::temp_directory_path();
}

// A database in a temporary directory, filled so that its shape depends on
// nothing but the keys: after each flush compaction comes to rest.
class LeveledDb {
 public:
  LeveledDb(std::shared_ptr<const rocksdb::FilterPolicy> policy, size_t keys) {
    Open(std::move(policy));
    Fill(keys);
  }
  // Bytes of all filters, entries of all files, files of each level.
  uint64_t filter_bytes() const { return Sum().first; }
  uint64_t entries() const { return Sum().second; }
  std::string shape() const {
    std::string text;
    for (int level = 0; level < 7; ++level) {
      std::string files;
      db_->GetProperty("rocksdb.num-files-at-level" + std::to_string(level),
                       &files);
      if (level > 0) text += "/";
      text += files;
    }
    return text.substr(0, text.find_last_not_of("/0") + 1);
  }

  // False positives of all filters a lookup of an absent key meets, which are
  // blocks read in vain.
  double WastedPerGet(size_t lookups) {
    const uint64_t before = Positives();
    std::string key(kKeyBytes, 0);
    rocksdb::PinnableSlice value;
    for (size_t i = 0; i < lookups; ++i) {
      WriteAbsent(i, key.data());
      value.Reset();
      db_->Get({}, db_->DefaultColumnFamily(), key, &value)
          .PermitUncheckedError();
    }
    return static_cast<double>(Positives() - before) /
           static_cast<double>(lookups);
  }

  void Prepare(size_t turn) {
    memory_.resize(kTurn * kKeyBytes);
    for (size_t i = 0; i < kTurn; ++i) {
      WriteAbsent(turn * kTurn + i, memory_.data() + i * kKeyBytes);
    }
  }
  void Gets() {
    rocksdb::PinnableSlice value;
    for (size_t i = 0; i < kTurn; ++i) {
      db_->Get({}, db_->DefaultColumnFamily(), KeyAt(i), &value)
          .PermitUncheckedError();
    }
  }
  void MultiGets() {
    rocksdb::Slice keys[kMultiGet];
    rocksdb::PinnableSlice values[kMultiGet];
    rocksdb::Status statuses[kMultiGet];
    for (size_t begin = 0; begin < kTurn; begin += kMultiGet) {
      for (size_t i = 0; i < kMultiGet; ++i) keys[i] = KeyAt(begin + i);
      db_->MultiGet({}, db_->DefaultColumnFamily(), kMultiGet, keys, values,
                    statuses);
    }
  }

 private:
  void Open(std::shared_ptr<const rocksdb::FilterPolicy> policy) {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.compression = rocksdb::kNoCompression;
    options.statistics = rocksdb::CreateDBStatistics();
    options.statistics->set_stats_level(rocksdb::kExceptTimers);
    statistics_ = options.statistics;
    options.write_buffer_size = 64 << 20;  // flushed by hand
    options.target_file_size_base = 1 << 20;
    options.max_bytes_for_level_base = 1 << 20;
    options.max_bytes_for_level_multiplier = 10;
    options.level_compaction_dynamic_level_bytes = true;
    options.level0_file_num_compaction_trigger = 4;  // so that a few remain
    options.max_background_jobs = 2;
    rocksdb::BlockBasedTableOptions table;
    table.filter_policy = std::move(policy);
    table.block_cache = rocksdb::NewLRUCache(512 << 20);  // all of it
    options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    rocksdb::DB* db = nullptr;
    Must(OpenPlain(options, directory_.path(), &db));
    db_.reset(db);
  }

  void Fill(size_t keys) {
    rocksdb::WriteOptions write;
    write.disableWAL = true;
    std::string key(kKeyBytes, 0);
    const std::string value(kValueBytes, 'v');
    for (size_t i = 0; i < keys; ++i) {
      WriteKey(i, kKeyBytes, key.data());
      Must(db_->Put(write, key, value));
      if ((i + 1) % kFlushEvery == 0) {
        Must(db_->Flush({}));
        WaitForRest();
      }
    }
    ReadIntoCache();
  }

  // So that lookups cost what they cost in memory, in all databases alike.
  void ReadIntoCache() {
    const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator({}));
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
    }
    Must(it->status());
  }

  void WaitForRest() const {
    uint64_t pending = 1;
    uint64_t running = 1;
    while (true) {
      db_->GetIntProperty("rocksdb.compaction-pending", &pending);
      db_->GetIntProperty("rocksdb.num-running-compactions", &running);
      if (pending == 0 && running == 0) return;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

  std::pair<uint64_t, uint64_t> Sum() const {
    rocksdb::TablePropertiesCollection all;
    Must(db_->GetPropertiesOfAllTables(&all));
    std::pair<uint64_t, uint64_t> sum;
    for (const auto& [name, properties] : all) {
      sum.first += properties->filter_size;
      sum.second += properties->num_entries;
    }
    return sum;
  }

  uint64_t Positives() const {
    return statistics_->getTickerCount(rocksdb::BLOOM_FILTER_FULL_POSITIVE);
  }
  static void WriteAbsent(size_t number, char* key) {
    WriteKey(kAbsent + number, kKeyBytes, key);
  }
  rocksdb::Slice KeyAt(size_t i) const {
    return {memory_.data() + i * kKeyBytes, kKeyBytes};
  }

  const TemporaryDirectory directory_{FastDirectory()};
  std::shared_ptr<rocksdb::Statistics> statistics_;
  std::unique_ptr<rocksdb::DB> db_;
  std::string memory_;
};

}  // namespace

void MeasureEndToEnd(const EndToEndSize& size, Report* report) {
  struct Row {
    const char* policy;
    double bits_per_key;
    std::unique_ptr<LeveledDb> db;
  };
  std::vector<Row> rows;
  rows.push_back({"rocksync level-aware", 10,
                  std::make_unique<LeveledDb>(NewFilterPolicy(10), size.keys)});
  // Same total: the built-in spends the same bits on every entry.
  const double equal = static_cast<double>(rows[0].db->filter_bytes()) * 8 /
                       static_cast<double>(rows[0].db->entries());
  rows.insert(rows.begin(), {"bloom", equal,
                             std::make_unique<LeveledDb>(
                                 std::shared_ptr<const rocksdb::FilterPolicy>(
                                     rocksdb::NewBloomFilterPolicy(equal)),
                                 size.keys)});
  rows.push_back({"rocksync uniform", equal,
                  std::make_unique<LeveledDb>(
                      NewFilterPolicy({equal, false, 10}), size.keys)});
  rows.push_back({"refuse all", 10,
                  std::make_unique<LeveledDb>(
                      std::make_shared<RefusingPolicy>(10), size.keys)});
  const auto prepare = [&](size_t i, size_t turn) {
    rows[i].db->Prepare(turn);
  };
  const auto get = TakeTurns(rows.size(), size.repetitions, kTurn, prepare,
                             [&](size_t i) { rows[i].db->Gets(); });
  const auto multiget = TakeTurns(rows.size(), size.repetitions, kTurn, prepare,
                                  [&](size_t i) { rows[i].db->MultiGets(); });
  for (size_t i = 0; i < rows.size(); ++i) {
    report->Add({{"policy", rows[i].policy},
                 {"bits_per_key", rows[i].bits_per_key},
                 {"files_at_levels", rows[i].db->shape()},
                 {"entries", rows[i].db->entries()},
                 {"filter_bytes", rows[i].db->filter_bytes()},
                 {"wasted_reads_per_get", rows[i].db->WastedPerGet(500'000)},
                 {"get_ns", get[i].ns},
                 {"multiget_ns", multiget[i].ns},
                 {"set", "end_to_end"},
                 {"get_ratio", get[i].ratio},
                 {"multiget_ratio", multiget[i].ratio}});
  }
}

}  // namespace rocksync::bench
