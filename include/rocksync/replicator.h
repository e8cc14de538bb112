// Keeps a replicated database equal to its peers: sessions in the background,
// at an interval, over a transport.

#ifndef ROCKSYNC_REPLICATOR_H_
#define ROCKSYNC_REPLICATOR_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/status.h"
#include "rocksync/replicated_db.h"
#include "rocksync/stats.h"
#include "rocksync/transport.h"
#include "rocksync/verify.h"

namespace rocksync {

class SharedListener;

// Limits; may be changed while the replicator runs.
struct ReplicatorLimits {
  // Bytes of messages, sent and received, per second, over all sessions. 0: no
  // limit. A rate so low that the peer would time out is exceeded.
  uint64_t bytes_per_second = 0;

  // Keys of the index and values read for sessions, per second. 0: no limit.
  // Writes of the application are never slowed down.
  uint64_t index_reads_per_second = 0;

  // Keys and values that a scrub reads, per second. 0: no limit.
  uint64_t scrub_bytes_per_second = uint64_t{8} << 20;
  bool scrub_paused = false;

  // Sessions that this replica is in at once, dialed and accepted. One is
  // enough unless there are many peers: two peers in sessions with us at once
  // may ship us the same pairs. Up to three sessions do not count: those over a
  // slow link, of less than 1 MiB/s, in which this replica only sends, after
  // their first seconds; and those whose peer has been silent for two seconds.
  // Each of these holds up to max_session_bytes, too. At least 1.
  size_t max_sessions = 1;
};

// No duration may be longer than kMaxDuration (rocksync/max_duration.h), a
// year.
struct ReplicatorOptions {
  // Addresses of the peers, in the transport's notation; Start refuses what
  // Transport::CheckAddress does. Replicator::SetPeers changes them.
  std::vector<std::string> peers;

  // Where to listen, e.g. "127.0.0.1:7400"; empty: only dial.
  std::string listen_address;

  // Instead of listen_address: one port for several databases of this process
  // (rocksync/shared_listener.h). The replicator keeps it.
  std::shared_ptr<SharedListener> shared_listener;

