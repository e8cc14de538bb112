#include "tests/bench/reconcile/disk_replicas.h"

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

#include "replication/session/storage_view.h"
#include "replication/store/store_access.h"
#include "rocksdb/write_batch.h"
#include "sketch/element/coding.h"

namespace rocksync::bench {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBatch = 1000;
constexpr size_t kValueBytes = 16;

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

}  // namespace

DiskReplicas::~DiskReplicas() {
  a_.reset();
  b_.reset();
  std::error_code ignored;
  fs::remove_all(directory_, ignored);
}

bool DiskReplicas::Fill(uint64_t pairs) {
  std::error_code error;
  fs::create_directories(directory_, error);
  if (!Open("made", &a_) || !Write(a_.get(), 0, pairs)) return false;
  if (!Check(a_->Close())) return false;
  a_.reset();
  made_ = pairs;
  return true;
}

bool DiskReplicas::Restart() {
  for (auto* const db : {&a_, &b_}) {
    if (!Check((*db)->Close())) return false;
    db->reset();
  }
  return Open("a", &a_) && Open("b", &b_) && ReadyDigests();
}

bool DiskReplicas::Renew() {
  written_ = made_;
  return OpenCopy("a", &a_) && OpenCopy("b", &b_) && ReadyDigests();
}

bool DiskReplicas::OpenCopy(const std::string& name,
                            std::unique_ptr<ReplicatedDB>* db) {
  db->reset();
  const std::string path = directory_ + "/" + name;
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) fs::create_directories(path, error);
  if (error) {
    std::fprintf(stderr, "%s: %s\n", path.c_str(), error.message().c_str());
    return false;
  }
  for (const fs::directory_entry& file :
       fs::recursive_directory_iterator(directory_ + "/made")) {
    const fs::path to =
        path / fs::relative(file.path(), directory_ + "/made", error);
    if (file.is_directory()) {
      fs::create_directories(to, error);
    } else if (file.path().extension() == ".sst") {
      fs::create_hard_link(file.path(), to, error);  // never written to
    } else {
      fs::copy_file(file.path(), to, error);
    }
    if (error) {
      std::fprintf(stderr, "%s: %s\n", to.c_str(), error.message().c_str());
      return false;
    }
  }
  return Open(name, db);
}

bool DiskReplicas::AddTo(uint64_t only_a, uint64_t only_b) {
  const uint64_t first = std::exchange(written_, written_ + only_a + only_b);
  return Write(a_.get(), first, only_a) &&
         Write(b_.get(), first + only_a, only_b);
}

// REQUIRES: fewer were drawn than there are.
uint64_t DiskReplicas::DrawAnother(std::unordered_set<uint64_t>* drawn) {
  while (true) {
    const uint64_t number = random_() % written_;
    if (drawn->insert(number).second) return number;
  }
}

bool DiskReplicas::Overwrite(uint64_t pairs, bool half_of_them_on_b) {
  std::unordered_set<uint64_t> drawn;
  for (uint64_t at = 0; at < pairs; ++at) {
    ReplicatedDB* const db =
        half_of_them_on_b && at % 2 == 1 ? b_.get() : a_.get();
    if (!Put(db, DrawAnother(&drawn), random_())) return false;
  }
  return true;
}

bool DiskReplicas::Touch(ReplicatedDB* db, std::mt19937_64* random) const {
  const uint64_t number = (*random)() % written_;
  return Put(db, number, (*random)());
}

bool DiskReplicas::Put(ReplicatedDB* db, uint64_t number,
                       uint64_t value) const {
  std::string bytes;
  PutFixed64(&bytes, value);
  return Check(db->Put({}, KeyOf(number), bytes));
}

bool DiskReplicas::Open(const std::string& name,
                        std::unique_ptr<ReplicatedDB>* db) {
  rocksdb::Options options;
  options.create_if_missing = true;
  ReplicatedDBOptions replication;
  replication.cluster_secret.fill(7);
  replication.cluster_name = "bench";
  replication.open_copy_as_new_replica = name != "made";
  ReplicatedDB* raw = nullptr;
  if (!Check(ReplicatedDB::Open(options, replication, directory_ + "/" + name,
                                &raw))) {
    return false;
  }
  db->reset(raw);
  return true;
}

bool DiskReplicas::Write(ReplicatedDB* db, uint64_t first, uint64_t count) {
  for (uint64_t at = 0; at < count;) {
    rocksdb::WriteBatch batch;
    for (size_t i = 0; i < kBatch && at < count; ++i, ++at) {
      if (!Check(batch.Put(KeyOf(first + at), std::string(kValueBytes, 'v')))) {
        return false;
      }
    }
    if (!Check(db->Write({}, &batch))) return false;
  }
  return true;
}

bool DiskReplicas::ReadyDigests() {
  for (ReplicatedDB* db : {a_.get(), b_.get()}) {
    if (!StoreAccess::NewView(db)->TakeSnapshot({}).ok()) return false;
  }
  return true;
}

bool DiskReplicas::OverwriteBoth(uint64_t count) {
  const uint64_t now_ms = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(
          std::chrono::system_clock::now().time_since_epoch())
          .count());
  std::vector<Pair> pairs;
  std::vector<ApplyOutcome> outcomes;
  std::unordered_set<uint64_t> drawn;
  for (uint64_t at = 0; at < count; ++at) {
    Pair pair;
    pair.key = KeyOf(DrawAnother(&drawn));
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

}  // namespace rocksync::bench
