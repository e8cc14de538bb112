// Two replicas of a database on disk that differ as a benchmark wants it.

#ifndef ROCKSYNC_TESTS_BENCH_RECONCILE_DISK_REPLICAS_H_
#define ROCKSYNC_TESTS_BENCH_RECONCILE_DISK_REPLICAS_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <unordered_set>
#include <utility>

#include "rocksync/replicated_db.h"

namespace rocksync::bench {

// Keys and values of 16 bytes. Methods that fail say why on stderr.
class DiskReplicas {
 public:
  // The databases are removed with it.
  explicit DiskReplicas(std::string directory)
      : directory_(std::move(directory)), random_(1) {}
  ~DiskReplicas();

  // Both hold the same pairs, and the digests of these are ready, as they are
  // in replicas that have been in sessions before.
  [[nodiscard]] bool Make(uint64_t pairs) { return Fill(pairs) && Renew(); }
  // What Make writes, in a database that is closed then. Renew comes next.
  [[nodiscard]] bool Fill(uint64_t pairs);
  // Both are again as Make left them. Nobody may use a() or b() meanwhile.
  [[nodiscard]] bool Renew();

  // Closes both, and opens them as they are.
  [[nodiscard]] bool Restart();

  // New pairs that only one side holds.
  [[nodiscard]] bool AddTo(uint64_t only_a, uint64_t only_b);
  // Pairs that both hold get another value on a, half of them on b.
  [[nodiscard]] bool Overwrite(uint64_t pairs, bool half_of_them_on_b);
  // The same pairs anew on both sides, as if both had heard of them from a
  // third replica.
  [[nodiscard]] bool OverwriteBoth(uint64_t pairs);
  // One write of a pair that both hold. Thread-safe for different sides, with
  // a random source for each.
  [[nodiscard]] bool Touch(ReplicatedDB* db, std::mt19937_64* random) const;

  ReplicatedDB* a() { return a_.get(); }
  ReplicatedDB* b() { return b_.get(); }
  uint64_t pairs() const { return written_; }

 private:
  bool Open(const std::string& name, std::unique_ptr<ReplicatedDB>* db);
  // A copy of what Make wrote, opened.
  bool OpenCopy(const std::string& name, std::unique_ptr<ReplicatedDB>* db);
  bool Write(ReplicatedDB* db, uint64_t first, uint64_t count);
  bool Put(ReplicatedDB* db, uint64_t number, uint64_t value) const;
  uint64_t DrawAnother(std::unordered_set<uint64_t>* drawn);
  bool ReadyDigests();

  const std::string directory_;
  std::mt19937_64 random_;
  uint64_t made_ = 0;
  uint64_t written_ = 0;  // keys with smaller numbers are on both sides
  std::unique_ptr<ReplicatedDB> a_;
  std::unique_ptr<ReplicatedDB> b_;
};

}  // namespace rocksync::bench

#endif  // ROCKSYNC_TESTS_BENCH_RECONCILE_DISK_REPLICAS_H_
