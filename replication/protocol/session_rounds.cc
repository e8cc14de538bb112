// Spans, and the rounds that work them off: an exchange finds candidates,
// shipping settles them.

#include <numeric>
#include <utility>

#include "absl/status/statusor.h"
#include "replication/protocol/listing.h"
#include "replication/protocol/session_impl.h"
#include "replication/protocol/shipping.h"
#include "sketch/coding.h"
#include "sketch/sha256.h"

namespace rocksync {
namespace {

// A session over many leaf batches need not explain them all.
constexpr size_t kMaxPlanText = 500;

MappingSeed DeriveSeed(const SessionSeed& seed, uint64_t exchange) {
  std::string numbers;
  PutFixed64(&numbers, seed.session_number);
  PutFixed64(&numbers, exchange);
  return Sha256({"rocksync exchange", AsPiece(seed.dialer_nonce),
                 AsPiece(seed.listener_nonce), numbers});
}

}  // namespace

absl::Status SessionImpl::Choose() {
  // Never before one batch is done, or sessions that take long to find out
  // where they differ would expire one after the other.
  if (Expired() && report_.batches > 0) {
    Finish(EndReason::kExpired);
    return absl::OkStatus();
  }
  leaves_ = location_->NextBatch(peer_total_, options_.max_batch_elements);
  if (leaves_.empty()) return Summarise(Scope::kTotal);
  Propose();
  return absl::OkStatus();
}

void SessionImpl::Propose() {
  std::string body;
  EncodeBatch({leaves_, location_->Sum(leaves_)}, &body);
  turn_->Add(MessageType::kBatch, body);
  scope_ = Scope::kBatch;
  stage_ = Stage::kAwaiting;
}

absl::Status SessionImpl::LoadBatch() {
  const Digest& all = location_->total();
  if (all.count > kMaxExchangeElements &&
      location_->Sum(leaves_).count > kMaxExchangeElements) {
    return absl::ResourceExhaustedError("one leaf is too large to compare");
  }
  absl::StatusOr<LeafBatch> batch =
      LeafBatch::Load(*snapshot_, leaves_, context_.cancelled);
  if (!batch.ok()) return batch.status();
  batch_.emplace(*std::move(batch));
  report_.elements_compared += batch_->hashes().size();
  ++report_.batches;
  batch_rounds_ = 0;
  idle_rounds_ = 0;
  unsettled_ = false;
  return absl::OkStatus();
}

void SessionImpl::CloseBatch(const Digest& merged) {
  location_->Settle(leaves_, merged);
  leaves_.clear();
  batch_.reset();
  stage_ = Stage::kChoosing;
}

void SessionImpl::BeginExchange(Role role, std::span<const ElementHash> mine,
                                uint64_t peer_count, bool over_leaves) {
  exchange_over_leaves_ = over_leaves;
  if (!over_leaves) ++batch_rounds_;
  if (mine.empty() || peer_count == 0) {  // both sides know the answer
    std::vector<uint32_t> all(mine.size());
    std::iota(all.begin(), all.end(), 0);
    FinishExchange(std::move(all), true);
    return;
  }
  ++report_.rounds;
  ExchangeOptions options = exchange_options_;
  if (!over_leaves && batch_rounds_ > 1) {
    options.expected_differences = expected_left_;
  }
  exchange_ = NewExchange(role, options, DeriveSeed(seed_, exchanges_++), mine,
                          peer_count);
  stage_ = Stage::kExchanging;
}

absl::Status SessionImpl::ReceivePayload(std::string_view body) {
  if (stage_ != Stage::kExchanging) {
    return Malformed(MessageType::kPayload, "no exchange is running");
  }
  const absl::Status status = exchange_->Receive(body);
  if (!status.ok()) return status;
  if (exchange_->done()) TakeResult();
  return absl::OkStatus();
}

void SessionImpl::RunExchange() {
  std::string payload;
  while (!turn_->full() && exchange_->NextPayload(&payload)) {
    turn_->Add(MessageType::kPayload, payload);
    payload.clear();
  }
  if (exchange_->done()) TakeResult();
}

void SessionImpl::TakeResult() {
  const std::unique_ptr<Exchange> exchange = std::move(exchange_);
  const ExchangeReport& report = exchange->report();
  expected_left_ = report.expected_left;
  if (report_.plan.size() < kMaxPlanText) {
    if (!report_.plan.empty()) report_.plan += "; ";
    report_.plan += Explain(report);
  }
  FinishExchange(exchange->missing_there(), report.finish_bytes > 0);
}

void SessionImpl::FinishExchange(std::vector<uint32_t> missing_there,
                                 bool exact) {
  if (exchange_over_leaves_) {
    location_->Found(missing_there);
    stage_ = Stage::kChoosing;
    return;
  }
  work_ = NewWork(std::move(missing_there), exact);
  stage_ = Stage::kShipping;
}

std::unique_ptr<RoundWork> SessionImpl::NewWork(
    std::vector<uint32_t> missing_there, bool exact) {
  if (report_.verifying) return NewListing(std::move(missing_there));
  ShippingContext context;
  context.storage = context_.storage;
  context.snapshot = snapshot_.get();
  context.batch = &*batch_;
  context.cancelled = &context_.cancelled;
  context.options = &options_;
  context.report = &report_;
  context.peer_count = peer_count_;
  context.exact = exact;
  return std::make_unique<Shipping>(context, std::move(missing_there));
}

std::unique_ptr<RoundWork> SessionImpl::NewListing(
    std::vector<uint32_t> candidates) {
  ListingContext context;
  context.role = role_;
  context.storage = context_.storage;
  context.snapshot = snapshot_.get();
  context.cancelled = &context_.cancelled;
  context.report = &report_;
  context.task = context_.verify;
  context.enough = &enough_;
  context.batch = batch_ ? &*batch_ : nullptr;
  context.peer_count = peer_count_;
  return std::make_unique<Listing>(context, std::move(candidates));
}

absl::Status SessionImpl::Ship() {
  if (keys_only_ && Expired()) {
    Finish(EndReason::kExpired);
    return absl::OkStatus();
  }
  // What travels is durable here first: nobody knows what its sender may lose
  // (design.md, "Tombstone garbage collection").
  absl::Status status =
      synced_pairs_.has_value() ? absl::OkStatus() : MakeDurable();
  if (status.ok()) status = work_->Build(&*turn_);
  if (!status.ok() || !work_->complete()) return status;
  if (keys_only_) {
    if (role_ == Role::kInitiator) {
      report_.compared = true;
      Finish(EndReason::kEnough);
    }
    return absl::OkStatus();
  }
  EndRound();
  return Summarise(Scope::kBatch);
}

void SessionImpl::EndRound() {
  unsettled_ |= work_->unsettled();
  idle_rounds_ = work_->entries() > 0 ? 0 : idle_rounds_ + 1;
  work_.reset();
}

}  // namespace rocksync
