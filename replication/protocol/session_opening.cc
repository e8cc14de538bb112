// How a session opens: the hello, and the answer to it.

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/statusor.h"
#include "replication/protocol/session_impl.h"

namespace rocksync {

absl::Status SessionImpl::TakeSnapshot() {
  absl::StatusOr<std::unique_ptr<StorageSnapshot>> snapshot =
      context_.storage->TakeSnapshot(context_.cancelled);
  if (!snapshot.ok()) return snapshot.status();
  snapshot_ = *std::move(snapshot);
  started_ms_ = context_.now_ms();
  location_.emplace(snapshot_->LeafDigests());
  report_.elements = location_->total().count;
  report_.left_out = snapshot_->LeftOut();
  return absl::OkStatus();
}

absl::Status SessionImpl::Open() {
  const absl::Status status = TakeSnapshot();
  if (!status.ok()) return status;
  Hello hello;
  hello.digest = location_->total();
  if (context_.verify != nullptr) {
    report_.verifying = true;
    hello.verify = true;
    hello.keys_only = keys_only_ = !context_.verify->keys.empty();
    exchange_options_.mode = ExchangeMode::kAdaptive;
  }
  hello.prefer_round_trips = exchange_options_.prefer == Prefer::kRoundTrips;
  hello.bloom = exchange_options_.mode == ExchangeMode::kBloom;
  if (hello.bloom) {
    const double rate = exchange_options_.false_positive_rate * 65536;
    hello.false_positive_rate =
        static_cast<uint16_t>(std::clamp(std::lround(rate), 1l, 65535l));
    exchange_options_.false_positive_rate = hello.false_positive_rate / 65536.0;
  }
  hello.left_out = report_.left_out;
  hello.batches = hello.digest.count > options_.max_batch_elements;
  std::string body;
  uint8_t flags = 0;
  EncodeHello(hello, &body, &flags);
  turn_->Add(MessageType::kHello, body, flags);
  scope_ = Scope::kHello;
  stage_ = Stage::kAwaiting;
  if (keys_only_) {  // the claims follow in the next turn
    work_ = NewListing({});
    stage_ = Stage::kShipping;
  }
  return absl::OkStatus();
}

absl::Status SessionImpl::ReceiveHello(std::string_view body, uint8_t flags) {
  if (role_ != Role::kResponder || stage_ != Stage::kOpening) {
    return Malformed(MessageType::kHello, "in the middle of a session");
  }
  Hello hello;
  const absl::Status status = DecodeHello(body, flags, &hello);
  if (!status.ok()) return status;
  if (context_.verify_only && !hello.verify) {
    return Malformed(MessageType::kHello,
                     "only comparing is allowed over this connection");
  }
  report_.verifying = hello.verify;
  keys_only_ = hello.keys_only;
  // The initiator's wishes bind both sides.
  exchange_options_.prefer =
      hello.prefer_round_trips ? Prefer::kRoundTrips : Prefer::kBytes;
  exchange_options_.mode =
      hello.bloom ? ExchangeMode::kBloom : ExchangeMode::kAdaptive;
  if (hello.bloom) {
    exchange_options_.false_positive_rate = hello.false_positive_rate / 65536.0;
  }
  peer_digest_ = hello.digest;
  peer_total_ = hello.digest.count;
  report_.peer_left_out = hello.left_out;
  locating_ = hello.batches || peer_total_ > options_.max_batch_elements;
  scope_ = Scope::kHello;
  stage_ = Stage::kAnswering;
  return absl::OkStatus();
}

absl::Status SessionImpl::AnswerHello() {
  if (context_.busy) {
    Finish(EndReason::kBusy, context_.busy_why);
    return absl::OkStatus();
  }
  const absl::Status status = TakeSnapshot();
  if (absl::IsUnavailable(status)) {
    const absl::string_view text = status.message();
    Finish(EndReason::kUnavailable, std::string_view(text.data(), text.size()));
    return absl::OkStatus();
  }
  if (!status.ok()) return status;
  if (keys_only_) {
    work_ = NewListing({});
    stage_ = Stage::kShipping;
    return absl::OkStatus();
  }
  const Digest& mine = location_->total();
  if (mine == peer_digest_) {
    report_.elements_compared += mine.count;
    return SayEqual();
  }
  locating_ |= mine.count > options_.max_batch_elements;
  if (locating_) {
    Locate();
    return absl::OkStatus();
  }
  leaves_ = location_->AllLeaves();
  return Differ();
}

}  // namespace rocksync
