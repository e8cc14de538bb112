// The sending half of a stream, as a protocol: it sends what is written at this
// replica, as it is written, and tells the peer what became of the peer's
// changes. It decides what is sent when, and what must hold before; threads and
// clocks are its host's.

#ifndef ROCKSYNC_REPLICATION_STREAM_OUTGOING_CHANGES_H_
#define ROCKSYNC_REPLICATION_STREAM_OUTGOING_CHANGES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "replication/stream/announced_changes.h"
#include "replication/stream/spread.h"
#include "replication/stream/stream_host.h"
#include "replication/stream/stream_messages.h"

namespace rocksync {

// The sending half of one stream. For one thread.
class OutgoingChanges {
 public:
  // `host` must outlive it.
  explicit OutgoingChanges(StreamHost* host) : host_(host) {}
  OutgoingChanges(const OutgoingChanges&) = delete;
  OutgoingChanges& operator=(const OutgoingChanges&) = delete;

  // Called once the stream is open: the time without a message counts from
  // here.
  void Begin() { last_sent_ms_ = host_->NowMs(); }

  // Sends what is due, and the next changes if the window is open. To be called
  // at NextDueMs(), when woken, and as long as there are changes that the
  // window has room for. An error ends the stream; Unavailable: what the two
  // agreed upon holds no longer, they should meet again.
  absl::Status Step();

  // Returns when a message is due even if nothing is written.
  uint64_t NextDueMs() const;
  // Returns how many bytes of kChanges the peer has room for.
  size_t Window() const;

 private:
  absl::Status SendWhatIsDue();
  absl::Status SendChanges(size_t max_bytes);
  absl::Status Encode(uint64_t* left_out);
  absl::Status EncodeOne(const BufferedChange& change, ShortHash hash,
                         Spread::Way way);
  absl::Status SendLists();
  absl::Status SendList(StreamMessageType type, std::vector<uint64_t> list);
  absl::Status SendAskedFor(std::span<const ShortHash> hashes);
  absl::Status SendPair(const AnnouncedChange& announced, ShortHash hash);
  absl::Status SendMessage(uint64_t changes);
  absl::Status SendGap(uint64_t changes);
  absl::Status Send(std::string_view message);
  absl::Status SendPaid(std::string_view message);
  uint64_t SilentUntilMs() const;

  StreamHost* const host_;
  ChangeBatch taken_;
  ChangesEncoder encoder_;
  uint64_t last_sent_ms_ = 0;
  uint64_t oldest_ms_ = 0;        // of the changes taken last
  uint64_t told_neighbours_ = 0;  // number of the list that the peer was told
  std::vector<ShortHash> to_announce_;
  AnnouncedChanges announced_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STREAM_OUTGOING_CHANGES_H_
