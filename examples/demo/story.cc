#include "examples/demo/story.h"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "examples/demo/redis_client.h"
#include "examples/demo/workload.h"

namespace rocksync {
namespace {

using rocksdb::Status;
using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::steady_clock;

// A peer that is busy with another is asked again; after this long something
// is wrong.
constexpr minutes kSyncTimeout{5};
constexpr milliseconds kRetry{50};
constexpr milliseconds kPoll{100};

using Clients = std::vector<std::unique_ptr<RedisClient>>;
using Views = std::vector<std::unique_ptr<rocksdb::DB>>;

// Two replicas by number; the first one dials.
using Pair = std::pair<size_t, size_t>;

class Story {
 public:
  Story(const StoryOptions& options, Cluster* cluster, Progress* progress,
        Report* report)
      : options_(options),
        cluster_(cluster),
        progress_(progress),
        report_(report),
        random_(options.seed) {}

  Status Tell() {
    Status status = Connect(&clients_);
    if (status.ok()) status = Load();
    if (status.ok()) status = MakeEqual("Spreading", AllPairs(), Expected(2));
    if (status.ok()) status = LastOne("PAUSE");
    if (status.ok()) status = ChangeApart();
    if (status.ok()) status = OpenViews(&before_);
    if (status.ok()) status = Heal();
    if (status.ok() && options_.when_equal) options_.when_equal();
    if (status.ok()) status = Verify();
    return status;
  }

 private:
  size_t last() const { return cluster_->size() - 1; }

  // Pairs in an order in which each replica gets what all others have: first
  // the last one with all, then the others among themselves.
  std::vector<Pair> AllPairs() const {
    std::vector<Pair> pairs;
    for (size_t i = cluster_->size(); i-- > 1;) {
      for (size_t j = 0; j < i; ++j) pairs.emplace_back(i, j);
    }
    return pairs;
  }

  // Each key goes to so many others.
  uint64_t Expected(uint64_t others) const { return options_.keys * others; }

  Status Connect(Clients* clients) const {
    clients->resize(cluster_->size());
    for (size_t i = 0; i < cluster_->size(); ++i) {
      const Status status =
          RedisClient::Connect(cluster_->redis_port(i), &(*clients)[i]);
      if (!status.ok()) return status;
    }
    return Status::OK();
  }

  // Runs `work` on one thread per replica, with its client, and shows `show`
  // meanwhile. The first error.
  Status OnEach(const std::function<Status(size_t, RedisClient*)>& work,
                const std::function<void()>& show) {
    std::vector<Status> statuses(clients_.size());
    std::atomic<size_t> running{clients_.size()};
    std::vector<std::thread> threads;
    for (size_t i = 0; i < clients_.size(); ++i) {
      threads.emplace_back([&, i] {
        statuses[i] = work(i, clients_[i].get());
        if (statuses[i].ok()) statuses[i] = clients_[i]->Flush();
        --running;
      });
    }
    while (running > 0) {
      show();
      std::this_thread::sleep_for(kPoll);
    }
    for (std::thread& thread : threads) thread.join();
    for (const Status& status : statuses) {
      if (!status.ok()) return status;
    }
    return Status::OK();
  }

  // Keys by turns through all replicas.
  Status Load() {
    std::atomic<uint64_t> loaded{0};
    std::atomic<uint64_t> bytes{0};
    const auto detail = [&] {
      return Grouped(loaded) + " of " + Grouped(options_.keys) + " keys, " +
             Bytes(bytes);
    };
    progress_->Begin("Loading");
    const Status status = OnEach(
        [&](size_t i, RedisClient* client) {
          std::mt19937_64 random(options_.seed + i);
          for (uint64_t k = i; k < options_.keys; k += clients_.size()) {
            std::string value = RandomValue(&random);
            bytes += value.size();
            const Status queued =
                client->Queue({"SET", KeyName(k), std::move(value)});
            if (!queued.ok()) return queued;
            ++loaded;
          }
          return Status::OK();
        },
        [&] { progress_->Update(Fraction(loaded, options_.keys), detail()); });
    if (status.ok()) {
      progress_->End(detail() + " through " + std::to_string(clients_.size()) +
                     " ports");
    }
    return status;
  }

