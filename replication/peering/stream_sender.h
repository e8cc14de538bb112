// The half of a stream that sends: what is written here, as it is written, and
// what the peer has to be told of what it sends.

#ifndef ROCKSYNC_REPLICATION_PEERING_STREAM_SENDER_H_
#define ROCKSYNC_REPLICATION_PEERING_STREAM_SENDER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "replication/peering/announced_changes.h"
#include "replication/peering/stream_context.h"
#include "replication/store/write/change_log.h"
#include "replication/stream/spread.h"
#include "replication/stream/stream_messages.h"
#include "rocksdb/status.h"

namespace rocksync {

// One thread runs it; the calls below Run are for any thread.
class StreamSender {
 public:
  // What a peer may have under way: more than a round trip's worth, and little
  // memory.
  static constexpr uint64_t kWindowBytes = uint64_t{1} << 20;

  // Takes what `log` is told from now on; both must outlive it.
  StreamSender(const StreamContext* context, ChangeLog* log);
  StreamSender(const StreamSender&) = delete;
  StreamSender& operator=(const StreamSender&) = delete;

  // Once the stream is open, until it ends (OK) or sending fails.
  rocksdb::Status Run();

  // Has Run look whether there is something to be said.
  void Wake() { reader_.Interrupt(); }
  // A message of so many bytes with changes was taken here.
  void TellTaken(uint64_t bytes);
  // The peer has taken so many bytes. InvalidArgument: more than it was sent.
  rocksdb::Status OnTaken(uint64_t bytes);
  // The peer is to announce what these origins write, and not to send it.
  void Prune(std::set<uint64_t> origins);
  // The peer has announced these, and they did not come.
  void AskFor(const std::vector<ShortHash>& hashes);
  // The peer asks for these. InvalidArgument: for more than was announced.
  rocksdb::Status OnAskedFor(const std::vector<ShortHash>& hashes);
  // Has a session find what the stream did not bring. Whoever dialed begins it;
  // the other side has to tell it.
  void Repair();

 private:
  using Clock = StreamClock;

  // Of messages of kChanges.
  struct UnderWay {
    uint64_t bytes_until = 0;  // those of all until this one
    uint64_t changes = 0;
    Clock::time_point oldest{};
  };

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
  rocksdb::Status SendPair(const AnnouncedChange& announced, ShortHash hash);
  rocksdb::Status SendMessage(uint64_t changes);
  rocksdb::Status SendGap(uint64_t changes);
  rocksdb::Status Send(const std::string& message);
  Clock::time_point SilentUntil() const;
  Clock::time_point NextDue() const;
  size_t Window() const;
  void NoteLag();

  const StreamContext* const context_;
  ChangeLog* const log_;
  ChangeLog::Reader reader_;

  // Of the thread that runs it:
  ChangesEncoder encoder_;
  Clock::time_point last_sent_{};
  uint64_t wire_sent_ = 0;        // by the connection, as counted so far
  Clock::time_point oldest_{};    // change of those taken last
  uint64_t told_neighbours_ = 0;  // number of those that the peer was told
  std::vector<ShortHash> to_announce_;
  AnnouncedChanges announced_;

  mutable std::mutex mutex_;
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

#endif  // ROCKSYNC_REPLICATION_PEERING_STREAM_SENDER_H_
