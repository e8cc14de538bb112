// Summaries: what both sides say that they hold, in Summary and Equal, and what
// that proves. Whether a summary is of a batch or of everything follows from
// the rounds that are open.

#ifndef ROCKSYNC_REPLICATION_SESSION_SUMMARIES_H_
#define ROCKSYNC_REPLICATION_SESSION_SUMMARIES_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "replication/session/batches.h"
#include "replication/session/comparison_parts.h"
#include "replication/session/turn.h"
#include "replication/session/whole_set_round.h"
#include "sketch/element/digest.h"

namespace rocksync {

// The summaries of both sides. Grammar of use:
//   ( Say ReceiveEqual? | ( set_peer | Receive ) SendEqual? )*
class Summaries {
 public:
  // All arguments must outlive this object.
  Summaries(ComparisonParts* parts, const Batches* batches,
            const WholeSetRound* whole_set)
      : parts_(parts), batches_(batches), whole_set_(whole_set) {}

  // True if a Summary or an Equal is of everything now: no batch is in rounds,
  // or the last one is, which tells of everything.
  bool of_all() const { return !batches_->rounds() || batches_->last(); }

  // Sends the summary of the open rounds, or of everything if there are none.
  // Makes what it says durable before.
  absl::Status Say(Turn* turn);
  absl::Status Receive(std::string_view body, uint8_t flags);
  // The digest that the peer summarised last: of the batch, if one is in
  // rounds.
  const Digest& peer() const { return peer_; }
  void set_peer(const Digest& digest) { peer_ = digest; }
  // True if the peer refused or could not read a pair of the open rounds.
  bool peer_refuses() const { return peer_refuses_; }

  // Sends the Equal that ends the session.
  absl::Status SendEqual(Turn* turn);
  // Takes an Equal. `of_all`: it ends the session.
  absl::Status ReceiveEqual(std::string_view body, bool of_all);

 private:
  const Rounds* rounds() const {
    return whole_set_->rounds() ? whole_set_->rounds() : batches_->rounds();
  }
  // Returns the digest of what this side holds by now, as its summary says.
  Digest Held() const;
  absl::Status Prove();

  ComparisonParts* const parts_;
  const Batches* const batches_;
  const WholeSetRound* const whole_set_;
  Digest peer_;
  bool peer_refuses_ = false;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_SUMMARIES_H_
