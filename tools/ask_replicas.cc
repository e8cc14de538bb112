#include "tools/ask_replicas.h"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <thread>

#include "replication/peering/open_connections.h"
#include "tools/stats_from_json.h"

namespace rocksync {
namespace {

using rocksdb::Status;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kStopPoll{50};

ReplicaAnswer Ask(const AdminTarget& target) {
  const auto start = Clock::now();
  ReplicaAnswer answer;
  std::unique_ptr<AdminClient> client;
  std::string text;
  answer.status = AdminClient::Open(target, Request(), &client);
  if (answer.status.ok()) {
    answer.status = client->Answer({}, &text);
  }
  ReplicationStats stats;
  if (answer.status.ok()) answer.status = StatsFromJson(text, &stats);
  if (answer.status.ok()) answer.stats = std::move(stats);
  answer.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return answer;
}

// The threads that ask, and the one that waits for them.
class Round {
 public:
  Round(const AdminTarget& target, const std::vector<std::string>& replicas)
      : target_(target), answers_(replicas.size()) {
    target_.connections = std::make_shared<OpenConnections>();
    for (size_t i = 0; i < replicas.size(); ++i) {
      threads_.emplace_back([this, i, replica = replicas[i]] {
        AdminTarget asked = target_;
        asked.address = replica;
        Finish(i, Ask(asked));
      });
    }
  }
  ~Round() {
    for (std::thread& thread : threads_) thread.join();
  }
  Round(const Round&) = delete;
  Round& operator=(const Round&) = delete;

  // False: it was given up.
  bool Wait(const AskLimits& limits) {
    const auto end =
        limits.time ? Clock::now() + *limits.time : Clock::time_point::max();
    std::unique_lock lock(mutex_);
    while (finished_ < answers_.size()) {
      if (Clock::now() >= end || (limits.stop && limits.stop())) return false;
      changed_.wait_until(lock, std::min(end, Clock::now() + kStopPoll));
    }
    return true;
  }

  // Answers that come from now on are `instead`.
  void GiveUp(const Status& instead) {
    {
      const std::lock_guard lock(mutex_);
      instead_ = instead;
    }
    target_.connections->CloseAll();
  }

  std::vector<ReplicaAnswer> Take() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    return std::move(answers_);
  }

 private:
  void Finish(size_t number, ReplicaAnswer answer) {
    const std::lock_guard lock(mutex_);
    if (instead_) {
      answer.status = *instead_;
      answer.stats.reset();
    }
    answers_[number] = std::move(answer);
    ++finished_;
    changed_.notify_all();
  }

  AdminTarget target_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ReplicaAnswer> answers_;
  size_t finished_ = 0;
  std::optional<Status> instead_;
  std::vector<std::thread> threads_;
};

Status GivenUp(const AskLimits& limits) {
  if (limits.stop && limits.stop()) return Status::Aborted("stopped");
  return Status::TimedOut(
      "no answer within " + std::to_string(limits.time->count()) + " ms",
      "the one who asks waits no longer (scrape_timeout of Prometheus)");
}

}  // namespace

std::vector<ReplicaAnswer> AskReplicas(const AdminTarget& target,
                                       const std::vector<std::string>& replicas,
                                       const AskLimits& limits) {
  AdminTarget asked = target;
  if (limits.time) asked.timeout = std::min(asked.timeout, *limits.time);
  Round round(asked, replicas);
  if (!round.Wait(limits)) round.GiveUp(GivenUp(limits));
  return round.Take();
}

}  // namespace rocksync
