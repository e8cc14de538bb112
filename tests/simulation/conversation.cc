#include "tests/simulation/conversation.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "replication/session/listing_coding.h"
#include "replication/session/messages.h"
#include "replication/session/pair_coding.h"
#include "sketch/element/coding.h"

namespace rocksync {
namespace {

absl::string_view View(std::string_view text) {
  return {text.data(), text.size()};
}

std::string DescribePairs(MessageType type, std::string_view body) {
  PairDecoder decoder(type, body);
  std::vector<std::string> parts;
  while (!decoder.done()) {
    WirePair pair;
    if (!decoder.Next(&pair).ok()) return "malformed";
    std::string text =
        absl::StrCat(pair.family, "/", absl::CEscape(View(pair.key)), "@",
                     WallMs(pair.version), ".", pair.version.time & 0xffff, ":",
                     pair.version.replica);
    switch (pair.kind) {
      case WirePair::Kind::kTombstone:
        text += " deleted";
        break;
      case WirePair::Kind::kOnRequest:
        absl::StrAppend(&text, " ", pair.value_size, " bytes");
        break;
      case WirePair::Kind::kWithValue:
        absl::StrAppend(&text, " = ",
                        absl::CEscape(View(pair.value.substr(0, 40))),
                        pair.value.size() > 40 ? "..." : "");
        break;
    }
    parts.push_back(std::move(text));
  }
  return absl::StrJoin(parts, ", ");
}

std::string DescribeHeld(const Held& held) {
  if (held.state == Held::State::kNothing) return "nothing";
  return absl::StrCat(WallMs(held.version), ".", held.version.time & 0xffff,
                      ":", held.version.replica,
                      held.state == Held::State::kTombstone ? " deleted" : "");
}

std::string DescribeClaims(std::string_view body) {
  ListingDecoder decoder(MessageType::kClaims, body);
  std::vector<std::string> parts;
  while (!decoder.done()) {
    Claim claim;
    if (!decoder.NextClaim(&claim).ok()) return "malformed";
    parts.push_back(absl::StrCat(claim.family, "/",
                                 absl::CEscape(View(claim.key)), "@",
                                 DescribeHeld(claim.held)));
  }
  return absl::StrJoin(parts, ", ");
}

std::string DescribeHoldings(std::string_view body) {
  ListingDecoder decoder(MessageType::kHoldings, body);
  std::vector<std::string> parts;
  while (!decoder.done()) {
    Held held;
    if (!decoder.NextHeld(&held).ok()) return "malformed";
    parts.push_back(DescribeHeld(held));
  }
  return absl::StrJoin(parts, ", ");
}

std::string DescribeValues(std::string_view body) {
  std::vector<std::string> parts;
  while (!body.empty()) {
    uint64_t size = 0;
    std::string_view value;
    if (!GetVarint64(&body, &size)) return "malformed";
    if (size == 0) {
      parts.push_back("unreadable");
      continue;
    }
    if (!GetBytes(&body, static_cast<size_t>(size - 1), &value)) {
      return "malformed";
    }
    parts.push_back(absl::StrCat(absl::CEscape(View(value.substr(0, 40))),
                                 value.size() > 40 ? "..." : ""));
  }
  return absl::StrJoin(parts, ", ");
}

std::string DescribeLeftOut(uint64_t left_out) {
  return left_out == 0 ? "" : absl::StrCat(", ", left_out, " left out");
}

std::string DescribeBody(MessageType type, uint8_t flags,
                         std::string_view body) {
  switch (type) {
    case MessageType::kHello: {
      Hello hello;
      if (!DecodeHello(body, flags, &hello).ok()) return "malformed";
      return absl::StrCat(
          hello.digest.count, " elements",
          hello.prefer_round_trips ? ", prefers round trips" : "",
          hello.bloom ? ", bloom" : "", hello.batches ? ", in batches" : "",
          hello.verify ? ", only compare" : "",
          hello.keys_only ? " some keys" : "", DescribeLeftOut(hello.left_out));
    }
    case MessageType::kSummary: {
      Summary summary;
      if (!DecodeSummary(body, &summary).ok()) return "malformed";
      return absl::StrCat((flags & kFlagTotal) != 0 ? "in all " : "",
                          summary.digest.count, " elements",
                          (flags & kFlagRefused) != 0 ? ", refused" : "",
                          DescribeLeftOut(summary.left_out));
    }
    case MessageType::kEqual: {
      uint64_t left_out = 0;
      if (!DecodeLeftOut(type, body, &left_out).ok()) return "malformed";
      return left_out == 0 ? "" : absl::StrCat(left_out, " left out");
    }
    case MessageType::kLeafBatch: {
      if ((flags & kFlagPureLeaves) != 0) return "pure leaves";
      LeafBatchHead batch;
      if (!DecodeLeafBatch(body, &batch).ok()) return "malformed";
      return absl::StrCat(batch.leaves.size(), " leaves from ",
                          batch.leaves.front(), " on, ", batch.digest.count,
                          " elements");
    }
    case MessageType::kDiffers:
    case MessageType::kLocate: {
      uint64_t count = 0;
      const bool locates = type == MessageType::kLocate;
      if (locates && flags == kFlagFiner) return "in finer leaves";
      if (!locates && flags == kFlagFailed) return "some were not found";
      if (!DecodeCount(type, body, &count).ok()) return "malformed";
      return absl::StrCat(count, " elements");
    }
    case MessageType::kEnd: {
      struct End end;
      if (!DecodeEnd(body, &end).ok()) return "malformed";
      return absl::StrCat("reason ", static_cast<int>(end.reason),
                          end.text.empty() ? "" : ", ", end.text);
    }
    case MessageType::kOffers:
    case MessageType::kPairs:
      return DescribePairs(type, body);
    case MessageType::kClaims:
      return DescribeClaims(body);
    case MessageType::kHoldings:
      return DescribeHoldings(body);
    case MessageType::kValues:
      return DescribeValues(body);
    case MessageType::kWants:
      return body.empty() ? "all" : absl::BytesToHexString(View(body));
    default:
      return "";
  }
}

class Talk {
 public:
  Talk(StorageView* initiator, StorageView* responder,
       const SessionRunOptions& options)
      : options_(options) {
    SessionContext context = Context(initiator, false);
    context.verify = options.verify;
    HearProgress(Role::kInitiator, &context);
    initiator_ =
        NewSession(Role::kInitiator, options.initiator, options.seed, context);
    context = Context(responder, options.responder_busy);
    context.verify_only = options.verify_only;
    HearProgress(Role::kResponder, &context);
    responder_ =
        NewSession(Role::kResponder, options.responder, options.seed, context);
  }

