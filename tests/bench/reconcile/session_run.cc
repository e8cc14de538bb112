#include "tests/bench/reconcile/session_run.h"

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "replication/session/messages.h"
#include "replication/session/pair_coding.h"
#include "sketch/element/coding.h"
#include "tests/bench/reconcile/thread_clock.h"

namespace rocksync::bench {
namespace {

struct Content {
  uint64_t bytes = 0;  // keys, versions and values
  uint64_t pairs = 0;
};

Content ContentOfPairs(MessageType type, std::string_view body) {
  PairDecoder decoder(type, body);
  VersionEncoder versions;
  std::string encoded;
  Content content;
  while (!decoder.done()) {
    WirePair pair;
    if (!decoder.Next(&pair).ok()) return {};
    versions.Add(pair.version, &encoded);
    content.bytes += pair.key.size() + pair.value.size();
    ++content.pairs;
  }
  content.bytes += encoded.size();
  return content;
}

uint64_t ContentOfValues(std::string_view body) {
  uint64_t bytes = 0;
  uint64_t size = 0;  // and 1; 0 if it does not read
  std::string_view value;
  while (GetVarint64(&body, &size)) {
    if (size == 0) continue;
    if (!GetBytes(&body, size - 1, &value)) break;
    bytes += size - 1;
  }
  return bytes;
}

bool IsShipping(MessageType type) {
  return type == MessageType::kOffers || type == MessageType::kWants ||
         type == MessageType::kValues || type == MessageType::kChunk ||
         type == MessageType::kPairs;
}

Content ContentOf(MessageType type, std::string_view body) {
  switch (type) {
    case MessageType::kOffers:
    case MessageType::kPairs:
      return ContentOfPairs(type, body);
    case MessageType::kValues:
      return {ContentOfValues(body), 0};
    case MessageType::kChunk:
      return {body.size(), 0};
    default:
      return {};
  }
}

class Run {
 public:
  Run(StorageView* a, StorageView* b, const SessionOptions& options,
      uint64_t seed) {
    SessionSeed nonces = {};
    for (int i = 0; i < 8; ++i) {
      nonces.dialer_nonce[i] = static_cast<uint8_t>(seed >> (8 * i));
    }
    StorageView* const storages[2] = {a, b};
    for (int side = 0; side < 2; ++side) {
      SessionContext context;
      context.storage = storages[side];
      context.now_ms = [] { return uint64_t{0}; };
      sessions_[side] =
          NewSession(side == 0 ? Role::kInitiator : Role::kResponder, options,
                     nonces, context);
    }
  }

  SessionCost Go(const std::function<void()>& between_turns) {
    bool spoke = true;
    for (int side = 0; spoke || side == 1; side ^= 1) {
      if (side == 0) spoke = false;
      bool flight = false;
      bool finding = false;
      std::string message;
      while (Next(side, &message)) {
        Note(side, /*begins=*/!flight, message);
        flight = true;
        finding |= Count(side, message);
        if (!Receive(side ^ 1, message)) return cost_;
      }
      spoke |= flight;
      cost_.round_trips += flight ? 0.5 : 0;
      cost_.finding_round_trips += finding ? 0.5 : 0;
      if (between_turns) between_turns();
    }
    EndNote();
    for (int side = 0; side < 2; ++side) {
      cost_.report[side] = sessions_[side]->report();
      if (!sessions_[side]->status().ok()) Complain(side);
    }
    cost_.proven = cost_.report[0].proven_equal && cost_.report[1].proven_equal;
    return cost_;
  }

 private:
  bool Next(int side, std::string* message) {
    const double start = ThreadCpuMs();
    const bool more = sessions_[side]->NextMessage(message);
    if (!more) sessions_[side]->ReadAhead();
    cost_.cpu_ms[side] += ThreadCpuMs() - start;
    return more;
  }

  bool Receive(int side, std::string_view message) {
    const double start = ThreadCpuMs();
    const absl::Status status = sessions_[side]->Receive(message);
    cost_.cpu_ms[side] += ThreadCpuMs() - start;
    if (!status.ok()) Complain(side);
    return status.ok();
  }

  // Neighbours of one type are one entry.
  void Note(int side, bool begins, std::string_view message) {
    const auto type = static_cast<MessageType>(message[0] & kTypeMask);
    if (!begins && type == noted_) {
      noted_bytes_ += message.size();
    } else {
      EndNote();
      noted_ = type;
      noted_bytes_ = message.size();
      if (begins) {
        cost_.turns += cost_.turns.empty() ? "" : "; ";
        cost_.turns += side == 0 ? "a: " : "b: ";
      } else {
        cost_.turns += ", ";
      }
      cost_.turns += MessageName(type);
    }
  }
  void EndNote() {
    if (noted_bytes_ > 0) cost_.turns += " " + std::to_string(noted_bytes_);
    noted_bytes_ = 0;
  }

  // Whether it is more than shipping.
  bool Count(int side, std::string_view message) {
    std::string frame;
    PutVarint64(&frame, message.size());
    const uint64_t bytes = frame.size() + message.size();
    const auto type = static_cast<MessageType>(message[0] & kTypeMask);
    if (!IsShipping(type)) {
      cost_.finding_bytes[side] += bytes;
      return type != MessageType::kPass;
    }
    const Content content = ContentOf(type, message.substr(1));
    cost_.content_bytes += content.bytes;
    cost_.offered += content.pairs;
    cost_.shipping_bytes[side] += bytes - content.bytes;
    return false;
  }

  void Complain(int side) const {
    std::fprintf(stderr, "%s: %s\n", side == 0 ? "a" : "b",
                 sessions_[side]->status().ToString().c_str());
  }

  std::unique_ptr<Session> sessions_[2];
  SessionCost cost_;
  MessageType noted_ = MessageType::kHello;
  size_t noted_bytes_ = 0;  // of the latest entry of cost_.turns
};

}  // namespace

SessionCost RunSession(StorageView* a, StorageView* b,
                       const SessionOptions& options, uint64_t seed,
                       const std::function<void()>& between_turns) {
  return Run(a, b, options, seed).Go(between_turns);
}

}  // namespace rocksync::bench
