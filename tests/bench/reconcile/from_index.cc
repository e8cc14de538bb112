#include "tests/bench/reconcile/from_index.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <vector>

#include "replication/store/store_access.h"
#include "rocksdb/write_batch.h"
#include "rocksync/replicated_db.h"
#include "sketch/element/coding.h"
#include "tests/support/forwarding_view.h"

namespace rocksync::bench {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr size_t kBatch = 1000;
constexpr size_t kValueBytes = 16;

double Milliseconds(Clock::time_point since) {
  return std::chrono::duration<double, std::milli>(Clock::now() - since)
      .count();
}

// A field of /proc/self/status in MiB, 0 where there is none.
double MemoryMib(const std::string& field) {
  std::ifstream status("/proc/self/status");
  std::string name;
  while (status >> name) {
    double kib = 0;
    if (name == field + ":" && status >> kib) return kib / 1024;
    std::getline(status, name);
  }
  return 0;
}

// The peak of memory counts from here.
void ResetPeak() { std::ofstream("/proc/self/clear_refs") << 5; }

// Snapshots that count what is read of the index.
class CountingSnapshot final : public StorageSnapshot {
 public:
  CountingSnapshot(std::unique_ptr<StorageSnapshot> snapshot, uint64_t* read)
      : snapshot_(std::move(snapshot)), read_(read) {}
  std::span<const Digest> LeafDigests() const override {
    return snapshot_->LeafDigests();
  }
  absl::Status ScanLeaf(
      uint32_t leaf,
      const std::function<void(uint64_t position, const ElementHash&)>& visit)
      const override {
    return snapshot_->ScanLeaf(leaf,
                               [&](uint64_t position, const ElementHash& hash) {
                                 ++*read_;
                                 visit(position, hash);
                               });
  }
  uint64_t LeftOut() const override { return snapshot_->LeftOut(); }
  absl::StatusOr<bool> LeavesOut(uint32_t family,
                                 std::string_view key) const override {
    ++*read_;
    return snapshot_->LeavesOut(family, key);
  }
  absl::StatusOr<IndexEntry> FindElement(
      uint64_t position, const ElementHash& hash) const override {
    ++*read_;
    return snapshot_->FindElement(position, hash);
  }
  absl::StatusOr<std::optional<IndexEntry>> FindKey(
      uint32_t family, std::string_view key) const override {
    ++*read_;
    return snapshot_->FindKey(family, key);
  }
  absl::StatusOr<std::string> ReadValue(
      const IndexEntry& entry) const override {
    return snapshot_->ReadValue(entry);
  }

 private:
  const std::unique_ptr<StorageSnapshot> snapshot_;
  uint64_t* const read_;
};

class CountingView final : public ForwardingView {
 public:
  explicit CountingView(ReplicatedDB* db)
      : CountingView(db, StoreAccess::NewView(db)) {}

  absl::StatusOr<std::unique_ptr<StorageSnapshot>> TakeSnapshot(
      const std::function<bool()>& cancelled) override {
    const uint64_t before = DigestReads();
    const Clock::time_point start = Clock::now();
    absl::StatusOr<std::unique_ptr<StorageSnapshot>> snapshot =
        view_->TakeSnapshot(cancelled);
    snapshot_ms_ += Milliseconds(start);
    digest_reads_ += DigestReads() - before;
    if (!snapshot.ok()) return snapshot.status();
    return std::make_unique<CountingSnapshot>(*std::move(snapshot), &read_);
  }

  uint64_t read() const { return read_ + digest_reads_; }
  uint64_t digest_reads() const { return digest_reads_; }
  double snapshot_ms() const { return snapshot_ms_; }

 private:
  CountingView(ReplicatedDB* db, std::unique_ptr<StorageView> view)
      : ForwardingView(view.get()), db_(db), view_(std::move(view)) {}

  uint64_t DigestReads() const {
    return db_->GetIndexStats().digest_entries_read;
  }

  ReplicatedDB* const db_;
  const std::unique_ptr<StorageView> view_;
  uint64_t read_ = 0;
  uint64_t digest_reads_ = 0;
  double snapshot_ms_ = 0;
};

bool Check(const rocksdb::Status& status) {
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok();
}

std::string KeyOf(uint64_t number) {
  std::string key;
  PutFixed64(&key, (number + 1) * 0x9e3779b97f4a7c15);  // scattered
  PutFixed64(&key, number);
  return key;
}

class Replicas {
 public:
  explicit Replicas(std::string directory)
      : directory_(std::move(directory)), random_(1) {}
  ~Replicas() {
    a_.reset();
    b_.reset();
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }

  bool Make(const IndexRun& run) {
    const uint64_t common = run.n - std::max(run.only_a, run.only_b);
    std::error_code error;
    fs::create_directories(directory_, error);
    if (!Open("a", &a_) || !Write(a_.get(), 0, common)) return false;
    if (!Check(a_->Close())) return false;
    a_.reset();
    fs::copy(directory_ + "/a", directory_ + "/b", fs::copy_options::recursive,
             error);
    if (error) {
      std::fprintf(stderr, "%s\n", error.message().c_str());
      return false;
    }
    written_ = common;
    return Open("a", &a_) && Open("b", &b_) && Settle();
  }