  SessionRunResult Run() {
    Session* speaker = initiator_.get();
    Session* listener = responder_.get();
    // A turn without a message means that nobody will speak again.
    while (Turn(speaker, listener)) {
      if (options_.between_turns) options_.between_turns();
      std::swap(speaker, listener);
    }
    result_.finished = initiator_->done() && responder_->done();
    result_.initiator_status = initiator_->status();
    result_.responder_status = responder_->status();
    result_.initiator = initiator_->report();
    result_.responder = responder_->report();
    return std::move(result_);
  }

 private:
  void HearProgress(Role role, SessionContext* context) const {
    if (!options_.progress) return;
    context->progress = [this, role](const SessionReport& report) {
      options_.progress(role, report);
    };
  }

  SessionContext Context(StorageView* storage, bool busy) const {
    SessionContext context;
    context.storage = storage;
    context.now_ms = options_.now_ms;
    context.cancelled = options_.cancelled;
    context.busy = busy;
    return context;
  }

  bool Turn(Session* speaker, Session* listener) {
    const Role from =
        speaker == initiator_.get() ? Role::kInitiator : Role::kResponder;
    std::string message;
    bool spoke = false;
    while (speaker->NextMessage(&message)) {
      spoke = true;
      if (options_.tamper) options_.tamper(from, &message);
      if (message.empty()) return false;
      result_.bytes += message.size() + (message.size() < 128 ? 1 : 2);
      result_.transcript.push_back(absl::StrCat(
          from == Role::kInitiator ? "-> " : "<- ", Describe(message)));
      if (!listener->Receive(message).ok()) return false;
    }
    speaker->ReadAhead();
    return spoke;
  }

  const SessionRunOptions& options_;
  std::unique_ptr<Session> initiator_;
  std::unique_ptr<Session> responder_;
  SessionRunResult result_;
};

}  // namespace

std::string Describe(std::string_view message) {
  if (message.empty()) return "nothing";
  const auto head = static_cast<uint8_t>(message[0]);
  const auto type = static_cast<MessageType>(head & kTypeMask);
  const auto flags = static_cast<uint8_t>(head & ~(kTypeMask | kLastOfTurn));
  const std::string body = DescribeBody(type, flags, message.substr(1));
  const bool idle =
      (flags & kFlagIdle) != 0 &&
      ((type >= MessageType::kPayload && type <= MessageType::kPairs) ||
       type == MessageType::kClaims || type == MessageType::kHoldings ||
       type == MessageType::kDiffers);
  return absl::StrCat(View(MessageName(type)), body.empty() ? "" : ": ", body,
                      " [", message.size(), "]", idle ? " idle" : "",
                      (head & kLastOfTurn) != 0 ? " ." : "");
}

SessionRunResult DriveSession(StorageView* initiator, StorageView* responder,
                              const SessionRunOptions& options) {
  return Talk(initiator, responder, options).Run();
}

}  // namespace rocksync
