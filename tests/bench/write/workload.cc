#include "tests/bench/write/workload.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <thread>

#include "replication/session/storage_view.h"
#include "replication/store/store_access.h"
#include "rocksdb/db.h"
#include "rocksdb/perf_context.h"
#include "rocksdb/perf_level.h"
#include "rocksdb/statistics.h"
#include "rocksync/replicated_db.h"
#include "tests/bench/calm.h"
#include "tests/support/open_plain.h"

namespace rocksync::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kHotKeys = 10000;
constexpr size_t kKeyBytes = 16;

void Check(const rocksdb::Status& status) {
  if (status.ok() || status.IsNotFound()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

double Seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// Of the calling thread. On a machine that others use, this moves less than
// the time on the wall.
double CpuSeconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

// Key number `i` of a thread: scattered, the same whenever asked for.
void MakeKey(uint64_t seed, uint64_t i, char* key) {
  std::mt19937_64::result_type x = seed * 0x9E3779B97F4A7C15u + i;
  for (size_t at = 0; at < kKeyBytes; at += 8) {
    x ^= x >> 30;
    x *= 0xBF58476D1CE4E5B9u;
    x ^= x >> 27;
    x *= 0x94D049BB133111EBu;
    x ^= x >> 31;
    std::memcpy(key + at, &x, 8);
  }
}

// Half random, so that it compresses as db_bench's values do.
class Values {
 public:
  explicit Values(uint64_t seed) : random_(seed) {}
  const std::string& Next(int bytes) {
    value_.resize(static_cast<size_t>(bytes), 'x');
    for (size_t i = 0; i + 8 <= value_.size() / 2; i += 8) {
      const uint64_t bits = random_();
      std::memcpy(&value_[i], &bits, 8);
    }
    return value_;
  }

 private:
  std::mt19937_64 random_;
  std::string value_;
};

bool Reads(Kind kind) {
  return kind == Kind::kGet || kind == Kind::kMultiGet ||
         kind == Kind::kIterate;
}

class Bench {
 public:
  Bench(const Workload& workload, bool replicated, const std::string& directory,
        uint64_t seed)
      : workload_(workload), directory_(directory), seed_(seed) {
    std::filesystem::remove_all(directory);
    std::filesystem::create_directories(directory);
    rocksdb::Options options;
    options.create_if_missing = true;
    statistics_ = rocksdb::CreateDBStatistics();
    statistics_->set_stats_level(rocksdb::StatsLevel::kExceptHistogramOrTimers);
    options.statistics = statistics_;
    options.db_write_buffer_size = workload.db_write_buffer_size;
    if (replicated) {
      ReplicatedDBOptions replication;
      replication.cluster_secret.fill(1);
      replication.cluster_name = "bench";
      ReplicatedDB* raw = nullptr;
      Check(ReplicatedDB::Open(options, replication, directory, &raw));
      replicated_ = raw;
      db_.reset(raw);
    } else {
      rocksdb::DB* raw = nullptr;
      Check(OpenPlain(options, directory, &raw));
      db_.reset(raw);
    }
  }
  ~Bench() {
    db_.reset();
    std::filesystem::remove_all(directory_);
  }

  void Prepare();
  // The whole workload.
  Measurement Run();
  // The same in `parts` turns, from 0 on, then the result.
  void Start();
  void TakeTurn(uint64_t part, uint64_t parts);
  Measurement Result();
  // Waits until no flush and no compaction runs, nor begins for a while.
  Clock::time_point WaitUntilCalm(std::chrono::milliseconds calm);
  DigestReads ReadyDigests(uint64_t overwrites);

 private:
  void Thread(int thread, uint64_t begin, uint64_t end);
  uint64_t Call(int thread, uint64_t i, Values* values,
                rocksdb::WriteBatch* batch);
  Clock::time_point Settle();
  double IndexLag();

  const Workload& workload_;
  const std::string directory_;
  const uint64_t seed_;
  std::shared_ptr<rocksdb::Statistics> statistics_;
  std::unique_ptr<rocksdb::DB> db_;
  ReplicatedDB* replicated_ = nullptr;
  // Since Start.
  double seconds_ = 0;
  std::atomic<double> cpu_seconds_{0};
  std::vector<std::vector<float>> latencies_;  // of each thread
};

Clock::time_point Bench::Settle() {
  Check(db_->Flush({}));
  return WaitUntilCalm(std::chrono::milliseconds(300));
}

Clock::time_point Bench::WaitUntilCalm(std::chrono::milliseconds calm) {
  return bench::WaitUntilCalm(db_.get(), calm);
}

void Bench::Prepare() {
  if (workload_.kind == Kind::kPut || workload_.kind == Kind::kPutCompact) {
    return;
  }
  const uint64_t keys =
      workload_.kind == Kind::kOverwrite ? kHotKeys : workload_.operations;
  Values values(seed_);
  char key[kKeyBytes];
  for (uint64_t i = 0; i < keys; ++i) {
    MakeKey(seed_, i, key);
    Check(db_->Put({}, rocksdb::Slice(key, kKeyBytes),
                   values.Next(workload_.value_bytes)));
  }
  Settle();
}

// One call, of how many operations.
uint64_t Bench::Call(int thread, uint64_t i, Values* values,
                     rocksdb::WriteBatch* batch) {
  char bytes[kKeyBytes];
  const rocksdb::Slice key(bytes, kKeyBytes);
  const uint64_t stream = seed_ + 1000 * static_cast<uint64_t>(thread + 1);
  switch (workload_.kind) {
    case Kind::kPut:
    case Kind::kPutCompact:
      if (workload_.batch == 1) {
        MakeKey(stream, i, bytes);
        Check(db_->Put({}, key, values->Next(workload_.value_bytes)));
        return 1;
      }
      batch->Clear();
      for (int j = 0; j < workload_.batch; ++j) {
        MakeKey(stream, i + static_cast<uint64_t>(j), bytes);
        Check(batch->Put(key, values->Next(workload_.value_bytes)));
      }
      Check(db_->Write({}, batch));
      return static_cast<uint64_t>(workload_.batch);
    case Kind::kOverwrite:
      MakeKey(seed_, (i * 7919) % kHotKeys, bytes);
      Check(db_->Put({}, key, values->Next(workload_.value_bytes)));
      return 1;
    case Kind::kDelete:
      MakeKey(seed_, i, bytes);
      Check(db_->Delete({}, key));
      return 1;
    case Kind::kGet: {
      MakeKey(seed_, (i * 7919) % workload_.operations, bytes);
      std::string value;
      Check(db_->Get({}, key, &value));
      return 1;
    }
    case Kind::kMultiGet: {
      std::vector<std::string> names(32, std::string(kKeyBytes, '\0'));
      std::vector<rocksdb::Slice> keys;
      for (uint64_t j = 0; j < 32; ++j) {
        MakeKey(seed_, ((i + j) * 7919) % workload_.operations,
                names[j].data());
        keys.emplace_back(names[j]);
      }
      std::vector<std::string> found;
      for (const auto& status : db_->MultiGet({}, keys, &found)) Check(status);
      return 32;
    }
    case Kind::kIterate: {
      const std::unique_ptr<rocksdb::Iterator> iterator(db_->NewIterator({}));
      uint64_t seen = 0;
      for (iterator->SeekToFirst();
           iterator->Valid() && seen < workload_.operations; iterator->Next()) {
        seen += iterator->value().size() != 0;
      }
      Check(iterator->status());
      return std::max<uint64_t>(seen, 1);
    }
  }
  return 1;
}

void Bench::Thread(int thread, uint64_t begin, uint64_t end) {
  Values values(seed_ + begin + static_cast<uint64_t>(thread));
  rocksdb::WriteBatch batch;
  const double cpu = CpuSeconds();
  std::vector<float>* const latencies =
      &latencies_[static_cast<size_t>(thread)];
  for (uint64_t i = begin; i < end;) {
    const Clock::time_point start = Clock::now();
    i += Call(thread, i, &values, &batch);
    latencies->push_back(
        static_cast<float>(1e6 * Seconds(Clock::now() - start)));
  }
  cpu_seconds_.fetch_add(CpuSeconds() - cpu);
}

double Bench::IndexLag() {
  if (replicated_ == nullptr) return 0;
  const auto view = StoreAccess::NewView(replicated_);
  view->TakeSnapshot({}).status().IgnoreError();
  Check(replicated_->Put({}, "the last key", "value"));
  const Clock::time_point start = Clock::now();
  const auto snapshot = view->TakeSnapshot({});
  if (!snapshot.ok() || !(*snapshot)->FindKey(0, "the last key")->has_value()) {
    std::fprintf(stderr, "a snapshot misses a write before it\n");
    std::exit(1);
  }
  return 1e3 * Seconds(Clock::now() - start);
}

Measurement Bench::Run() {
  Start();
  TakeTurn(0, 1);
  return Result();
}

void Bench::Start() {
  Check(statistics_->Reset());
  seconds_ = 0;
  cpu_seconds_ = 0;
  latencies_.assign(static_cast<size_t>(workload_.threads), {});
  const uint64_t calls = workload_.operations /
                         static_cast<uint64_t>(workload_.threads) /
                         static_cast<uint64_t>(workload_.batch);
  for (std::vector<float>& some : latencies_) some.reserve(calls + 1);
}

void Bench::TakeTurn(uint64_t part, uint64_t parts) {
  const uint64_t share =
      workload_.operations / static_cast<uint64_t>(workload_.threads);
  // Whole batches.
  const auto batch = static_cast<uint64_t>(workload_.batch);
  const auto bound = [&](uint64_t of) {
    return of == parts ? share : share / batch * of / parts * batch;
  };
  std::vector<std::thread> threads;
  const Clock::time_point start = Clock::now();
  for (int t = 0; t < workload_.threads; ++t) {
    threads.emplace_back([&, t] { Thread(t, bound(part), bound(part + 1)); });
  }
  for (std::thread& thread : threads) thread.join();
  const bool settle = workload_.kind == Kind::kPutCompact;
  seconds_ += Seconds((settle ? Settle() : Clock::now()) - start);
}

Measurement Bench::Result() {
  Measurement measured;
  measured.operations_per_second =
      static_cast<double>(workload_.operations) / seconds_;
  measured.cpu_us =
      1e6 * cpu_seconds_ / static_cast<double>(workload_.operations);
  std::vector<float> all;
  for (const auto& some : latencies_) {
    all.insert(all.end(), some.begin(), some.end());
  }
  std::sort(all.begin(), all.end());
  const auto percentile = [&](size_t thousandths) -> double {
    return all.empty() ? 0 : all[all.size() * thousandths / 1000];
  };
  measured.p95_us = percentile(950);
  measured.p99_us = percentile(990);
  measured.p999_us = percentile(999);
  measured.bytes_written = static_cast<double>(
      statistics_->getTickerCount(rocksdb::WAL_FILE_BYTES) +
      statistics_->getTickerCount(rocksdb::FLUSH_WRITE_BYTES) +
      statistics_->getTickerCount(rocksdb::COMPACT_WRITE_BYTES));
  measured.index_lag_ms = Reads(workload_.kind) ? 0 : IndexLag();
  return measured;
}

DigestReads Bench::ReadyDigests(uint64_t overwrites) {
  const auto view = StoreAccess::NewView(replicated_);
  view->TakeSnapshot({}).status().IgnoreError();  // the digests' base
  Values values(seed_ + 1);
  char key[kKeyBytes];
  for (uint64_t i = 0; i < overwrites; ++i) {
    MakeKey(seed_, i * (workload_.operations / overwrites), key);
    Check(db_->Put({}, rocksdb::Slice(key, kKeyBytes),
                   values.Next(workload_.value_bytes)));
  }
  Settle();

  DigestReads reads;
  reads.pairs = workload_.operations;
  reads.overwrites = overwrites;
  std::vector<rocksdb::LiveFileMetaData> files;
  db_->GetLiveFilesMetaData(&files);
  for (const auto& file : files) {
    if (file.column_family_name == kIndexFamilyName) {
      reads.index_bytes += file.size;
    }
  }
  const uint64_t before = replicated_->GetIndexStats().digest_entries_read;
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
  rocksdb::get_perf_context()->Reset();
  const Clock::time_point start = Clock::now();
  view->TakeSnapshot({}).status().IgnoreError();
  reads.seconds = Seconds(Clock::now() - start);
  reads.bytes_read = rocksdb::get_perf_context()->block_read_byte;
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  reads.entries_read =
      replicated_->GetIndexStats().digest_entries_read - before;
  return reads;
}

// Both databases write their share of the whole, then of the rest, and so on:
// on a machine that is slow at times each turn of one is near in time to one of
// the other. A turn is long beside a flush, and begins when nothing of the
// other's runs in the background.
constexpr uint64_t kWriteTurns = 5;

// Slices of reads, each of both: times of one slice are near each other on a
// busy machine, and slices that were disturbed do not move the median.
constexpr int kReadSlices = 15;

Round MedianByRatio(std::vector<Round> rounds) {
  std::sort(rounds.begin(), rounds.end(), [](const Round& a, const Round& b) {
    return a.rocksync.operations_per_second / a.plain.operations_per_second <
           b.rocksync.operations_per_second / b.plain.operations_per_second;
  });
  return rounds[rounds.size() / 2];
}

Round TakeTurns(Bench* plain, Bench* rocksync, bool rocksync_first) {
  plain->Start();
  rocksync->Start();
  for (uint64_t turn = 0; turn < kWriteTurns; ++turn) {
    for (Bench* bench : {rocksync_first ? rocksync : plain,
                         rocksync_first ? plain : rocksync}) {
      plain->WaitUntilCalm(std::chrono::milliseconds(50));
      rocksync->WaitUntilCalm(std::chrono::milliseconds(50));
      bench->TakeTurn(turn, kWriteTurns);
    }
    rocksync_first = !rocksync_first;
  }
  return {plain->Result(), rocksync->Result()};
}

}  // namespace

Round Run(const Workload& workload, bool rocksync_first,
          const std::string& directory, uint64_t seed) {
  const auto side = [&](Round* round, bool replicated) {
    return replicated ? &round->rocksync : &round->plain;
  };
  if (workload.kind == Kind::kPutCompact) {
    Round round;
    for (const bool replicated : {rocksync_first, !rocksync_first}) {
      Bench bench(workload, replicated, directory, seed);
      *side(&round, replicated) = bench.Run();
    }
    return round;
  }
  Bench plain(workload, false, directory + "/plain", seed);
  Bench rocksync(workload, true, directory + "/rocksync", seed);
  plain.Prepare();
  rocksync.Prepare();
  if (!Reads(workload.kind)) {
    return TakeTurns(&plain, &rocksync, rocksync_first);
  }
  std::vector<Round> rounds(kReadSlices);
  for (Round& round : rounds) {
    for (const bool replicated : {rocksync_first, !rocksync_first}) {
      *side(&round, replicated) = (replicated ? rocksync : plain).Run();
    }
    rocksync_first = !rocksync_first;
  }
  return MedianByRatio(std::move(rounds));
}

DigestReads MeasureDigests(uint64_t pairs, uint64_t overwrites,
                           const std::string& directory) {
  const Workload workload{"digests", Kind::kGet, 1, 100, 1, pairs};
  Bench bench(workload, true, directory, 1);
  bench.Prepare();
  return bench.ReadyDigests(overwrites);
}

uint64_t Operations(double scale, double at_scale_one) {
  return std::max<uint64_t>(1000, static_cast<uint64_t>(scale * at_scale_one));
}

std::vector<Workload> AllWorkloads(double scale) {
  const auto some = [scale](double operations) {
    return Operations(scale, operations);
  };
  return {
      {"put", Kind::kPut, 1, 100, 1, some(500e3)},
      {"put", Kind::kPut, 1, 1000, 1, some(150e3)},
      {"put", Kind::kPut, 4, 100, 1, some(500e3)},
      {"batch", Kind::kPut, 1, 100, 100, some(1e6)},
      {"overwrite", Kind::kOverwrite, 1, 100, 1, some(500e3)},
      {"delete", Kind::kDelete, 1, 100, 1, some(300e3)},
      {"get", Kind::kGet, 1, 100, 1, some(100e3)},
      {"multiget", Kind::kMultiGet, 1, 100, 1, some(200e3)},
      {"iterate", Kind::kIterate, 1, 100, 1, some(200e3)},
      // All memtables share 1 MiB, so they are flushed all the time.
      {"put_budget", Kind::kPut, 1, 100, 1, some(100e3), size_t{1} << 20},
      {"put_budget", Kind::kPut, 4, 1000, 1, some(50e3), size_t{1} << 20},
      {"put_compact", Kind::kPutCompact, 1, 100, 1, some(10e6)},
  };
}

}  // namespace rocksync::bench
