#include "replication/replicator/idle_links.h"

#include <chrono>
#include <system_error>

#include "replication/replicator/connection_threads.h"
#include "replication/session/message_type.h"

namespace rocksync {

bool IdleLinks::Add(std::unique_ptr<Link>* link) {
  uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = next_++;
    kept_.emplace(number, Kept());
  }
  if (Wait(number, link)) return true;
  Forget(number);
  return false;
}

size_t IdleLinks::size() const {
  const std::lock_guard lock(mutex_);
  return kept_.size();
}

// The link is put into kept_ only after its connection was asked to call back,
// so that no other thread destroys it meanwhile.
bool IdleLinks::Wait(uint64_t number, std::unique_ptr<Link>* link) {
  const bool told =
      (*link)->connection()->WhenReceivable([weak = weak_from_this(), number] {
        if (const auto self = weak.lock()) self->Wake(number);
      });
  if (!told) return false;
  std::unique_ptr<Link> left;  // destroyed after the lock is released
  const std::lock_guard lock(mutex_);
  Kept* const kept = &kept_.at(number);
  kept->link = std::move(*link);
  if (!std::exchange(kept->woken, false) || HaveItServed(number)) return true;
  left = std::move(kept->link);
  kept_.erase(number);
  return true;
}

void IdleLinks::Wake(uint64_t number) {
  std::unique_ptr<Link> left;
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(number);
  if (joined_ || found == kept_.end()) return;
  if (found->second.link == nullptr) {
    found->second.woken = true;
  } else if (!HaveItServed(number)) {
    left = std::move(found->second.link);
    kept_.erase(found);
  }
}

bool IdleLinks::HaveItServed(uint64_t number) {
  if (joined_ || replica_->stopping) return true;
  if (!StartWorker() && serving_ == 0) return false;
  woken_.push_back(number);
  return true;
}

bool IdleLinks::StartWorker() {
  if (serving_ >= kMaxServing) return false;
  JoinThoseOver(&workers_);
  Worker* const worker = &workers_.emplace_back();
  try {
    worker->thread = std::thread([this, worker] {
      Work();
      worker->over = true;
    });
  } catch (const std::system_error&) {
    workers_.pop_back();
    return false;
  }
  ++serving_;
  return true;
}

void IdleLinks::Work() {
  uint64_t number = 0;
  while (std::unique_ptr<Link> link = NextWoken(&number)) {
    if (!ServeAll(link.get()) || !Wait(number, &link)) Forget(number);
  }
}

std::unique_ptr<Link> IdleLinks::NextWoken(uint64_t* number) {
  const std::lock_guard lock(mutex_);
  if (joined_ || replica_->stopping || woken_.empty() ||
      serving_ > kMaxServing) {
    --serving_;
    return nullptr;
  }
  *number = woken_.front();
  woken_.pop_front();
  return std::move(kept_.at(*number).link);
}

bool IdleLinks::ServeAll(Link* link) {
  bool came = false;
  while (!replica_->stopping) {
    std::string first;
    const rocksdb::Status status =
        link->Await(&first, std::chrono::milliseconds(0));
    // If the link was woken and nothing has come, it is dropped: waiting for it
    // again at once would spin.
    if (status.IsTimedOut()) return came;
    if (!status.ok()) return false;
    came = true;
    if (first.empty()) continue;
    if (first[0] == static_cast<char>(MessageType::kStreamOpen)) {
      ServeStream(link, std::move(first));
      return false;
    }
    if (!serve_(link, std::move(first))) return false;
  }
  return false;
}

void IdleLinks::ServeStream(Link* link, std::string first) {
  {
    const std::lock_guard lock(mutex_);
    --serving_;
    if (!woken_.empty() && !joined_ && !replica_->stopping) StartWorker();
  }
  (void)serve_(link, std::move(first));
  const std::lock_guard lock(mutex_);
  ++serving_;
}

void IdleLinks::Forget(uint64_t number) {
  const std::lock_guard lock(mutex_);
  kept_.erase(number);
}

void IdleLinks::Join() {
  std::list<Worker> workers;
  std::map<uint64_t, Kept> kept;
  {
    const std::lock_guard lock(mutex_);
    joined_ = true;
    workers.swap(workers_);
  }
  for (Worker& worker : workers) worker.thread.join();
  const std::lock_guard lock(mutex_);
  kept.swap(kept_);
}

}  // namespace rocksync
