// Two sessions in one process, message by message, and the messages they
// exchange as text that can be read and compared.

#ifndef ROCKSYNC_TESTS_SIMULATION_CONVERSATION_H_
#define ROCKSYNC_TESTS_SIMULATION_CONVERSATION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "replication/session/session.h"

namespace rocksync {

// One message as a line of text, without its digests' values and payloads'
// bytes: "Offers, last, idle: default/k1@5.1 16 bytes (31 bytes)".
std::string Describe(std::string_view message);

struct SessionRunOptions {
  SessionOptions initiator;
  SessionOptions responder;
  SessionSeed seed = {};
  bool responder_busy = false;
  const VerifyTask* verify = nullptr;  // of the initiator: only compare
  bool verify_only = false;            // of the responder
  std::function<uint64_t()> now_ms = [] { return uint64_t{0}; };
  std::function<bool()> cancelled;
  // Sees every message on its way and may change it; empty: drop the
  // connection there.
  std::function<void(Role from, std::string* message)> tamper;
  // Hears of the progress of both.
  std::function<void(Role of, const SessionReport& report)> progress;
  // Called after each turn.
  std::function<void()> between_turns;
};

struct SessionRunResult {
  absl::Status initiator_status;
  absl::Status responder_status;
  SessionReport initiator;
  SessionReport responder;
  bool finished = false;  // both sessions are over, by themselves
  uint64_t bytes = 0;     // of all messages, each with its frame's length
  std::vector<std::string> transcript;

  bool proven() const {
    return initiator.proven_equal && responder.proven_equal;
  }
};

SessionRunResult DriveSession(StorageView* initiator, StorageView* responder,
                              const SessionRunOptions& options = {});

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SIMULATION_CONVERSATION_H_
