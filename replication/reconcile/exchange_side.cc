#include "replication/reconcile/exchange_side.h"

#include <algorithm>
#include <utility>

#include "replication/reconcile/exchange_parities.h"
#include "sketch/element/coding.h"
#include "sketch/filter/distributed_bloom_filter.h"
#include "sketch/planning/cost_model.h"

namespace rocksync {
namespace {

// Sets with fewer elements are not searched for leaves. Small differences among
// them come to an estimate, which should then be small, too.
constexpr uint64_t kFewestKeysEstimated = uint64_t{1} << 18;

// Returns the size of the longest message, filters aside: power sums for all
// possible elements, and some room for its head.
uint64_t MaxMessageBytes(uint64_t mine, uint64_t theirs) {
  return 4096 + 8 * (mine + std::min<uint64_t>(theirs, kMaxKeyedElements));
}

}  // namespace

ExchangeSide::ExchangeSide(Role role, const ExchangeContext& context)
    : role_(role),
      options_(context.options),
      seed_(context.seed),
      mine_(context.mine),
      positions_(context.positions),
      own_count_(context.own_count),
      peer_count_(context.peer_count),
      outbox_(options_.max_payload_bytes),
      inbox_(MaxMessageBytes(mine_.size(), peer_count_)),
      filtered_(mine_.size(), false) {
  if (own_count_ == 0 || peer_count_ == 0) {
    report_.plan = "one side is empty";
    std::vector<uint32_t> all(mine_.size());
    for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    End(std::move(all));
  }
}

bool ExchangeSide::Speaking() const {
  return !outbox_.empty() || filter_out_ != nullptr;
}

bool ExchangeSide::NextPayload(std::string* out) {
  if (!Speaking()) return false;
  const size_t before = out->size();
  if (!outbox_.empty()) {
    out->append(outbox_.Pop());
    report_.sketch_bytes += out->size() - before;
    return true;
  }
  if (!filter_sent_) {
    filter_sent_ = true;
    PutFixed8(out, static_cast<uint8_t>(ExchangeKind::kFilter));
    PutFilterHead({.found = found_by_filter_,
                   .slots = filter_out_->slots(),
                   .slices = filter_out_->slices()},
                  out);
  } else {
    PutFixed8(out, static_cast<uint8_t>(ExchangeKind::kSlice));
  }
  filter_out_->Next(out);
  if (filter_out_->done()) filter_out_.reset();
  report_.filter_bytes += out->size() - before;
  return true;
}

absl::Status ExchangeSide::Receive(std::string_view payload) {
  if (ended_) return absl::InvalidArgumentError("payload after the end");
  const size_t size = payload.size();
  bool complete = false;
  const absl::Status status = inbox_.Add(payload, &complete);
  if (!status.ok()) return status;
  const ExchangeKind kind = inbox_.kind();
  if (kind == ExchangeKind::kFilter || kind == ExchangeKind::kSlice) {
    report_.filter_bytes += size;
    if (!complete) return absl::InvalidArgumentError("filter slice cut");
    return ReceiveFilter(kind, inbox_.body());
  }
  report_.sketch_bytes += size;
  if (filter_in_ != nullptr) {
    return absl::InvalidArgumentError("filter interrupted");
  }
  return complete ? OnMessage(kind, inbox_.body()) : absl::OkStatus();
}

absl::Status ExchangeSide::ReceiveFilter(ExchangeKind kind,
                                         std::string_view body) {
  if (kind == ExchangeKind::kFilter) {
    if (filter_received_) {
      return absl::InvalidArgumentError("a second filter");
    }
    filter_received_ = true;
    const absl::Status status = GetFilterHead(&body, &filter_in_head_);
    if (!status.ok()) return status;
    if (filter_in_head_.slots == 0) return OnFilter(filter_in_head_);
    const Role peer =
        role_ == Role::kInitiator ? Role::kResponder : Role::kInitiator;
    filter_in_ = std::make_unique<FilterTester>(
        mine_, FilterKey(peer), filter_in_head_.slots, filter_in_head_.slices);
  } else if (filter_in_ == nullptr) {
    return absl::InvalidArgumentError("filter slice without a filter");
  }
  const absl::Status status = filter_in_->Test(body, &filtered_);
  if (!status.ok()) return status;
  if (!filter_in_->done()) return absl::OkStatus();
  received_rate_ = static_cast<double>(filter_in_->set_slots()) /
                   static_cast<double>(filter_in_head_.slots);
  filter_in_.reset();
  found_by_filter_ = static_cast<uint64_t>(
      std::count(filtered_.begin(), filtered_.end(), true));
  open_.reset();  // a sketch compares fewer elements now
  return OnFilter(filter_in_head_);
}

MappingKey ExchangeSide::FilterKey(Role sender) const {
  return DeriveMapping(seed_, kFilterPurpose,
                       sender == Role::kInitiator ? 0 : kMaxProbes);
}

void ExchangeSide::Send(ExchangeKind kind, std::string_view body) {
  outbox_.Push(kind, body);
}

void ExchangeSide::SendFilter(double rate) {
  if (rate >= 1 || open_count() == 0) {
    filter_sent_ = true;
    std::string body;
    PutFilterHead({.found = found_by_filter_}, &body);
    Send(ExchangeKind::kFilter, body);
    return;
  }
  filter_out_ = std::make_unique<FilterSender>(
      mine_, filtered_, FilterKey(role_), FilterSlots(open_count(), rate),
      options_.max_payload_bytes);
}

void ExchangeSide::Close(const std::vector<uint32_t>& ordinals) {
  for (const uint32_t ordinal : ordinals) filtered_[ordinal] = true;
  found_by_filter_ = static_cast<uint64_t>(
      std::count(filtered_.begin(), filtered_.end(), true));
  open_.reset();  // a sketch compares fewer elements now
}

void ExchangeSide::End(std::vector<uint32_t> found) {
  for (uint32_t i = 0; found_by_filter_ > 0 && i < filtered_.size(); ++i) {
    if (filtered_[i]) found.push_back(i);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  missing_ = std::move(found);
  ended_ = true;
}

ParityShape ExchangeSide::EstimateShape() const {
  return ShapeParities(own_count_ + peer_count_, hurry() ? 64 : 32);
}

bool ExchangeSide::EstimatesFinely() const {
  return !hurry() && std::max(own_count_, peer_count_) -
                             std::min(own_count_, peer_count_) >=
                         kLeastLack;
}

FineShape ExchangeSide::FineEstimateShape() const {
  return ShapeFine(std::max(own_count_, peer_count_) -
                   std::min(own_count_, peer_count_));
}

size_t ExchangeSide::EstimateBytes() const {
  return EstimateShape().bytes() +
         (EstimatesFinely() ? FineEstimateShape().bytes() : 0) +
         (EstimatesKeys() ? KeyEstimateShape().bytes() : 0);
}

std::string ExchangeSide::EstimateParities() const {
  std::string parities = Parities(
      mine_, DeriveMapping(seed_, kEstimatePurpose, 0), EstimateShape());
  if (EstimatesFinely()) {
    parities += FineParities(mine_, DeriveMapping(seed_, kEstimatePurpose, 1),
                             FineEstimateShape());
  }
  if (EstimatesKeys()) parities += KeyEstimateParities();
  return parities;
}

bool ExchangeSide::EstimatesKeys() const {
  return has_keys() && own_count_ + peer_count_ >= kFewestKeysEstimated;
}

ParityShape ExchangeSide::KeyEstimateShape() const {
  return ShapeParities(own_count_ + peer_count_, 16);
}

std::string ExchangeSide::KeyEstimateParities() const {
  std::vector<ElementHash> keys;
  keys.reserve(positions_.size());
  for (const uint64_t position : positions_) {
    keys.push_back({position, position});
  }
  return Parities(keys, DeriveMapping(seed_, kEstimatePurpose, 2),
                  KeyEstimateShape());
}

KeyedSet* ExchangeSide::open() {
  if (open_ == nullptr) {
    open_ = std::make_unique<KeyedSet>(
        mine_, DeriveMapping(seed_, kShortIdPurpose, 0));
    if (found_by_filter_ > 0) open_->Remove(filtered_);
  }
  return open_.get();
}

}  // namespace rocksync
