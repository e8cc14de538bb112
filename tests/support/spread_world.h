// Replicas that pass changes on (stream/spread.h) in virtual time: they write,
// links carry in order and late, relays die or hang.

#ifndef ROCKSYNC_TESTS_SUPPORT_SPREAD_WORLD_H_
#define ROCKSYNC_TESTS_SUPPORT_SPREAD_WORLD_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "replication/stream/spread.h"

namespace rocksync {

// A change, and when it was written.
struct SpreadChange {
  ShortHash hash = 0;
  uint64_t origin = 0;
  uint64_t at_ms = 0;
};

class SpreadWorld {
 public:
  explicit SpreadWorld(size_t replicas, uint64_t seed = 1,
                       SpreadOptions options = {})
      : random_(seed), nodes_(replicas) {
    for (size_t i = 0; i < replicas; ++i) SetZone(i, "", options);
  }

  void SetZone(size_t i, const std::string& zone, SpreadOptions options = {}) {
    options.zone = zone;
    MappingSeed seed{};
    for (uint8_t& byte : seed) byte = static_cast<uint8_t>(random_());
    nodes_[i].zone = zone;
    nodes_[i].spread = std::make_unique<Spread>(Id(i), options, seed);
  }

  void Join(size_t a, size_t b) {
    nodes_[a].peers.insert(b);
    nodes_[b].peers.insert(a);
    nodes_[a].spread->Connect({Id(b), nodes_[b].zone});
    nodes_[b].spread->Connect({Id(a), nodes_[a].zone});
    Tell(a);
    Tell(b);
  }
  void Mesh() {
    for (size_t a = 0; a < nodes_.size(); ++a) {
      for (size_t b = 0; b < a; ++b) Join(a, b);
    }
    Run(1000);
  }
  void Ring() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      Join(i, (i + 1) % nodes_.size());
    }
    Run(1000);
  }
  // Connected, each with about `degree` neighbours.
  void RandomGraph(size_t degree) {
    for (size_t i = 1; i < nodes_.size(); ++i) Join(i, random_() % i);
    for (size_t edges = nodes_.size(); edges < nodes_.size() * degree / 2;) {
      const size_t a = random_() % nodes_.size();
      const size_t b = random_() % nodes_.size();
      if (a == b || nodes_[a].peers.count(b) > 0) continue;
      Join(a, b);
      ++edges;
    }
    Run(1000);
  }

  // Its connections break, and everybody notices.
  void Kill(size_t i) {
    nodes_[i].works = false;
    const std::set<size_t> peers = nodes_[i].peers;
    for (const size_t peer : peers) Part(i, peer);
  }
  void Part(size_t a, size_t b) {
    for (const auto& [one, other] : {std::pair(a, b), std::pair(b, a)}) {
      nodes_[one].peers.erase(other);
      nodes_[one].spread->Disconnect(Id(other));
      Tell(one);
    }
  }
  // Nobody notices.
  void Hang(size_t i) { nodes_[i].works = false; }

  void Write(size_t i) {
    const SpreadChange written{random_(), Id(i), now_ms_};
    all_.push_back(written);
    nodes_[i].held.insert(written.hash);
    PassOn(i, written, 0);
  }

  void Run(uint64_t ms) {
    const uint64_t until = now_ms_ + ms;
    while (true) {
      uint64_t next = until;
      if (!events_.empty()) next = std::min(next, events_.top().at_ms);
      for (const Node& node : nodes_) {
        if (node.works) next = std::min(next, node.spread->NextDueMs());
      }
      now_ms_ = std::max(now_ms_, next);
      if (events_.empty() || events_.top().at_ms > now_ms_) {
        for (size_t i = 0; i < nodes_.size(); ++i) Graft(i);
        if (now_ms_ >= until) return;
        continue;
      }
      const std::function<void()> event = events_.top().event;
      events_.pop();
      event();
    }
  }

  // Replicas that work and lack a change written up to so long ago.
  size_t Lacking(uint64_t age_ms = 0) const {
    size_t lacking = 0;
    for (const SpreadChange& written : all_) {
      if (written.at_ms + age_ms > now_ms_) continue;
      for (const Node& node : nodes_) {
        lacking += node.works && node.held.count(written.hash) == 0;
      }
    }
    return lacking;
  }

  size_t size() const { return nodes_.size(); }
  const Spread& spread(size_t i) const { return *nodes_[i].spread; }
  uint64_t NextRandom() { return random_(); }
  static uint64_t Id(size_t i) { return 100 + i; }

  // Values that were sent, and those of them that were held already.
  uint64_t pushed = 0;
  uint64_t duplicates = 0;
  uint64_t across = 0;     // of pushed, from zone to zone
  uint64_t announced = 0;  // hashes
  double loss = 0;         // of values that are sent

 private:
  struct Node {
    std::unique_ptr<Spread> spread;
    std::string zone;
    std::set<size_t> peers;
    std::set<ShortHash> held;
    bool works = true;
    std::map<size_t, uint64_t> arrives_ms;  // the last message from a peer
  };
  struct Event {
    uint64_t at_ms = 0;
    uint64_t number = 0;
    std::function<void()> event;
    bool operator<(const Event& other) const {
      return std::pair(at_ms, number) > std::pair(other.at_ms, other.number);
    }
  };

  static size_t Index(uint64_t id) { return id - 100; }

  // In order on each link, 1 to 5 ms late.
  void Send(size_t from, size_t to, std::function<void()> event) {
    if (!nodes_[from].works) return;
    uint64_t* const last = &nodes_[to].arrives_ms[from];
    *last = std::max(*last, now_ms_ + 1 + random_() % 5);
    events_.push({*last, events_sent_++, [this, from, to, event] {
                    if (nodes_[to].works && nodes_[to].peers.count(from) > 0) {
                      event();
                    }
                  }});
  }

  void Tell(size_t i) {
    for (const size_t peer : nodes_[i].peers) {
      const auto neighbours = nodes_[i].spread->neighbours();
      Send(i, peer, [this, i, peer, neighbours] {
        nodes_[peer].spread->SetNeighbours(Id(i), neighbours);
      });
    }
  }

  void PassOn(size_t i, const SpreadChange& written, uint64_t source) {
    for (const size_t peer : nodes_[i].peers) {
      const Spread::Way way = nodes_[i].spread->WayTo(
          Id(peer), {written.hash, written.origin, source}, now_ms_);
      if (way == Spread::Way::kPush) Push(i, peer, written);
      if (way != Spread::Way::kAnnounce) continue;
      ++announced;
      origins_[written.hash] = written;
      Send(i, peer, [this, i, peer, hash = written.hash] {
        nodes_[peer].spread->OnAnnounce(Id(i), {&hash, 1}, now_ms_);
      });
    }
  }

  void Push(size_t from, size_t to, const SpreadChange& written) {
    ++pushed;
    across += nodes_[from].zone != nodes_[to].zone;
    if (loss > 0 && static_cast<double>(random_() % 10'000) < 10'000 * loss) {
      return;
    }
    Send(from, to, [this, from, to, written] {
      const bool applied = nodes_[to].held.insert(written.hash).second;
      duplicates += !applied;
      const bool prune = nodes_[to].spread->Arrived(
          {written.hash, written.origin, Id(from)}, applied, now_ms_);
      if (prune) {
        Send(to, from, [this, from, to, origin = written.origin] {
          nodes_[from].spread->OnPrune(Id(to), origin);
        });
      }
      if (applied) PassOn(to, written, Id(from));
    });
  }

  void Graft(size_t i) {
    if (!nodes_[i].works) return;
    for (const auto& [id, hashes] : nodes_[i].spread->DueGrafts(now_ms_)) {
      const size_t peer = Index(id);
      for (const ShortHash hash : hashes) {
        Send(i, peer, [this, i, peer, written = origins_[hash]] {
          nodes_[peer].spread->OnGraft(Id(i), written.origin, written.hash,
                                       now_ms_);
          Push(peer, i, written);
        });
      }
    }
  }

  std::mt19937_64 random_;
  std::vector<Node> nodes_;
  std::priority_queue<Event> events_;
  uint64_t events_sent_ = 0;
  uint64_t now_ms_ = 0;
  std::vector<SpreadChange> all_;
  std::map<ShortHash, SpreadChange> origins_;
};

// Each replica writes `changes` times, in turns, one a millisecond.
inline void WriteAll(SpreadWorld* world, int changes) {
  for (int i = 0; i < changes; ++i) {
    for (size_t node = 0; node < world->size(); ++node) {
      world->Write(node);
      world->Run(1);
    }
  }
  world->Run(100);
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SUPPORT_SPREAD_WORLD_H_
