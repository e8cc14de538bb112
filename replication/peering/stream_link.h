// A stream with one peer: over a connection that was set up as for sessions,
// each side sends what is written there, as it is written, and takes what
// comes.
//
// Two threads: the one that calls Run receives and applies, and a second one
// sends. What is sent is durable here first. A stream ends as soon as what the
// two agreed upon in the set-up holds no longer; they meet again then.

#ifndef ROCKSYNC_REPLICATION_PEERING_STREAM_LINK_H_
#define ROCKSYNC_REPLICATION_PEERING_STREAM_LINK_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "replication/peering/link.h"
#include "replication/peering/replica.h"
#include "replication/peering/stats_board.h"
#include "replication/session/storage_view.h"
#include "replication/store/write/change_log.h"
#include "replication/stream/spread.h"
#include "replication/stream/stream_messages.h"
#include "rocksdb/status.h"

namespace rocksync {

class StreamLink {
 public:
  using Clock = std::chrono::steady_clock;

  // Over `link`, whose connection no session uses any more. `repair` has an
  // exact session run with this peer soon: what the stream does not bring must
  // be found. Empty at the side that was dialed; the other one does it.
  StreamLink(Replica* replica, Link* link, std::function<void()> repair);
  ~StreamLink();
  StreamLink(const StreamLink&) = delete;
  StreamLink& operator=(const StreamLink&) = delete;

  // Opens the stream, or answers `first`, the peer's StreamOpen, and carries it
  // to its end. Busy: there is another one with this peer that is to be kept,
  // or one of the two wants none now. TryAgain: the two should meet again.
  // Others: the connection failed, or the database here.
  rocksdb::Status Run(const std::string& first);

  // Once Run has returned: changes were taken, here or by the peer.
  bool carried() const { return carried_; }

  // From any thread: makes Run return.
  void Close();
  // Has the thread that sends look whether there is something to be said.
  void Wake();
  // The peer has announced these, and they did not come.
  void AskFor(const std::vector<ShortHash>& hashes);

 private:
  // What was announced, so that it can be sent if it is asked for.
  struct Announced {
    uint64_t origin = 0;
    uint32_t family = 0;
    std::string key;
  };

  // Of messages of kChanges.
  struct UnderWay {
    uint64_t bytes_until = 0;  // those of all until this one
    uint64_t changes = 0;
    Clock::time_point oldest{};
  };

  rocksdb::Status Open(const std::string& first);
  rocksdb::Status Carry();
  bool ended() const;
  void End(const rocksdb::Status& why);

  // The thread that sends.
  void SendLoop();
  rocksdb::Status SendOnce();
  rocksdb::Status SendWhatIsDue(Clock::time_point now);
  rocksdb::Status SendChanges(size_t most_bytes);
  rocksdb::Status Encode(const ChangeLog::Reader::Taken& taken,
                         uint64_t* left_out);
  rocksdb::Status EncodeOne(uint32_t family, const Change& change,
                            ShortHash hash, Spread::Way way);
  rocksdb::Status SendLists();
  rocksdb::Status SendList(StreamMessageType type, std::vector<uint64_t> list);
  rocksdb::Status SendAskedFor(const std::vector<ShortHash>& hashes);
  rocksdb::Status SendPair(const Announced& announced, ShortHash hash);
  void Remember(ShortHash hash, Announced announced);
  rocksdb::Status SendMessage(uint64_t changes);
  rocksdb::Status SendGap(uint64_t changes);
  rocksdb::Status Send(const std::string& message);
  Clock::time_point SilentUntil() const;
  Clock::time_point NextDue() const;
  size_t Window() const;
  void NoteLag();

  // The thread that receives.
  rocksdb::Status ReceiveLoop();
  rocksdb::Status Take(std::string_view message);
  rocksdb::Status TakeChanges(std::string_view message);
  rocksdb::Status TakeTaken(std::string_view body);
  rocksdb::Status Apply();
  void NoteArrived();
  rocksdb::Status TakeList(StreamMessageType type, std::string_view body);
  void Repair();

  Replica* const replica_;
  Link* const link_;
  const std::function<void()> repair_;
  ChangeLog* const log_;
  std::unique_ptr<StreamLine> line_;
  StreamOpen theirs_;

  // Of the thread that sends:
  std::unique_ptr<ChangeLog::Reader> reader_;
  ChangesEncoder encoder_;
  Clock::time_point last_sent_{};
  uint64_t wire_sent_ = 0;        // by the connection, as counted so far
  Clock::time_point oldest_{};    // change of those taken last
  uint64_t told_neighbours_ = 0;  // number of those that the peer was told
  std::vector<ShortHash> to_announce_;
  std::map<ShortHash, Announced> announced_;
  std::deque<ShortHash> announced_order_;  // the oldest first

  // Of the thread that receives:
  bool carried_ = false;
  std::vector<Pair> pairs_;
  std::vector<ApplyOutcome> outcomes_;
  uint64_t wire_received_ = 0;

  mutable std::mutex mutex_;
  rocksdb::Status end_;  // not OK: it has ended
  std::deque<UnderWay> under_way_;
  uint64_t bytes_sent_ = 0;   // of messages of kChanges
  uint64_t bytes_taken_ = 0;  // of these, by the peer
  // Taken here, and the peer was not told.
  uint64_t bytes_to_tell_ = 0;
  Clock::time_point tell_at_{};
  bool wants_repair_ = false;
  std::set<uint64_t> to_prune_;        // origins
  std::vector<ShortHash> to_ask_for_;  // of the peer
  std::vector<ShortHash> asked_for_;   // by the peer
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_PEERING_STREAM_LINK_H_