  // Cuts the last replica off or lets it return.
  Status LastOne(const std::string& command) {
    return clients_[last()]->Call({"REPLICATION", command});
  }

  // Both sides change at once: the last replica alone, the others together.
  Status ChangeApart() {
    const auto sides =
        ChangesWhileApart(options_.keys, options_.changes, 2, &random_);
    for (const auto& side : sides) {
      for (const DemoChange& change : side) {
        report_->puts += change.kind == DemoChange::Kind::kPut;
        report_->overwrites += change.kind == DemoChange::Kind::kOverwrite;
        report_->deletes += change.kind == DemoChange::Kind::kDelete;
      }
    }
    std::atomic<uint64_t> done{0};
    const std::string detail =
        " of " + Grouped(report_->changes()) + " changes on both sides";
    progress_->Begin("Replica " + std::to_string(last() + 1) +
                     " is paused, cut off from the others; changing");
    Status status = OnEach(
        [&](size_t i, RedisClient* client) {
          std::mt19937_64 random(options_.seed + 100 + i);
          const bool alone = i == last();
          const std::vector<DemoChange>& side = sides[alone ? 1 : 0];
          for (size_t c = alone ? 0 : i; c < side.size();
               c += alone ? 1 : last()) {
            const std::string key = KeyName(side[c].key);
            const Status queued =
                side[c].kind == DemoChange::Kind::kDelete
                    ? client->Queue({"DEL", key})
                    : client->Queue({"SET", key, RandomValue(&random)});
            if (!queued.ok()) return queued;
            ++done;
          }
          return Status::OK();
        },
        [&] {
          progress_->Update(Fraction(done, report_->changes()),
                            Grouped(done) + detail);
        });
    if (!status.ok()) return status;
    progress_->End(Grouped(done) + detail);

    std::vector<Pair> among_others = AllPairs();
    std::erase_if(among_others,
                  [&](Pair pair) { return pair.first == last(); });
    return MakeEqual("The others sync", among_others, options_.changes);
  }

  Status Heal() {
    Traffic at_first;
    Status status = ReadTraffic(&at_first);
    if (!status.ok()) return status;
    const auto begun = steady_clock::now();
    status = LastOne("RESUME");
    if (status.ok()) {
      // One side's changes go to the last replica, its own to all others.
      status = MakeEqual(
          "Replica " + std::to_string(last() + 1) + " is back; healing",
          AllPairs(), options_.changes * cluster_->size());
    }
    report_->converged = status.ok();
    report_->heal_seconds =
        duration<double>(steady_clock::now() - begun).count();
    if (!status.ok()) return status;
    Traffic at_last;
    status = ReadTraffic(&at_last);
    report_->traffic = {at_last.pairs_shipped - at_first.pairs_shipped,
                        at_last.bytes_filters - at_first.bytes_filters,
                        at_last.bytes_offers - at_first.bytes_offers,
                        at_last.bytes_keys - at_first.bytes_keys,
                        at_last.bytes_values - at_first.bytes_values,
                        at_last.bytes_total - at_first.bytes_total,
                        at_last.exchanges - at_first.exchanges};
    return status;
  }

  // Lets the replicas of each pair sync until proven equal, and shows how many
  // of about `expected` pairs were applied.
  Status MakeEqual(const std::string& phase, const std::vector<Pair>& pairs,
                   uint64_t expected) {
    progress_->Begin(phase);
    uint64_t at_first = 0;
    Status status = ReadApplied(&at_first);
    if (!status.ok()) return status;
    std::atomic<bool> ended{false};
    Status synced;
    std::thread thread([&] {
      synced = SyncPairs(pairs);
      ended = true;
    });
    uint64_t applied = 0;
    const auto detail = [&] {
      return Grouped(applied) + " pairs left to sessions";
    };
    while (!ended) {
      std::this_thread::sleep_for(kPoll);
      uint64_t now = 0;
      if (status.ok()) status = ReadApplied(&now);
      if (!status.ok()) continue;
      applied = now - at_first;
      progress_->Update(Fraction(applied, expected), detail());
    }
    thread.join();
    if (status.ok()) status = synced;
    if (status.ok()) progress_->End(detail() + ", proven equal");
    return status;
  }