  // A session with each peer about this often, +-25 % jitter; with many peers
  // see max_peers_per_interval. Zero: only when SyncNow is called.
  std::chrono::milliseconds interval{10'000};

  // With more peers than this, each interval has sessions with so many of them,
  // in a random order; all `n` have had theirs after n / max_peers_per_interval
  // intervals. A peer that dialed this replica meanwhile has had its session.
  // Each replica passes on what it got: if each meets 8 others in an interval,
  // a change is at some hundreds of replicas after two or three intervals (a
  // calculation; tests go up to 12).
  // SyncNow, and repairs after a stream's gap, go to any peer at once. Between
  // its turns no connection to a peer is kept. 0: all.
  size_t max_peers_per_interval = 8;

  // Beside the sessions a stream to each peer, and from it: what is written
  // here is at every connected peer within milliseconds. What a stream misses
  // (a peer that was away, or is too slow) a session brings, at once. Still
  // asynchronous, and pairs may arrive in another order than they were written
  // in, those of one WriteBatch too. The side that dials opens it, if both
  // want streams. Without an interval there are none. A connection for each
  // stream counts in max_accepted.
  bool stream = true;
  // With more peers than this, this replica opens streams to so many of them,
  // drawn at random. They forward changes, so every replica still receives each
  // change within milliseconds, about once. A neighbour without a stream for
  // ten seconds is replaced by another, and the oldest one every five minutes.
  // About as many other replicas open a stream to this one. With `zone` set: so
  // many within the zone, and one to each other zone; the zones of peers are
  // learned by connecting. Below 3 some replicas may be apart, so that sessions
  // alone bring them what is written. 0: all.
  size_t max_stream_peers = 8;
  // Memory for changes that some peer has not taken yet, in all; what does not
  // fit is left to sessions. Writers never wait for it. At least 64 KiB.
  size_t stream_buffer_bytes = size_t{8} << 20;
  // Where this replica is; to be given to all replicas or to none. Between two
  // zones a stream carries each change once, within a zone everybody sends to
  // everybody. At most 64 bytes; two names are equal or not, and mean nothing
  // else. The replicas of a zone must form a connected graph; otherwise some of
  // them receive changes by sessions only.
  std::string zone;
  // What a stream sends is durable here first: one sync of the WAL for all that
  // was written since the last. False, for benchmarks of that sync alone: a
  // change is sent before it is durable. If this machine then loses power, it
  // loses writes that peers hold already: reads here do not find them until a
  // session with one of those peers has brought them back, and never if those
  // peers are lost meanwhile.
  bool stream_syncs = true;

  // How often all stored values are compared with the hashes that the index has
  // of them, at the pace of the limits. What disagrees (a flipped bit, a lost
  // index entry, a lost pair) is not offered to peers any more, and repaired
  // from the first peer that has it. A pass resumes after a restart,
  // where it was. Zero: only when ScrubNow is called.
  std::chrono::milliseconds scrub_interval = std::chrono::hours(7 * 24);

  // A connection without progress for this long is closed; an attempt to
  // connect after 5 s, or this if it is less. Progress is a byte that comes,
  // or that the peer's machine acknowledges (on a stream, which is silent as
  // soon as the peer is, one that comes); one message may take twenty times as
  // long in all. A peer that sends heartbeats, for example while it readies the
  // digests of a large database, gets as much. A large value comes in messages
  // of 256 KiB, so that a link has to carry 440 B/s at 30 s for each
  // connection, and with one peer a session and a stream may share it. If a
  // proxy between the two takes more than it passes on within this
  // time, the peer seems silent: the session fails, and the next one goes on
  // with the pairs that had arrived.
  std::chrono::milliseconds io_timeout{30'000};

  // Whoever has a certificate of the cluster's CA and its secret may clone this
  // replica (ReplicatedDB::Clone), and so read all of it, families that are not
  // replicated too. False: clones are refused, by an error that names this
  // option; ReplicationStats::connections_refused counts them. A clone that is
  // not complete does not go on from here then.
  bool allow_clones = true;

  // Accepted connections at once; more are closed. A peer that dials here has
  // two, one for sessions and one for its stream, so that 64 are enough for 32
  // such peers. One that is idle between sessions holds no thread, if the
  // transport can tell when something comes (Connection::WhenReceivable; the
  // bundled one can): else each has one, which mostly sleeps. At most 64
  // sessions are answered at once, those that are told to come back later too.
  // The bundled transport's own limit follows this one, unless
  // SocketLimits::max_connections says another.
  size_t max_accepted = 64;

  ReplicatorLimits limits;

  // False positive rate of the Bloom filters of an exchange in mode
  // `kBloomOnly`, in [1/65536, 1/2]; rounded to 65536ths. The paper's
  // choice is 0.5.
  double false_positive_rate = 0.5;
  // How differing elements are found; the dialing replica's setting applies to
  // a session. kAdaptive: filters and sketches whose
  // sizes follow the number of differences; what you want. kBloomOnly: the
  // Distributed Bloom Filter's rounds alone, for comparisons with the paper;
  // many times the bytes.
  enum class Mode { kAdaptive, kBloomOnly };
  Mode mode = Mode::kAdaptive;
  // Of kAdaptive. kBytes: fewest bytes. kRoundTrips: fewer round trips, for two
  // to four times the bytes: of 10^6 pairs, 2.5 to 4 in most sessions for up to
  // 10^5 differences, seldom 5, instead of 2.5 to 9; where memory does not hold
  // what differs, more with either (max_session_bytes).
  enum class Prefer { kBytes, kRoundTrips };
  Prefer prefer = Prefer::kBytes;

  // Memory that one session may hold on this side, in bytes; at least 4 MiB.
  // While a value travels, it takes up to four times its size beside that. If
  // the leaves that differ hold more pairs than fit, at 96 bytes each, they are
  // worked off in batches, which costs round trips and no more bytes: 10^5
  // differences of 10^7 pairs take 35 round trips with 64 MiB, and 6.5 with
  // 1.2 GB (`bench sessions --session-bytes`). Replicas may have different
  // values.
  size_t max_session_bytes = size_t{64} << 20;

  // Called while a session runs (at most about ten times a second) and when it
  // ends, also if it could not begin because the peer was not reached or one
  // side refuses the other: then `error` says why and all figures are 0. Called
  // on whichever thread runs the session: one of the replicator's, or the
  // thread that called SyncNow. Several calls may overlap, of sessions with
  // several peers (see max_sessions) and of attempts that failed. Do not hold a
  // lock around SyncNow that this function takes. SyncNow, Verify and ScrubNow
  // return InvalidArgument in it, and Close of the database Aborted: they would
  // wait for it. Stop, and deleting the replicator or the database, ends the
  // process with a message. Of another database's replicator SyncNow and Verify
  // wait for a session that runs already for io_timeout, and return Busy then:
  // that one may be waiting for this function.
  std::function<void(const SessionProgress&)> progress;
};

// Thread-safe. Owns its threads. Delete the replicator, then the database: a
// database that is deleted first stops it, and from then on only Stop, stats
// and the destructor may be called. A failed session is logged to the
// database's info_log, shown in stats() and tried again at the next interval;
// it never stops the replicator.
class Replicator {
 public:
  // Starts listening and syncing. InvalidArgument names a wrong option, or a
  // transport whose certificate names another replica than `db` is, or says
  // that `db` has a replicator already that was not stopped, or that a callback
  // of `db` calls; IOError names a port that is taken. With a shared listener
  // `transport` is null or the listener's own; InvalidArgument also if another
  // replicator listens there for a cluster of the same name.
  static rocksdb::Status Start(const ReplicatorOptions& options,
                               ReplicatedDB* db,
                               std::shared_ptr<Transport> transport,
                               std::unique_ptr<Replicator>* replicator);

  // Stops first.
  virtual ~Replicator() = default;

  // Stops listening, closes all connections, makes every SyncNow and Verify
  // under way or to come return Aborted, and waits for the threads and these
  // calls. Takes less than a second, even in the middle of a session, with a
  // peer that does not answer, or while RocksDB stalls writes; but if a session
  // is writing pairs while the application holds DB::LockWAL, it waits for
  // UnlockWAL. Permanent: start a new replicator to continue. Any thread; a
  // second call waits for the first. In a callback (progress, `differs` of
  // Verify, the hook, the function of an Update) it would wait for itself, and
  // in a child of fork for threads of the parent: the process ends with a
  // message. SyncNow, Verify and ScrubNow are NotSupported in such a child.
  virtual void Stop() = 0;

  // Runs sessions with `peer` (an address of the options, or any other) until
  // one proves the two replicas equal or one fails. Blocks. If they are equal
  // already, a session is one round trip of some 23 bytes.
  //
  //   OK          proven equal as of the moment the last session began, writes
  //               during it excluded
  //   Busy        at once: this replicator is paused. After io_timeout: the
  //               peer is paused, or it or this replica was in other sessions
  //               all the time. Or RocksDB stalls writes here, and what has to
  //               be remembered of the peer waits. The message says which
  //   TryAgain    not possible now, but later without help, so call it again
  //               (the interval's sessions do): one side still reads an
  //               existing database, or what foreign writes changed
  //               (ReplicatedDB::GetIndexBuildProgress tells how far it is);
  //               one of the two has just taken over a newer member list from
  //               the other, by which they meet next; a disk is full; or the
  //               session gave up after many rounds
  //   Incomplete  all pairs were replicated except those that one side refuses
  //               (too large, too far in the future, unreadable). Retrying does
  //               not help; the message names the remedy. Or the digests are
  //               equal and quarantined pairs are left out of them
  //               (SessionProgress::quarantined_here and quarantined_there;
  //               each replica resolves its own, in the background, once its
  //               digests were equal with those of all its peers); stats() tell
  //   InvalidArgument
  //               one of the two refuses the other: another cluster, secret,
  //               certificate, member list or set of families, an older state
  //               or a copy; or `peer` is no address of the transport. Retrying
  //               does not help
  //   TimedOut    the peer was silent for io_timeout
  //   IOError     it was not reached, the connection broke, or the peer's
  //               storage failed; the message says which
  //   Aborted     Stop was called
  //
  // InvalidArgument also in a callback of this database (progress, the hook,
  // the function of an Update or of Verify), which the session might wait for;
  // or RocksDB's error (Corruption, for example) of reading or writing here.
  virtual rocksdb::Status SyncNow(const std::string& peer) = 0;

  // Compares the two replicas and ships nothing, while both take writes: which
  // keys differ? Blocks; runs at least one session that costs what a session
  // costs without its pairs, and later ones that cost about 50 bytes and one
  // key for each key that differed. Holds a session slot on both sides
  // meanwhile, but not between the looks. `differs` (may be null) is called by
  // the calling thread, once for each key that is found to differ, after the
  // last look. Writes nothing to either database.
  //
  // OK: `*result` says what came of it. InvalidArgument: options, or one of the
  // two refuses the other. Busy, TryAgain, Aborted: as SyncNow; Busy also if a
  // session with the peer goes on for longer than io_timeout, TryAgain if
  // between two looks another replica came to this address, or a replicated
  // family was created or dropped on both (on one: InvalidArgument, as they
  // differ). After a new connection to the peer it begins anew, three times at
  // most. Incomplete: not all could be compared, or quarantined pairs are in
  // neither set; the message says why, `*result` how far it came, and `differs`
  // was told what was found, unless a look itself ended early.
  // In `differs` the same calls are refused as in progress.
  virtual rocksdb::Status Verify(const std::string& peer,
                                 const VerifyOptions& options,
                                 const DifferenceCallback& differs,
                                 VerifyResult* result) = 0;

  // Compares all stored values with their hashes now, at the pace of the
  // limits; or waits for the pass that is under way. OK: all was compared,
  // stats() tell what was found. Incomplete: some of it does not read, even
  // when tried again, or cannot be iterated over in order, and was passed over;
  // the message and the log name it. Aborted: stopped. Else RocksDB's error:
  // it does not write, or an existing database, or what foreign writes changed,
  // does not read to its end. Act on the error; the pass then resumes
  // by itself, and ScrubNow may be called again.
  virtual rocksdb::Status ScrubNow() = 0;

  // From now on these are the peers, as if the options had named them: a
  // session with each new one begins at once (with more than
  // max_peers_per_interval: the next turns are theirs), and a stream (with more
  // than max_stream_peers: perhaps); streams to the others are closed, a
  // session that is under way with one ends by itself. Peers that stay are not
  // disturbed. Any thread, callbacks too; does not wait. The list is not
  // stored. It says where this replica goes to, not who belongs to the cluster:
  // whom it does not name may still come here, see ReplicatedDB::SetMembers.
  //
  // InvalidArgument: an address that Transport::CheckAddress refuses; nothing
  // is changed. Busy: it was called so often that 256 streams to removed peers
  // still have to end; nothing is changed, call it again. Aborted: Stop was
  // called, or the system gives no thread for a stream: then sessions alone
  // bring what is written, until a call with the same peers succeeds.
  virtual rocksdb::Status SetPeers(const std::vector<std::string>& peers) = 0;

  // While paused no new session begins here, and peers are told to come back
  // later. A running one goes on. Streams are closed, and opened again by
  // Resume.
  virtual void Pause() = 0;
  virtual void Resume() = 0;

  // InvalidArgument if max_sessions is 0. Aborted: Stop was called.
  virtual rocksdb::Status SetLimits(const ReplicatorLimits& limits) = 0;
  virtual ReplicatorLimits limits() const = 0;

  // O(peers): copies the counters under their lock, and does no IO.
  virtual ReplicationStats stats() const = 0;

  // What `rocksync status --json` prints of this replica (docs/operating.md):
  // stats(), and what the database and its index tell. After Stop, as it was
  // then. O(peers); asks the file system for its free space.
  virtual std::string StatusJson() const = 0;

  // The address listened on; empty if not listening.
  virtual std::string listen_address() const = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATOR_H_
