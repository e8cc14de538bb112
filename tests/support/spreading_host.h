// The part of a stream's host that a test of the two halves does not play: who
// is a neighbour, which changes spread where, and what one half owes the other.

#ifndef ROCKSYNC_TESTS_SUPPORT_SPREADING_HOST_H_
#define ROCKSYNC_TESTS_SUPPORT_SPREADING_HOST_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "replication/stream/spread.h"
#include "replication/stream/stream_dues.h"
#include "replication/stream/stream_host.h"

namespace rocksync {

// Replica `kSelf`, connected with `kPeer`.
class SpreadingHost : public StreamHost {
 public:
  static constexpr uint64_t kSelf = 1;
  static constexpr uint64_t kPeer = 2;

  SpreadingHost() : spread_(kSelf, {}, MappingSeed{}) {
    spread_.Connect({kPeer, ""});
  }

  void WithDues(absl::FunctionRef<void(StreamDues*)> use) final { use(&dues_); }
  void WithSpread(absl::FunctionRef<void(Spread*)> use) final { use(&spread_); }
  std::vector<Neighbour> Neighbours(uint64_t* number) const final {
    *number = 1;
    return spread_.neighbours();
  }
  bool SetNeighbours(std::vector<Neighbour> neighbours) final {
    return !spread_.SetNeighbours(kPeer, std::move(neighbours)).empty();
  }

 protected:
  Spread spread_;
  StreamDues dues_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SUPPORT_SPREADING_HOST_H_
