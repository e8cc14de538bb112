#include "replication/session/exchange_series.h"

#include <numeric>
#include <string>
#include <utility>

#include "sketch/element/coding.h"
#include "sketch/element/sha256.h"

namespace rocksync {
namespace {

// A session over many leaf batches need not explain them all.
constexpr size_t kMaxPlanText = 500;

}  // namespace

MappingSeed ExchangeSeed(const SessionSeed& seed, uint64_t exchange) {
  std::string numbers;
  PutFixed64(&numbers, seed.session_number);
  PutFixed64(&numbers, exchange);
  return Sha256({"rocksync exchange", AsPiece(seed.dialer_nonce),
                 AsPiece(seed.listener_nonce), numbers});
}

void ExchangeSeries::Begin(Role role, std::span<const ElementHash> mine,
                           uint64_t peer_count, bool again) {
  const double expected = std::exchange(expected_, 0);
  if (mine.empty() || peer_count == 0) {  // both sides know the answer
    known_.emplace(Candidates{std::vector<uint32_t>(mine.size()), true, 0, {}});
    std::iota(known_->missing_there.begin(), known_->missing_there.end(), 0);
    return;
  }
  ++report_->rounds;
  ExchangeOptions options = options_;
  options.expected_differences = again ? expected_left_ : expected;
  options.retry = again && expected_left_ > 0;
  exchange_ = NewExchange(role, options, ExchangeSeed(seed_, begun_++), mine,
                          peer_count);
}

void ExchangeSeries::BeginSearch(Role role, std::span<const Digest> leaves,
                                 const std::vector<bool>& closed,
                                 uint64_t initiator, double most) {
  ++report_->rounds;
  const LeafSearchOptions options{.prefer = options_.prefer,
                                  .per_leaf = initiator / leaves.size(),
                                  .most = most};
  auto search = std::make_unique<LeafSearch>(
      role, options, ExchangeSeed(seed_, begun_++), leaves, closed);
  search_ = search.get();
  exchange_ = std::move(search);
}

void ExchangeSeries::Stop() {
  EndSearch();
  Explain(exchange_->report());
  exchange_.reset();
}

void ExchangeSeries::EndSearch() {
  if (search_ == nullptr) return;
  symbol_key_ = {search_->symbol_key(), search_->symbol_bits()};
  search_ = nullptr;
}

absl::Status ExchangeSeries::Receive(std::string_view payload) {
  return exchange_->Receive(payload);
}

void ExchangeSeries::Build(Turn* turn) {
  std::string payload;
  while (!turn->full() && exchange_->NextPayload(&payload)) {
    turn->Add(MessageType::kPayload, payload);
    payload.clear();
  }
}

std::optional<Candidates> ExchangeSeries::TakeCandidates() {
  if (known_) return std::exchange(known_, std::nullopt);
  if (!exchange_->done()) return std::nullopt;
  std::vector<LeafDifference> by_leaf;
  if (search_ != nullptr) by_leaf = search_->differences();
  EndSearch();
  const std::unique_ptr<Exchange> exchange = std::move(exchange_);
  const ExchangeReport& report = exchange->report();
  expected_left_ = report.expected_left;
  Explain(report);
  return Candidates{exchange->missing_there(), report.finish_bytes > 0,
                    report.estimated_differences, std::move(by_leaf)};
}

void ExchangeSeries::Explain(const ExchangeReport& report) {
  if (report_->plan.size() >= kMaxPlanText) return;
  if (!report_->plan.empty()) report_->plan += "; ";
  report_->plan += rocksync::Explain(report);
}

}  // namespace rocksync
