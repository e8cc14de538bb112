#include "replication/session/exchange_series.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "sketch/element/coding.h"
#include "sketch/element/sha256.h"

namespace rocksync {
namespace {

// Bytes of explanations from which on further exchanges are not explained, as
// in a session over many leaf batches.
constexpr size_t kMaxPlanText = 500;
// Overwritten keys per element: each key has two elements.
constexpr double kMostlyOverwritten = 0.5;
// Bits that a search for leaves takes for each leaf that differs.
constexpr double kSearchedAgainBits = 25;
// Standard errors of the expectation from a search that took all leaves: of
// overwritten keys, and of new ones, by the fine estimate.
constexpr double kErrorOfEstimate = 0.3;
constexpr double kErrorOfFineEstimate = 0.1;
// Passes over a sketch in a session that has searched for leaves: what two
// passes leave is left to the next exchange, which comes anyway.
constexpr uint32_t kPassesAfterSearch = 2;
// Most differences that ExpectFew adds: where few leaves are left, each has
// three differing elements more often than one.
constexpr double kMoreThanCountsTell = 16;

}  // namespace

MappingSeed ExchangeSeed(const SessionSeed& seed, uint64_t exchange) {
  std::string numbers;
  PutFixed64(&numbers, seed.session_number);
  PutFixed64(&numbers, exchange);
  return Sha256({"rocksync exchange", AsPiece(seed.dialer_nonce),
                 AsPiece(seed.listener_nonce), numbers});
}

void ExchangeSeries::ExpectFound(const Expectation& expected) {
  next_.expected_differences = expected.differences;
  next_.expected_overwritten = expected.overwritten;
  next_.later_bits = kSearchedAgainBits;
}

void ExchangeSeries::ExpectFew(const Expectation& expected) {
  next_.expected_differences =
      expected.differences +
      std::min(expected.differences, kMoreThanCountsTell);
  next_.retry = true;
}

void ExchangeSeries::ExpectMany() { next_.many_differ = true; }

void ExchangeSeries::ExpectAbout(const Expectation& expected, bool learned) {
  next_.expected_differences = expected.differences;
  next_.expected_overwritten = expected.overwritten;
  if (learned) return;
  next_.expected_error =
      expected.overwritten > 0 ? kErrorOfEstimate : kErrorOfFineEstimate;
  if (expected.overwritten > 0 || !seem_overwritten_) return;
  // The peer counted keys, by leaves of which it does not know how they differ.
  next_.expected_differences = 2 * expected.differences;
  next_.expected_overwritten = expected.differences;
}

void ExchangeSeries::Begin(Role role, std::span<const ElementHash> mine,
                           std::span<const uint64_t> positions,
                           uint64_t peer_count, bool again,
                           std::optional<uint64_t> own_count) {
  ExchangeOptions options = std::exchange(next_, options_);
  // If either side is empty, both know the answer.
  if (own_count.value_or(mine.size()) == 0 || peer_count == 0) {
    expected_left_ = 0;
    known_.emplace(
        Candidates{std::vector<uint32_t>(mine.size()), true, {}, {}});
    std::iota(known_->missing_there.begin(), known_->missing_there.end(), 0);
    return;
  }
  ++report_->exchanges;
  if (searched_) options.passes = std::min(options.passes, kPassesAfterSearch);
  if (!again) overwritten_share_ = 0;
  if (again) {
    options.expected_differences = expected_left_;
    options.retry = expected_left_ > 0 && !leaves_keys_;
    if (leaves_keys_) options.expected_overwritten = expected_left_ / 2;
  }
  exchange_ = NewExchange(role, options, ExchangeSeed(seed_, begun_++), mine,
                          peer_count, positions, own_count);
}

void ExchangeSeries::BeginSearch(Role role, std::span<const Digest> leaves,
                                 const std::vector<bool>& closed,
                                 LeafSearchOptions options) {
  ++report_->exchanges;
  searched_ = true;
  options.prefer = options_.prefer;
  options.may_send_key_parities = may_send_parities();
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
  seem_overwritten_ = search_->seem_overwritten();
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
  leaves_keys_ = report.leaves_keys;
  if (leaves_keys_) overwritten_share_ = kMostlyOverwritten;
  Explain(report);
  return Candidates{
      exchange->missing_there(),
      report.sketch_bytes > 0 && !report.leaves_keys,
      {report.estimated_differences, report.estimated_overwritten},
      std::move(by_leaf)};
}

void ExchangeSeries::Explain(const ExchangeReport& report) {
  if (report_->plan.size() >= kMaxPlanText) return;
  if (!report_->plan.empty()) report_->plan += "; ";
  report_->plan += rocksync::Explain(report);
}

}  // namespace rocksync
