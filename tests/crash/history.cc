#include "tests/crash/history.h"

#include <algorithm>

namespace rocksync::crash {
namespace {

bool ManyWrite(uint32_t key) {
  return ClassOf(key) == kReplicasShareClass ||
         ClassOf(key) % kClassesPerReplica == kThreadsShareClass;
}

std::string Describe(const std::optional<uint64_t>& writer) {
  return writer ? "the value of write " + std::to_string(*writer) : "no pair";
}

}  // namespace

std::vector<std::string> Differences(const Pairs& a, const Pairs& b) {
  std::vector<std::string> wrong;
  const auto compare = [&](const Pairs& one, const Pairs& other) {
    for (const auto& [key, value] : one) {
      const auto match = other.find(key);
      if (match != other.end() && match->second == value) continue;
      if (wrong.size() == kMaxComplaints) return;
      wrong.push_back(KeyName(key) + " differs");
    }
  };
  compare(a, b);
  compare(b, a);
  return wrong;
}

void History::Began(const Operation& operation) {
  Write& write = writes_[operation.id];
  write.operation = operation;
  write.began = ++now_;
  for (const Change& change : operation.changes) {
    if (!Owns(change.key)) continue;
    std::vector<State>& states = states_[change.key];
    if (states.empty()) states.push_back({});
    states.push_back({&write, change.deleted
                                  ? std::nullopt
                                  : std::optional<uint64_t>(operation.id)});
  }
}

void History::Acknowledged(uint64_t id) {
  const auto it = writes_.find(id);
  if (it == writes_.end()) return;
  it->second.done = ++now_;
  ++acknowledged_;
  if (!it->second.operation.sync) return;
  ++acknowledged_synced_;
  latest_synced_began_ = std::max(latest_synced_began_, it->second.began);
}

bool History::MustBeThere(const Write& write, Loss loss) const {
  if (write.done == kNever) return false;
  if (loss == Loss::kNone || write.operation.sync) return true;
  // The log is synced from its beginning.
  return write.done < latest_synced_began_;
}

void History::CheckKey(uint32_t key, const std::vector<State>& states,
                       const Pairs& found, Loss loss,
                       std::vector<std::string>* wrong) const {
  uint64_t latest_must = 0;
  const Write* must = nullptr;
  for (const State& state : states) {
    if (state.write != nullptr && MustBeThere(*state.write, loss) &&
        state.began() >= latest_must) {
      latest_must = state.began();
      must = state.write;
    }
  }
  std::optional<uint64_t> writer;
  const auto pair = found.find(key);
  if (pair != found.end()) {
    writer = WriterOf(key, pair->second);
    if (!writer) {
      wrong->push_back(KeyName(key) + ": its value is not what was written");
      return;
    }
  }
  const bool legal =
      std::any_of(states.begin(), states.end(), [&](const State& state) {
        return state.value == writer && state.done() >= latest_must;
      });
  if (legal) return;
  wrong->push_back(
      KeyName(key) + ": found " + Describe(writer) + ", but " +
      (must == nullptr
           ? "nobody wrote that"
           : "acknowledged write " + std::to_string(must->operation.id) +
                 (must->operation.sync ? " (synced)" : "") + " is lost"));
}

void History::CheckWhole(const Write& write, const Pairs& found,
                         std::vector<std::string>* wrong) const {
  size_t there = 0;
  size_t all = 0;
  for (const Change& change : write.operation.changes) {
    if (change.deleted || ManyWrite(change.key)) continue;
    ++all;
    const auto pair = found.find(change.key);
    if (pair != found.end() &&
        WriterOf(change.key, pair->second) == write.operation.id) {
      ++there;
    }
  }
  if (there == 0 || there == all) return;
  wrong->push_back("write " + std::to_string(write.operation.id) + ": " +
                   std::to_string(there) + " of its " + std::to_string(all) +
                   " pairs are there; a batch is there as a whole or not");
}

std::vector<std::string> History::Check(const Pairs& found, Loss loss) const {
  std::vector<std::string> wrong;
  for (const auto& [key, states] : states_) {
    CheckKey(key, states, found, loss, &wrong);
  }
  for (const auto& [key, value] : found) {
    if (Owns(key) && states_.count(key) == 0) {
      wrong.push_back(KeyName(key) + ": nobody wrote it");
    }
  }
  for (const auto& [id, write] : writes_) {
    if (write.done == kNever) CheckWhole(write, found, &wrong);
  }
  if (wrong.size() > kMaxComplaints) {
    const size_t more = wrong.size() - kMaxComplaints;
    wrong.resize(kMaxComplaints);
    wrong.push_back("and " + std::to_string(more) + " more");
  }
  return wrong;
}

void History::Restart(const Pairs& found) {
  for (auto& [key, states] : states_) {
    State state;
    const auto pair = found.find(key);
    if (pair != found.end()) state.value = WriterOf(key, pair->second);
    states.assign(1, state);
  }
  writes_.clear();
  latest_synced_began_ = 0;
}

}  // namespace rocksync::crash
