// Compares two replicas in several looks. The first look finds what differs;
// later ones drop what was merely on its way. The caller runs the sessions.

#ifndef ROCKSYNC_REPLICATION_PEERING_VERIFICATION_H_
#define ROCKSYNC_REPLICATION_PEERING_VERIFICATION_H_

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "replication/peering/verified_peer.h"
#include "replication/session/session.h"
#include "rocksdb/status.h"
#include "rocksync/verify.h"

namespace rocksync {

// Returns the text on what becomes of quarantined pairs that keep two replicas
// from being proven equal.
const char* QuarantineRemedy();

// Returns InvalidArgument if a field is out of range; the message names it.
rocksdb::Status CheckVerifyOptions(const VerifyOptions& options);

struct VerificationSteps {
  // Runs one session that compares for this task, as initiator. OK: the report
  // says how far it came. The first look sets `peer`. Later looks must meet the
  // same peer with the same family ordinals; otherwise nothing is compared, and
  // the call returns TryAgain.
  std::function<rocksdb::Status(const VerifyTask&, VerifiedPeer* peer,
                                SessionReport*)>
      session;
  // Sleeps. Returns false if it was stopped meanwhile.
  std::function<bool(std::chrono::milliseconds)> sleep;
  // Returns the time of a monotonic clock.
  std::function<std::chrono::milliseconds()> now = [] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now().time_since_epoch());
  };
};

// Looks once, then again at growing intervals until nothing differs any more or
// options.in_flight_wait has passed, and tells `differs` what is left. Aborted:
// stopped. Incomplete, as the message says: a session could not compare
// everything, and `differs` is told nothing; or the first look stopped at
// enough keys, and all of these have arrived; or keys that had differed
// vanished from both sides; or quarantined pairs were left out.
rocksdb::Status RunVerification(const VerifyOptions& options,
                                const VerificationSteps& steps,
                                const DifferenceCallback& differs,
                                VerifyResult* result);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_VERIFICATION_H_
