// The opening of a session: both sides take their snapshots. The initiator's
// Hello says what it holds, and binds both sides to how they compare.

#ifndef ROCKSYNC_REPLICATION_SESSION_OPENING_H_
#define ROCKSYNC_REPLICATION_SESSION_OPENING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "replication/reconcile/exchange.h"
#include "replication/session/comparison.h"
#include "replication/session/messages.h"
#include "replication/session/session.h"
#include "replication/session/session_snapshot.h"
#include "replication/session/turn.h"

namespace rocksync {

// Opens one side of a session. Grammar of use:
//   SendHello | ReceiveHello AcceptHello
class SessionOpening {
 public:
  SessionOpening(const PartContext& context, const SessionSeed& seed)
      : context_(context), seed_(seed) {}

  // Both begin the comparison, and return Unavailable if storage cannot take a
  // snapshot now; the message says why.
  absl::StatusOr<std::unique_ptr<Comparison>> SendHello(Turn* turn);
  absl::StatusOr<std::unique_ptr<Comparison>> AcceptHello() const;

  absl::Status ReceiveHello(std::string_view body, uint8_t flags);
  bool received_hello() const { return received_.has_value(); }

 private:
  absl::StatusOr<std::unique_ptr<Comparison>> Compare(Role role,
                                                      const Hello& hello) const;

  const PartContext context_;
  const SessionSeed seed_;
  std::optional<Hello> received_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_SESSION_OPENING_H_