  bool Diverge(const IndexRun& run, uint64_t overwrites) {
    if (!Overwrite(overwrites)) return false;
    const uint64_t first =
        std::exchange(written_, written_ + run.only_a + run.only_b);
    return Write(a_.get(), first, run.only_a) &&
           Write(b_.get(), first + run.only_a, run.only_b);
  }

  ReplicatedDB* a() { return a_.get(); }
  ReplicatedDB* b() { return b_.get(); }

 private:
  bool Open(const std::string& name, std::unique_ptr<ReplicatedDB>* db) {
    rocksdb::Options options;
    options.create_if_missing = true;
    ReplicatedDBOptions replication;
    replication.cluster_secret.fill(7);
    replication.cluster_name = "bench";
    replication.open_copy_as_new_replica = name == "b";
    ReplicatedDB* raw = nullptr;
    if (!Check(ReplicatedDB::Open(options, replication, directory_ + "/" + name,
                                  &raw))) {
      return false;
    }
    db->reset(raw);
    return true;
  }

  bool Write(ReplicatedDB* db, uint64_t first, uint64_t count) {
    for (uint64_t at = 0; at < count;) {
      rocksdb::WriteBatch batch;
      for (size_t i = 0; i < kBatch && at < count; ++i, ++at) {
        if (!Check(
                batch.Put(KeyOf(first + at), std::string(kValueBytes, 'v')))) {
          return false;
        }
      }
      if (!Check(db->Write({}, &batch))) return false;
    }
    return true;
  }

  // The digests of what is there so far are ready, as they are in a replica
  // that has been in sessions before.
  bool Settle() {
    for (ReplicatedDB* db : {a_.get(), b_.get()}) {
      if (!StoreAccess::NewView(db)->TakeSnapshot({}).ok()) return false;
    }
    return true;
  }

  // As if a third replica had written them and both had heard of it.
  bool Overwrite(uint64_t count) {
    const uint64_t now_ms = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(
            std::chrono::system_clock::now().time_since_epoch())
            .count());
    std::vector<Pair> pairs;
    std::vector<ApplyOutcome> outcomes;
    for (uint64_t at = 0; at < count; ++at) {
      Pair pair;
      pair.key = KeyOf(random_() % written_);
      pair.version = {.time = now_ms << 16, .replica = 3};
      pair.value.assign(kValueBytes, 'w');
      pairs.push_back(std::move(pair));
      if (pairs.size() < kBatch && at + 1 < count) continue;
      for (ReplicatedDB* db : {a_.get(), b_.get()}) {
        const absl::Status status =
            StoreAccess::NewView(db)->Apply(pairs, {}, &outcomes);
        if (!status.ok()) {
          std::fprintf(stderr, "%s\n", status.ToString().c_str());
          return false;
        }
      }
      pairs.clear();
    }
    return true;
  }

  const std::string directory_;
  std::mt19937_64 random_;
  uint64_t written_ = 0;  // keys with smaller numbers are on both sides
  std::unique_ptr<ReplicatedDB> a_;
  std::unique_ptr<ReplicatedDB> b_;
};

bool Measure(Replicas* replicas, const SessionOptions& options, uint64_t seed,
             IndexOutcome* outcome) {
  CountingView a(replicas->a());
  CountingView b(replicas->b());
  ResetPeak();
  const double idle_mib = MemoryMib("VmRSS");
  const Clock::time_point start = Clock::now();
  outcome->cost = RunSession(&a, &b, options, seed);
  outcome->seconds = Milliseconds(start) / 1000;
  outcome->memory_mib = MemoryMib("VmHWM") - idle_mib;
  const CountingView* const views[2] = {&a, &b};
  for (int side = 0; side < 2; ++side) {
    outcome->entries[side] = outcome->cost.report[side].elements;
    outcome->entries_read[side] = views[side]->read();
    outcome->digest_reads[side] = views[side]->digest_reads();
    outcome->snapshot_ms[side] = views[side]->snapshot_ms();
  }
  return outcome->cost.proven;
}

}  // namespace

bool ReconcileFromIndex(const IndexRun& run, const SessionOptions& options,
                        uint64_t seed, std::vector<IndexOutcome>* outcomes) {
  Replicas replicas(run.directory);
  if (!replicas.Make(run)) return false;
  std::vector<uint64_t> overwrites = {0};
  if (run.overwrites > 0) overwrites.push_back(run.overwrites);
  for (const uint64_t count : overwrites) {
    IndexOutcome outcome;
    outcome.overwrites = count;
    if (!replicas.Diverge(run, count) ||
        !Measure(&replicas, options, seed++, &outcome)) {
      return false;
    }
    outcomes->push_back(outcome);
  }
  return true;
}

}  // namespace rocksync::bench