  // On connections of its own, so that others can look on meanwhile.
  Status SyncPairs(const std::vector<Pair>& pairs) const {
    Clients clients;
    Status status = Connect(&clients);
    const auto deadline = steady_clock::now() + kSyncTimeout;
    for (size_t at = 0; status.ok() && at < pairs.size();) {
      const auto [dialer, peer] = pairs[at];
      status = clients[dialer]->Call(
          {"REPLICATION", "SYNC", cluster_->address(peer)});
      if (status.ok()) {
        ++at;
      } else if (status.IsAborted() && steady_clock::now() < deadline) {
        status = Status::OK();
        std::this_thread::sleep_for(kRetry);
      }
    }
    return status;
  }

  Status ReadApplied(uint64_t* pairs) const {
    *pairs = 0;
    for (const auto& client : clients_) {
      RedisClient::Fields fields;
      const Status status = client->ReplicationInfo(&fields);
      if (!status.ok()) return status;
      *pairs += Number(fields, "pairs_applied");
    }
    return Status::OK();
  }

  // Both ends of a session count its bytes and exchanges.
  Status ReadTraffic(Traffic* sum) const {
    *sum = {};
    for (const auto& client : clients_) {
      RedisClient::Fields fields;
      const Status status = client->ReplicationInfo(&fields);
      if (!status.ok()) return status;
      sum->pairs_shipped += Number(fields, "pairs_sent");
      sum->bytes_filters += Number(fields, "bytes_filters");
      sum->bytes_offers += Number(fields, "bytes_offers");
      sum->bytes_keys += Number(fields, "bytes_keys");
      sum->bytes_values += Number(fields, "bytes_values");
      sum->bytes_total += Number(fields, "bytes_total");
      sum->exchanges += Number(fields, "exchanges");
    }
    sum->bytes_filters /= 2;
    sum->bytes_offers /= 2;
    sum->bytes_keys /= 2;
    sum->bytes_values /= 2;
    sum->bytes_total /= 2;
    sum->exchanges /= 2;
    return Status::OK();
  }

  Status OpenViews(Views* views) const {
    views->resize(cluster_->size());
    for (size_t i = 0; i < cluster_->size(); ++i) {
      const Status status = OpenView(cluster_->directory(i), &(*views)[i]);
      if (!status.ok()) return status;
    }
    return Status::OK();
  }

  Status Verify() {
    progress_->Begin("Comparing every key and value with plain RocksDB");
    clients_.clear();
    Status status = cluster_->Stop();
    Views after;
    if (status.ok()) status = OpenViews(&after);
    if (status.ok()) status = Compare(before_, after, &report_->comparison);
    if (!status.ok()) return status;
    const ScanComparison& found = report_->comparison;
    progress_->End(Grouped(found.keys) + " keys, " +
                   Bytes(found.key_bytes + found.value_bytes) + ", " +
                   (found.equal ? "equal" : "NOT EQUAL"));
    return status;
  }

  static double Fraction(uint64_t part, uint64_t whole) {
    return static_cast<double>(part) / static_cast<double>(whole);
  }

  static uint64_t Number(const RedisClient::Fields& fields,
                         const std::string& name) {
    const auto found = fields.find(name);
    return found == fields.end()
               ? 0
               : std::strtoull(found->second.c_str(), nullptr, 10);
  }

  const StoryOptions options_;
  Cluster* const cluster_;
  Progress* const progress_;
  Report* const report_;
  std::mt19937_64 random_;
  Clients clients_;
  Views before_;  // what the replicas held before the heal
};

}  // namespace

Status TellStory(const StoryOptions& options, Cluster* cluster,
                 Progress* progress, Report* report) {
  report->replicas = cluster->size();
  return Story(options, cluster, progress, report).Tell();
}

}  // namespace rocksync
