// Incoming values that come apart from their pairs: in chunks, or when they
// were asked for because the offer did not hold them.

#ifndef ROCKSYNC_REPLICATION_SESSION_INCOMING_VALUES_H_
#define ROCKSYNC_REPLICATION_SESSION_INCOMING_VALUES_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "replication/session/incoming_pairs.h"
#include "replication/session/pair_coding.h"
#include "replication/session/round_work.h"
#include "replication/session/session.h"

namespace rocksync {

// Completes pairs with values that come later. Memory: one value of
// max_value_bytes, and the keys of pairs whose values were asked for.
class IncomingValues {
 public:
  // `pairs` takes pairs whose value has come. `options` and `pairs` must
  // outlive this object.
  IncomingValues(const RoundContext& context, const SessionOptions* options,
                 IncomingPairs* pairs)
      : context_(context), options_(options), pairs_(pairs) {}

  // Notes that the value of `pair`, of `value_size` bytes, is asked for; `own`
  // is as in IncomingPairs::Take.
  void Await(Pair pair, uint64_t value_size, std::optional<uint32_t> own) {
    awaited_.push_back({std::move(pair), value_size, own});
  }

  absl::Status ReceiveChunk(std::string_view body);
  absl::Status ReceiveValues(std::string_view body);
  // Puts the chunks that came before `pair` in front of its value; `*value`
  // then holds what pair->value refers to.
  absl::Status Complete(WirePair* pair, std::string* value);

  // Ends the peer's turn. Returns InvalidArgument if the peer owed values, and
  // the turn had none.
  absl::Status EndTurn();

  // True if values of earlier turns' offers are to come, or the rest of one.
  bool earlier_to_come() const {
    return awaited_before_turn_ > 0 || chunk_bytes_ > 0;
  }
  bool none_to_come() const { return awaited_.empty() && chunk_bytes_ == 0; }

 private:
  struct Awaited {
    Pair pair;
    uint64_t value_size = 0;
    std::optional<uint32_t> own;
  };

  absl::Status ReceiveValue(std::string_view rest);
  void PopAwaited();
  // Returns the chunks so far, and removes them.
  std::string TakeChunks();

  const RoundContext context_;
  const SessionOptions* const options_;
  IncomingPairs* const pairs_;
  std::deque<Awaited> awaited_;
  size_t awaited_before_turn_ = 0;
  bool came_ = false;  // any value or chunk, in this turn
  std::string chunks_;
  uint64_t chunk_bytes_ = 0;  // including chunks that were thrown away
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_INCOMING_VALUES_H_
