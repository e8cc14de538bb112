// Writes to a replicated database until it is killed. Each write that was
// acknowledged is reported on standard output as 9 bytes: thread, number.
//
//   crash_child load DIR ROUND    three threads, flushes and checkpoints
//   crash_child adopt DIR ROUND   adopts while one thread writes

#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "replication/session/storage_view.h"
#include "replication/store/store_access.h"
#include "rocksdb/utilities/checkpoint.h"
#include "rocksync/replicated_db.h"

namespace rocksync {
namespace {

void Report(char thread, uint64_t number) {
  char bytes[9];
  bytes[0] = thread;
  std::memcpy(bytes + 1, &number, 8);
  if (write(STDOUT_FILENO, bytes, sizeof(bytes)) != sizeof(bytes)) _exit(3);
}

// Number i puts key i; a multiple of 10 deletes key i - 5 as well.
void WriteLoop(ReplicatedDB* db, const std::string& prefix, char thread) {
  const auto view = StoreAccess::NewView(db);
  const std::string directory = db->GetName();
  for (uint64_t i = 0;; ++i) {
    const std::string key = prefix + thread + std::to_string(i);
    rocksdb::WriteBatch batch;
    batch.Put(key, key + std::string(i % 300, 'v'));
    if (i % 10 == 0 && i > 0) {
      batch.Delete(prefix + thread + std::to_string(i - 5));
    }
    if (!db->Write({}, &batch).ok()) _exit(4);
    Report(thread, i);
    if (thread == 'b' && i % 20 == 0) {
      std::vector<ApplyOutcome> outcomes;
      const std::vector<Pair> pairs = {
          {0,
           prefix + "peer" + std::to_string(i % 200),
           {StoreAccess::IncarnationOf(db).clock, 99},
           i % 40 == 0,
           i % 40 == 0 ? "" : key}};
      // Not ok while adopting.
      view->Apply(pairs, {}, &outcomes).IgnoreError();
      if (i % 100 == 0) view->TakeSnapshot({}).status().IgnoreError();
    }
    if (thread == 'c' && i % 500 == 499) {
      db->Flush({}).PermitUncheckedError();
    }
    if (thread == 'c' && i % 1500 == 1499) {
      rocksdb::Checkpoint* raw = nullptr;
      if (!rocksdb::Checkpoint::Create(db, &raw).ok()) _exit(5);
      const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
      // The old one leaves its name at once: half removed under that name by a
      // kill, it would pass for a checkpoint.
      const std::string to = directory + ".checkpoint";
      const std::string old = directory + ".old_checkpoint";
      std::filesystem::remove_all(old);
      if (std::filesystem::exists(to)) std::filesystem::rename(to, old);
      checkpoint->CreateCheckpoint(to).PermitUncheckedError();
    }
  }
}

int Main(int argc, char** argv) {
  if (argc != 4) return 2;
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 256 << 10;
  ReplicatedDBOptions replication;
  replication.cluster_secret.fill(7);
  replication.cluster_name = "test";
  replication.index_write_buffer_bytes = 128 << 10;
  ReplicatedDB* raw = nullptr;
  const rocksdb::Status status =
      ReplicatedDB::Open(options, replication, argv[2], &raw);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  const bool load = std::strcmp(argv[1], "load") == 0;
  const std::string prefix = "r" + std::string(argv[3]) + ".";
  std::vector<std::thread> threads;
  for (const char thread : load ? std::string("abc") : std::string("a")) {
    threads.emplace_back([=] { WriteLoop(raw, prefix, thread); });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

}  // namespace
}  // namespace rocksync

int main(int argc, char** argv) { return rocksync::Main(argc, argv); }
