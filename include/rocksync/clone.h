// Cloning: a new replica as a copy of a running one, made at the speed of the
// disks and of the network between them. ReplicatedDB::Clone
// (rocksync/replicated_db.h) does it.

#ifndef ROCKSYNC_CLONE_H_
#define ROCKSYNC_CLONE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "rocksdb/env.h"
#include "rocksdb/status.h"
#include "rocksync/transport.h"

namespace rocksync {

// How far a clone is. Bytes are those of files.
struct CloneProgress {
  enum class Stage {
    kAsking,   // the source is asked, and makes a checkpoint
    kCopying,  // its files are copied; those that are there are compared
    kOpening,  // the copy is opened as a new replica
    kProving,  // a session with the source; of a resync that copies nothing,
               // the one that brings what is missing
    // Of a resync, between kCopying and kOpening: what the replica alone holds
    // is written to the copy, which then takes its place.
    kCarryingOver,
  };
  Stage stage = Stage::kAsking;
  uint64_t files = 0;
  uint64_t files_done = 0;
  uint64_t bytes = 0;             // of all files; 0: not known yet
  uint64_t bytes_done = 0;        // copied, or found to be there
  uint64_t bytes_received = 0;    // copied by this call
  uint64_t bytes_per_second = 0;  // of bytes_done, over the last seconds
  uint64_t seconds_left = 0;      // of kCopying, estimated; 0: not known
};

struct CloneOptions {
  // The new replica's own, with its own certificate: the clone gets the id that
  // the certificate names, or a random one if the transport names none. The
  // source must never have met that id.
  std::shared_ptr<Transport> transport;

  // Address of the replica to copy, in the transport's notation.
  std::string source;

  // Called by the calling thread, as each stage begins and about ten times a
  // second until the call ends, also while the source is silent. May be empty.
  std::function<void(const CloneProgress&)> progress;

  // Polled by the calling thread several times a second; if it returns true the
  // call ends with Aborted, and a later one goes on. An opening is not cut
  // short. May be empty.
  std::function<bool()> cancelled;

  // A silent source is given up after this long, and after twenty times as long
  // while it makes the checkpoint. At most kMaxDuration
  // (rocksync/max_duration.h).
  std::chrono::milliseconds io_timeout{30'000};

  // Connections over which files travel at once, 1 to 16. Each takes a thread
  // and about 4 MiB on either side. Over a long link more of them make up for
  // what the system lets one TCP connection have under way.
  size_t connections = 4;
};

struct CloneResult {
  uint64_t replica_id = 0;      // of the clone
  uint64_t source_id = 0;       // of the replica that was copied
  uint64_t bytes = 0;           // of its files; 0: an earlier call got them all
  uint64_t bytes_received = 0;  // of them, by this call
  bool proven_equal = false;    // by a session with the source
  // If not: why, and what to do; the first session of a replicator goes on.
  std::string session_error;
};

// Of ReplicatedDB::Resync.
struct ResyncOptions {
  // The source, how it is copied, and the replica's own transport.
  CloneOptions copy;

  // A copy is made if at least this share of the pairs is to come, as far as a
  // sample of some thousand that differ tells; else one session, which is then
  // faster, brings them. 0: a copy in any case. At the default the two take
  // about as long for values of 100 bytes (`./dev bench heal`).
  double copy_from_share = 0.15;
};

// What came of ReplicatedDB::Resync.
struct ResyncResult {
  bool copied = false;  // else a session brought what was missing
  CloneResult copy;     // without `copied` only who met, and the proof
  // Of a copy: pairs and tombstones that the replica held and the source did
  // not, or held older. They were carried over.
  uint64_t carried_over = 0;
};

// The id of the replica that the clone in `directory`, which was interrupted,
// becomes. Once all of it is copied, only a certificate of that id resumes it;
// so whoever makes a certificate for each call (MakeTrialCertificate) asks here
// first. NotFound: no such clone is there. Corruption: its record is damaged.
rocksdb::Status ReadCloneReplicaId(rocksdb::Env* env,
                                   const std::string& directory,
                                   uint64_t* replica_id);

}  // namespace rocksync

#endif  // ROCKSYNC_CLONE_H_
