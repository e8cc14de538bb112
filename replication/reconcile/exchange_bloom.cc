#include "replication/reconcile/exchange_bloom.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "replication/reconcile/exchange_header.h"
#include "sketch/element/coding.h"
#include "sketch/filter/distributed_bloom_filter.h"
#include "sketch/filter/places.h"

namespace rocksync {
namespace {

class BloomExchange final : public Exchange {
 public:
  BloomExchange(Role role, const ExchangeOptions& options,
                const MappingSeed& seed, std::span<const ElementHash> mine,
                uint64_t peer_count)
      : role_(role),
        options_(options),
        seed_(seed),
        mine_(mine),
        peer_count_(peer_count),
        missing_(mine.size(), false) {
    if (role_ == Role::kInitiator) BuildFilter();
  }

  bool NextPayload(std::string* out) override {
    if (sent_ == filter_.size()) return false;
    if (role_ == Role::kInitiator && sent_ == 0) {
      PutExchangeHeader(out, options_);
    }
    const size_t size =
        std::min(options_.max_payload_bytes, filter_.size() - sent_);
    out->append(filter_, sent_, size);
    sent_ += size;
    report_.filter_bytes += size;
    return true;
  }

  absl::Status Receive(std::string_view payload) override {
    if (done()) return absl::InvalidArgumentError("payload after the end");
    if (role_ == Role::kResponder && received_ == 0) {
      const size_t size = payload.size();
      Follows follows = Follows::kProbe;
      const absl::Status status =
          ReceiveExchangeHeader(options_, &payload, &follows);
      if (!status.ok()) return status;
      report_.sketch_bytes += size - payload.size();
    }
    if (peer_shape_.bits == 0) {
      peer_shape_ = ShapeFilter(peer_count_, options_.false_positive_rate);
    }
    const uint64_t bytes = (peer_shape_.bits + 7) / 8;
    if (payload.empty() || payload.size() > bytes - received_) {
      return absl::InvalidArgumentError("filter slice of a wrong size");
    }
    TestSlice(payload);
    received_ += payload.size();
    report_.filter_bytes += payload.size();
    if (received_ < bytes) return absl::OkStatus();
    all_received_ = true;
    for (uint32_t i = 0; i < mine_.size(); ++i) {
      if (missing_[i]) missing_there_.push_back(i);
    }
    if (role_ == Role::kResponder) BuildFilter();
    return absl::OkStatus();
  }

  bool done() const override {
    return all_received_ && sent_ == filter_.size();
  }
  const std::vector<uint32_t>& missing_there() const override {
    return missing_there_;
  }
  const ExchangeReport& report() const override { return report_; }

 private:
  // The two directions are rounds 0 and 1 of the seed.
  FilterMapping MappingOf(Role builder, uint32_t probes) const {
    return FilterMapping(seed_, builder == Role::kInitiator ? 0 : 1, probes);
  }

  void BuildFilter() {
    const FilterShape shape =
        ShapeFilter(mine_.size(), options_.false_positive_rate);
    DistributedBloomFilter filter(shape, MappingOf(role_, shape.probes));
    filter.AddAll(mine_);
    filter_ = filter.bytes();
    report_.plan = "one filter each way";
    report_.predicted_bytes = static_cast<double>(
        filter_.size() +
        (ShapeFilter(peer_count_, options_.false_positive_rate).bits + 7) / 8);
  }

  // Tests one slice, so that the whole of the peer's filter is never held. An
  // element is missing if any of its probes meets a 0.
  void TestSlice(std::string_view slice) {
    const Role peer =
        role_ == Role::kInitiator ? Role::kResponder : Role::kInitiator;
    const FilterMapping mapping = MappingOf(peer, peer_shape_.probes);
    if (peer_shape_.probes == 1 && slice.size() == (peer_shape_.bits + 7) / 8) {
      TestWhole(slice, mapping.key(0));
      return;
    }
    const uint64_t begin = 8 * received_;
    const uint64_t size = 8 * uint64_t{slice.size()};
    for (size_t i = 0; i < mine_.size(); ++i) {
      for (uint32_t probe = 0; probe < peer_shape_.probes; ++probe) {
        const uint64_t bit =
            mapping.Probe(mine_[i], probe, peer_shape_.bits) - begin;
        if (bit >= size) continue;
        if ((slice[bit / 8] >> bit % 8 & 1) == 0) missing_[i] = true;
      }
    }
  }

  void TestWhole(std::string_view filter, const MappingKey& key) {
    std::vector<uint32_t> unset(mine_.size());
    unset.resize(FindUnsetPlaces(
        mine_, key, peer_shape_.bits,
        reinterpret_cast<const uint8_t*>(filter.data()), 0, unset.data()));
    for (const uint32_t i : unset) missing_[i] = true;
  }

  const Role role_;
  const ExchangeOptions options_;
  const MappingSeed seed_;
  const std::span<const ElementHash> mine_;
  const uint64_t peer_count_;

  std::string filter_;
  size_t sent_ = 0;
  FilterShape peer_shape_{.bits = 0};
  uint64_t received_ = 0;
  bool all_received_ = false;
  std::vector<bool> missing_;
  std::vector<uint32_t> missing_there_;
  ExchangeReport report_;
};

}  // namespace

std::unique_ptr<Exchange> NewBloomExchange(Role role,
                                           const ExchangeOptions& options,
                                           const MappingSeed& seed,
                                           std::span<const ElementHash> mine,
                                           uint64_t peer_count) {
  return std::make_unique<BloomExchange>(role, options, seed, mine, peer_count);
}

}  // namespace rocksync
