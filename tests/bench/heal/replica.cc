#include "tests/bench/heal/replica.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <random>
#include <system_error>

#include "replication/base/rocksdb_version.h"
#include "rocksdb/write_batch.h"
#include "sketch/element/coding.h"
#include "tests/bench/calm.h"
#include "tests/support/trial_transport.h"

namespace rocksync::bench {
namespace {

constexpr uint64_t kBatchPairs = 1000;
constexpr uint64_t kBatchBytes = uint64_t{1} << 20;

std::string KeyOf(uint64_t number) {
  std::string key;
  PutFixed64(&key, (number + 1) * 0x9e3779b97f4a7c15);  // scattered
  PutFixed64(&key, number);
  return key;
}

}  // namespace

bool Check(const rocksdb::Status& status) {
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok();
}

namespace {

// Random bytes: a window of them that moves on by a pair costs nothing to make.
std::string NoiseOf(const Pairs& pairs) {
  std::mt19937_64 random(pairs.first + (pairs.generation << 40));
  std::string noise(pairs.value_bytes + (size_t{1} << 20), '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  return noise;
}

bool Write(rocksdb::DB* db, const Pairs& pairs, const std::string& noise) {
  std::mt19937_64 random(pairs.first + (pairs.generation << 40) + 1);
  const uint64_t in_batch = std::clamp<uint64_t>(
      kBatchBytes / std::max<uint64_t>(pairs.value_bytes, 1), 1, kBatchPairs);
  for (uint64_t at = 0; at < pairs.count;) {
    rocksdb::WriteBatch batch;
    for (uint64_t i = 0; i < in_batch && at < pairs.count; ++i, ++at) {
      const rocksdb::Slice value(noise.data() + random() % (size_t{1} << 20),
                                 pairs.value_bytes);
      if (!Check(batch.Put(KeyOf(pairs.first + at), value))) return false;
    }
    if (!Check(db->Write({}, &batch))) return false;
  }
  return true;
}

}  // namespace

bool Write(rocksdb::DB* db, const Pairs& pairs) {
  return Write(db, pairs, NoiseOf(pairs));
}

bool Settle(rocksdb::DB* db) {
  if (!Check(db->Flush({}))) return false;
  WaitUntilCalm(db, std::chrono::milliseconds(300));
  return true;
}

double SecondsOfPlainWrites(const std::string& directory, const Pairs& before,
                            const Pairs& pairs) {
  using Clock = std::chrono::steady_clock;
  rocksdb::Options options;
  options.create_if_missing = true;
  std::unique_ptr<rocksdb::DB> db;
  if (!Check(OpenPlain(options, directory, &db))) return -1;
  if (!Write(db.get(), before) || !Settle(db.get())) return -1;
  const std::string noise = NoiseOf(pairs);
  const Clock::time_point start = Clock::now();
  if (!Write(db.get(), pairs, noise)) return -1;
  const double seconds =
      std::chrono::duration<double>(Clock::now() - start).count();
  db.reset();
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  return seconds;
}

ReplicatedDBOptions ReplicationOptions() {
  ReplicatedDBOptions options;
  options.cluster_secret.fill(7);
  options.cluster_name = "bench";
  return options;
}

bool OpenReplica(const std::string& directory,
                 std::unique_ptr<ReplicatedDB>* db) {
  rocksdb::Options options;
  options.create_if_missing = true;
  ReplicatedDBOptions replication = ReplicationOptions();
  replication.open_copy_as_new_replica = true;
  ReplicatedDB* raw = nullptr;
  if (!Check(ReplicatedDB::Open(options, replication, directory, &raw))) {
    return false;
  }
  db->reset(raw);
  return true;
}

bool StartReplicator(const std::string& certificates, ReplicatedDB* db,
                     std::unique_ptr<Replicator>* replicator) {
  std::shared_ptr<Transport> transport;
  if (!Check(NewTrialTransport(certificates, db->Identity().replica_id,
                               &transport))) {
    return false;
  }
  ReplicatorOptions options;
  options.listen_address = "127.0.0.1:0";
  options.interval = std::chrono::milliseconds(0);
  options.scrub_interval = std::chrono::milliseconds(0);
  return Check(Replicator::Start(options, db, transport, replicator));
}

}  // namespace rocksync::bench
