#include "replication/session/opening.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

namespace rocksync {
namespace {

// Returns the Hello but for what this side holds.
Hello WishesOf(const PartContext& context) {
  const ExchangeOptions& exchange = context.options->exchange;
  const VerifyTask* const task = context.session->verify;
  Hello hello;
  hello.verify = task != nullptr;
  hello.keys_only = task != nullptr && !task->keys.empty();
  hello.prefer_round_trips = exchange.prefer == Prefer::kRoundTrips;
  hello.bloom = !hello.verify && exchange.mode == ExchangeMode::kBloom;
  if (hello.bloom) {
    hello.false_positive_rate = static_cast<uint16_t>(std::clamp(
        std::lround(exchange.false_positive_rate * 65536), 1l, 65535l));
  }
  return hello;
}

// Returns the options with the initiator's wishes, which bind both sides.
ExchangeOptions Agreed(const Hello& hello, ExchangeOptions own) {
  own.prefer = hello.prefer_round_trips ? Prefer::kRoundTrips : Prefer::kBytes;
  own.mode = hello.bloom ? ExchangeMode::kBloom : ExchangeMode::kAdaptive;
  if (hello.bloom) {
    own.false_positive_rate = hello.false_positive_rate / 65536.0;
  }
  return own;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Comparison>> SessionOpening::SendHello(
    Turn* turn) {
  Hello hello = WishesOf(context_);
  absl::StatusOr<std::unique_ptr<Comparison>> comparison =
      Compare(Role::kInitiator, hello);
  if (!comparison.ok()) return comparison;
  hello.digest = (*comparison)->total();
  hello.left_out = context_.report->left_out;
  const size_t most = context_.options->max_batch_elements;
  hello.batches = hello.digest.count > most;
  hello.batch_bits = static_cast<uint8_t>(
      std::min<int>(kAssumedBatchBits, std::bit_width(most | 1) - 1));
  std::string body;
  uint8_t flags = 0;
  EncodeHello(hello, &body, &flags);
  turn->Add(MessageType::kHello, body, flags);
  return comparison;
}

absl::Status SessionOpening::ReceiveHello(std::string_view body,
                                          uint8_t flags) {
  Hello hello;
  const absl::Status status = DecodeHello(body, flags, &hello);
  if (!status.ok()) return status;
  if (context_.session->verify_only && !hello.verify) {
    return Malformed(MessageType::kHello,
                     "only comparing is allowed over this connection");
  }
  context_.report->verifying = hello.verify;
  context_.report->peer_left_out = hello.left_out;
  received_ = hello;
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Comparison>> SessionOpening::AcceptHello()
    const {
  return Compare(Role::kResponder, *received_);
}

absl::StatusOr<std::unique_ptr<Comparison>> SessionOpening::Compare(
    Role role, const Hello& hello) const {
  absl::StatusOr<SessionSnapshot> snapshot = SessionSnapshot::Take(context_);
  if (!snapshot.ok()) return snapshot.status();
  context_.report->verifying = hello.verify;
  ExchangeSeries exchanges(Agreed(hello, context_.options->exchange), seed_,
                           context_.report);
  return std::make_unique<Comparison>(
      role, context_, hello, std::move(exchanges), *std::move(snapshot));
}

}  // namespace rocksync
