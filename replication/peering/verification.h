// The looks that a comparison of two replicas takes: the first finds what
// differs, later ones leave out what was merely on its way. Who runs the
// sessions is the caller's business.

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

// What becomes of quarantined pairs that keep two replicas from being proven
// equal.
const char* QuarantineRemedy();

// InvalidArgument names the field that is out of range.
rocksdb::Status CheckVerifyOptions(const VerifyOptions& options);

struct VerificationSteps {
  // Runs one session that compares for this task, as initiator. OK: the report
  // says how far it came. Ordinals of families and the peer are those of the
  // first look, which sets `peer`. TryAgain of a later one: they are others
  // by now, and nothing was compared.
  std::function<rocksdb::Status(const VerifyTask&, VerifiedPeer* peer,
                                SessionReport*)>
      session;
  // False: stopped while sleeping.
  std::function<bool(std::chrono::milliseconds)> sleep;
  // Of a clock that never goes back.
  std::function<std::chrono::milliseconds()> now = [] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::steady_clock::now().time_since_epoch());
  };
};

// Looks once, then at growing distances until nothing differs any more or
// options.in_flight_wait has passed, and tells `differs` what is left. Aborted:
// stopped. Incomplete: a session ended without having compared everything, and
// nothing that it came to differs in the end; or quarantined pairs were left
// out of what it compared; the message says which. What differs is told all the
// same.
rocksdb::Status RunVerification(const VerifyOptions& options,
                                const VerificationSteps& steps,
                                const DifferenceCallback& differs,
                                VerifyResult* result);

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_VERIFICATION_H_
