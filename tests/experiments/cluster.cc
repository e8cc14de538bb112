#include "cluster.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "network.h"
#include "random_sets.h"
#include "sketch/element/digest.h"
#include "sketch/element/element.h"

namespace rocksync {
namespace {

// What a node knows of a key: nothing, or one of three versions; the later
// wins.
enum State : uint8_t { kAbsent, kOriginal, kOverwritten, kDeleted, kStates };

// A session says count and digest before anything else.
constexpr uint64_t kHelloBytes = 24;
// No honest exchange fails this often in a row.
constexpr int kMaxExchanges = 8;

// Elements of every key in every state.
class ElementTable {
 public:
  explicit ElementTable(uint32_t keys) {
    const ElementHasher hasher(ClusterSecret{1});
    for (int state = kOriginal; state < kStates; ++state) {
      elements_[state].resize(keys);
      const Version version = {uint64_t(state) << 16, 7};
      for (uint32_t key = 0; key < keys; ++key) {
        const std::string name = "key " + std::to_string(key);
        elements_[state][key] =
            state == kDeleted ? hasher.HashTombstone("default", name, version)
                              : hasher.HashPair("default", name, version,
                                                {key, uint64_t(state)});
      }
    }
  }
  const ElementHash& At(uint32_t key, uint8_t state) const {
    return elements_[state][key];
  }

 private:
  std::array<std::vector<ElementHash>, kStates> elements_;
};

struct Replica {
  std::vector<uint8_t> states;  // by key
  Digest digest;

  void Set(const ElementTable& table, uint32_t key, uint8_t state) {
    if (states[key] != kAbsent) digest.Remove(table.At(key, states[key]));
    digest.Add(table.At(key, state));
    states[key] = state;
  }
};

// A replica's elements as an exchange wants them.
struct Elements {
  std::vector<ElementHash> hashes;
  std::vector<uint32_t> keys;

  Elements(const ElementTable& table, const Replica& replica) {
    hashes.reserve(replica.digest.count);
    keys.reserve(replica.digest.count);
    for (uint32_t key = 0; key < replica.states.size(); ++key) {
      if (replica.states[key] == kAbsent) continue;
      hashes.push_back(table.At(key, replica.states[key]));
      keys.push_back(key);
    }
  }
};

// Lets two exchanges talk until both are done; the bytes that travelled.
uint64_t DriveSession(Exchange* a, Exchange* b) {
  uint64_t bytes = 0;
  while (!a->done() || !b->done()) {
    bool spoke = false;
    for (auto [from, to] : {std::pair(a, b), std::pair(b, a)}) {
      std::string payload;
      while (from->NextPayload(&payload)) {
        spoke = true;
        bytes += payload.size();
        const absl::Status status = to->Receive(payload);
        if (!status.ok()) {
          std::cerr << "exchange: " << status << std::endl;
          std::abort();
        }
        payload.clear();
      }
    }
    if (!spoke) {
      std::cerr << "exchange: both sides wait" << std::endl;
      std::abort();
    }
  }
  return bytes;
}

class Cluster {
 public:
  explicit Cluster(const ClusterOptions& options);
  ClusterRun Run(const std::function<void(const ClusterRun&)>& each_round);

 private:
  void Write(uint32_t key, uint8_t state, bool on_holder);
  void SetGoal();
  void Meet(Replica* a, Replica* b);
  void ExchangeOnce(Replica* a, Replica* b);
  // What `from` was told that `to` lacks.
  void Offer(const Elements& elements, const std::vector<uint32_t>& missing,
             const std::vector<uint8_t>& from, Replica* to);
  uint32_t PartnerOf(uint32_t node, uint32_t round);
  void Note();

