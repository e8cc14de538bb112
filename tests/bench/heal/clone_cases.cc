#include "tests/bench/heal/clone_cases.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rocksdb/utilities/checkpoint.h"
#include "rocksync/clone.h"
#include "rocksync/replicated_db.h"
#include "tests/bench/heal/replica.h"
#include "tests/bench/heal/rsync_daemon.h"
#include "tests/bench/heal/serving_process.h"
#include "tests/bench/reconcile/process_memory.h"
#include "tests/support/trial_transport.h"

namespace rocksync::bench {
namespace {

constexpr uint64_t kCloneId = 0xc10e;

struct Copied {
  double seconds = 0;
  CloneResult result;
};

// The source in directory/source, and a checkpoint of it for rsync.
bool MakeSource(const CloneCase& clone, const std::string& directory) {
  std::unique_ptr<ReplicatedDB> db;
  if (!OpenReplica(directory + "/source", &db) ||
      !Write(db.get(),
             {.count = clone.pairs, .value_bytes = clone.value_bytes})) {
    return false;
  }
  rocksdb::Checkpoint* raw = nullptr;
  if (!Check(rocksdb::Checkpoint::Create(db.get(), &raw))) return false;
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(raw);
  return Check(checkpoint->CreateCheckpoint(directory + "/checkpoint")) &&
         Check(db->Close());
}

// Calls `progress` meanwhile.
bool Copy(const std::string& directory, const std::string& address,
          const std::function<void(const CloneProgress&)>& progress,
          Copied* copied) {
  CloneOptions options;
  options.source = address;
  options.progress = progress;
  if (!Check(NewTrialTransport(directory + "/certificates", kCloneId,
                               &options.transport))) {
    return false;
  }
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  if (!Check(ReplicatedDB::Clone({}, ReplicationOptions(), directory + "/clone",
                                 {{rocksdb::kDefaultColumnFamilyName, {}}},
                                 options, &copied->result))) {
    return false;
  }
  copied->seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (!copied->result.proven_equal) {
    std::fprintf(stderr, "%s\n", copied->result.session_error.c_str());
  }
  return copied->result.proven_equal;
}

// A process that copies half, and is killed. How many bytes came.
uint64_t CopyHalf(const std::string& directory, const std::string& address) {
  int ends[2];
  if (pipe(ends) != 0) return 0;
  const pid_t pid = fork();
  if (pid == 0) {
    Copied copied;
    Copy(
        directory, address,
        [&](const CloneProgress& progress) {
          if (progress.bytes == 0 || progress.bytes_done < progress.bytes / 2) {
            return;
          }
          if (write(ends[1], &progress.bytes_received,
                    sizeof progress.bytes_received) > 0) {
            kill(getpid(), SIGKILL);
          }
        },
        &copied);
    _exit(1);
  }
  close(ends[1]);
  uint64_t bytes = 0;
  if (read(ends[0], &bytes, sizeof bytes) != sizeof bytes) bytes = 0;
  close(ends[0]);
  waitpid(pid, nullptr, 0);
  return bytes;
}

bool MeasureClone(const CloneCase& clone, const std::string& directory,
                  Measured* measured) {
  ServingProcess source;
  std::unique_ptr<DelayingRelay> relay;
  if (!MakeSource(clone, directory) ||
      !source.Start(directory + "/source", directory + "/certificates")) {
    return false;
  }
  const uint64_t before =
      clone.killed ? CopyHalf(directory, source.address()) : 0;
  std::string address = source.address();
  if (clone.link) {
    relay = NewDelayingRelay(address, *clone.link);
    if (relay == nullptr) return false;
    address = relay->address();
  }
  // Neither waits for what was written before it.
  sync();
  ResetPeak(getpid());
  ResetPeak(source.pid());
  const double idle_here = MemoryMib("VmRSS", getpid());
  const double idle_there = MemoryMib("VmRSS", source.pid());
  Copied copied;
  if (!Copy(directory, address, {}, &copied)) return false;
  const double mib = std::max(MemoryMib("VmHWM", getpid()) - idle_here,
                              MemoryMib("VmHWM", source.pid()) - idle_there);
  measured->memory_bytes =
      static_cast<uint64_t>(std::max(mib, 0.0) * (1 << 20));
  measured->name = clone.name;
  measured->pairs = clone.pairs;
  measured->value_bytes = clone.value_bytes;
  measured->seconds = copied.seconds;
  measured->bytes = before + copied.result.bytes_received;
  measured->bytes_needed = copied.result.bytes;
  if (clone.link) {
    measured->anchor_seconds =
        static_cast<double>(copied.result.bytes) / clone.link->bytes_per_second;
    return true;
  }
  sync();
  const std::optional<RsyncSeconds> rsync =
      TimeRsync(directory + "/checkpoint", directory + "/rsynced", directory);
  if (!rsync) return false;
  measured->anchor_seconds = rsync->copied;
  measured->synced_anchor_seconds = rsync->synced;
  return true;
}

}  // namespace

std::vector<CloneCase> CloneCases(double scale) {
  constexpr LinkOptions kLongLink{.one_way = std::chrono::milliseconds(50),
                                  .bytes_per_second = 125e6};
  std::vector<CloneCase> cases = {
      {.name = "clone_1000", .pairs = 1'000'000, .value_bytes = 1000},
      {.name = "clone_100", .pairs = 3'000'000, .value_bytes = 100},
      {.name = "clone_killed",
       .pairs = 1'000'000,
       .value_bytes = 1000,
       .killed = true},
      {.name = "clone_link",
       .pairs = 600'000,
       .value_bytes = 1000,
       .link = kLongLink},
  };
  for (CloneCase& clone : cases) {
    clone.pairs = std::max<uint64_t>(
        1, static_cast<uint64_t>(scale * static_cast<double>(clone.pairs)));
  }
  return cases;
}

std::optional<Measured> RunClone(const CloneCase& clone,
                                 const std::string& directory) {
  return MeasureIn(directory, [&](Measured* measured) {
    return MeasureClone(clone, directory, measured);
  });
}

}  // namespace rocksync::bench