  const ClusterOptions options_;
  Random random_;
  const ElementTable table_;
  std::vector<std::vector<uint32_t>> neighbours_;
  std::vector<Replica> replicas_;
  Digest goal_;
  ClusterRun run_;
};

Cluster::Cluster(const ClusterOptions& options)
    : options_(options),
      random_(options.seed),
      table_(options.keys),
      neighbours_(RandomNeighbours(
          options.nodes, std::min(options.neighbours, options.nodes - 1),
          options.seed)),
      replicas_(options.nodes) {
  const uint32_t inserted =
      static_cast<uint32_t>(options.inserted * options.keys);
  const uint32_t old = options.keys - inserted;
  for (Replica& replica : replicas_) {
    replica.states.assign(options.keys, kAbsent);
    const uint32_t count = static_cast<uint32_t>(options.own * old);
    for (const uint32_t key : Choose(random_, old, count)) {
      replica.Set(table_, key, kOriginal);
    }
  }
  for (uint32_t key = old; key < options.keys; ++key) {
    Write(key, kOriginal, false);
  }
  for (const uint32_t key :
       Choose(random_, old, static_cast<uint32_t>(options.overwritten * old))) {
    Write(key, kOverwritten, true);
  }
  for (const uint32_t key :
       Choose(random_, old, static_cast<uint32_t>(options.deleted * old))) {
    Write(key, kDeleted, true);
  }
  SetGoal();
}

// On any node, or on one that has the key already, if one of a few does.
void Cluster::Write(uint32_t key, uint8_t state, bool on_holder) {
  Replica* replica = &replicas_[Below(random_, options_.nodes)];
  for (int i = 0; on_holder && replica->states[key] == kAbsent && i < 100;
       ++i) {
    replica = &replicas_[Below(random_, options_.nodes)];
  }
  if (replica->states[key] < state) replica->Set(table_, key, state);
}

void Cluster::SetGoal() {
  for (uint32_t key = 0; key < options_.keys; ++key) {
    uint8_t last = kAbsent;
    for (const Replica& replica : replicas_) {
      last = std::max(last, replica.states[key]);
    }
    if (last == kAbsent) continue;
    goal_.Add(table_.At(key, last));
    for (const Replica& replica : replicas_) {
      run_.needed += replica.states[key] != last;
    }
  }
}

void Cluster::Offer(const Elements& elements,
                    const std::vector<uint32_t>& missing,
                    const std::vector<uint8_t>& from, Replica* to) {
  run_.offered += missing.size();
  for (const uint32_t ordinal : missing) {
    const uint32_t key = elements.keys[ordinal];
    const uint8_t state = from[key];
    if (to->states[key] == state) ++run_.offered_in_vain;
    if (to->states[key] >= state) continue;
    ++run_.shipped;
    to->Set(table_, key, state);
  }
}

void Cluster::ExchangeOnce(Replica* a, Replica* b) {
  const Elements of_a(table_, *a);
  const Elements of_b(table_, *b);
  ExchangeOptions options;
  options.mode = options_.mode;
  const MappingSeed seed = RandomSeed(random_);
  const auto first = NewExchange(Role::kInitiator, options, seed, of_a.hashes,
                                 of_b.hashes.size());
  const auto second = NewExchange(Role::kResponder, options, seed, of_b.hashes,
                                  of_a.hashes.size());
  run_.exchange_bytes += DriveSession(first.get(), second.get());
  ++run_.exchanges;
  const std::vector<uint8_t> a_before = a->states;
  Offer(of_b, second->missing_there(), b->states, a);
  Offer(of_a, first->missing_there(), a_before, b);
}

void Cluster::Meet(Replica* a, Replica* b) {
  ++run_.meetings;
  run_.hello_bytes += 2 * kHelloBytes;
  const int most = options_.mode == ExchangeMode::kBloom ? 1 : kMaxExchanges;
  for (int i = 0; i < most && !(a->digest == b->digest); ++i) {
    ExchangeOnce(a, b);
    run_.hello_bytes += 2 * kHelloBytes;  // the closing digests
  }
}

uint32_t Cluster::PartnerOf(uint32_t node, uint32_t round) {
  if (options_.pairing == Pairing::kNeighbours) {
    return neighbours_[node][round % neighbours_[node].size()];
  }
  const uint32_t other =
      static_cast<uint32_t>(Below(random_, options_.nodes - 1));
  return other + (other >= node);
}

void Cluster::Note() {
  run_.nodes_converged.push_back(static_cast<uint32_t>(
      std::count_if(replicas_.begin(), replicas_.end(),
                    [this](const Replica& r) { return r.digest == goal_; })));
  run_.bytes_after.push_back(run_.hello_bytes + run_.exchange_bytes);
  run_.converged = run_.nodes_converged.back() == options_.nodes;
}

ClusterRun Cluster::Run(
    const std::function<void(const ClusterRun&)>& each_round) {
  Note();
  while (!run_.converged && run_.rounds < options_.max_rounds) {
    for (uint32_t node = 0; node < options_.nodes; ++node) {
      Meet(&replicas_[node], &replicas_[PartnerOf(node, run_.rounds)]);
    }
    ++run_.rounds;
    Note();
    if (each_round) each_round(run_);
  }
  return std::move(run_);
}

}  // namespace

ClusterRun RunCluster(
    const ClusterOptions& options,
    const std::function<void(const ClusterRun&)>& each_round) {
  return Cluster(options).Run(each_round);
}

std::string NameOf(ExchangeMode mode) {
  return mode == ExchangeMode::kAdaptive ? "adaptive" : "bloom";
}

std::string NameOf(Pairing pairing) {
  return pairing == Pairing::kNeighbours ? "neighbours" : "random";
}

}  // namespace rocksync
