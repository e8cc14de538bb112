// The messages of a clone: how a new replica copies the files of a running one
// over the replicas' own transport. Once both have proven the cluster's secret
// (authentication.h), the dialer sends an Ask instead of a Setup. Sans-IO: the
// messages as bytes.
//
//   receiver  Ask        (Check | Read)*          Done
//   source         Files             (Same | Data+)*
//
// The receiver asks ahead, the source answers in the order of what was asked.
// Several connections may take different files of one checkpoint: each names
// it by its ticket. A Refusal of the source ends a connection.

#ifndef ROCKSYNC_REPLICATION_CLONE_CLONE_MESSAGES_H_
#define ROCKSYNC_REPLICATION_CLONE_CLONE_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sketch/element/element.h"

namespace rocksync {

// Files are hashed and sent in chunks of this many bytes, the last one of a
// file being shorter.
inline constexpr size_t kCloneChunkBytes = size_t{256} << 10;
// The size of the chunk that begins at `offset` of a file of `bytes`.
constexpr size_t CloneChunkAt(uint64_t bytes, uint64_t offset) {
  return bytes - offset < kCloneChunkBytes ? static_cast<size_t>(bytes - offset)
                                           : kCloneChunkBytes;
}
inline constexpr uint64_t kMaxCloneFiles = uint64_t{1} << 19;
inline constexpr uint64_t kMaxCloneFileBytes = uint64_t{1} << 46;
inline constexpr uint64_t kMaxCloneBytes = uint64_t{1} << 60;  // of all files
// Hashes in one Check; a file of which more is held is checked as far as that.
inline constexpr uint64_t kMaxCloneHashes = uint64_t{1} << 17;

enum class CloneMessage : uint8_t {
  kAsk = 1,
  kFiles = 2,
  kRefusal = 3,
  kRead = 4,
  kCheck = 5,
  kData = 6,
  kSame = 7,
  kDone = 8,
};

// True if the first message of an admitted dialer begins a clone.
bool IsCloneMessage(std::string_view message);
// The kind of a message. Each Read below returns InvalidArgument for what is
// malformed or of another kind.
absl::Status KindOf(std::string_view message, CloneMessage* kind);

// "I shall be this replica; let me copy you." Or, with `resync`: "I am this
// replica, and go on as it from a copy of you."
struct CloneAsk {
  uint64_t replica_id = 0;  // not 0
  uint64_t ticket = 0;      // of an earlier connection; 0: a new checkpoint
  bool resync = false;
};
// `auth_hello`, `challenge`: the whole messages, as in admin_messages.h.
std::string AskMessage(const ClusterSecret& secret, std::string_view auth_hello,
                       std::string_view challenge, const CloneAsk& ask);
absl::Status ReadAsk(const ClusterSecret& secret, std::string_view auth_hello,
                     std::string_view challenge, std::string_view message,
                     CloneAsk* ask);

struct CloneFile {
  std::string name;
  uint64_t size = 0;
};
struct CloneFiles {
  uint64_t ticket = 0;     // as asked for, unless that is gone
  uint64_t source_id = 0;  // replica id
  std::vector<CloneFile> files;
};
std::string FilesMessage(const CloneFiles& files);
// Names ascend. InvalidArgument: malformed, a name that RocksDB gives to no
// file of a checkpoint, a name twice, no CURRENT, or a size beyond bounds.
absl::Status ReadFiles(std::string_view message, CloneFiles* files);

// CURRENT, MANIFEST-n, OPTIONS-n, n.sst, n.blob, n.log: what a checkpoint
// holds, and nothing that leads out of a directory.
bool IsCloneFileName(std::string_view name);

struct CloneRefusal {
  enum class Kind : uint8_t {
    kForGood = 0,
    kLater = 1,          // try again later
    kStorageFailed = 2,  // the source's; again once that is repaired
  };
  Kind kind = Kind::kForGood;
  std::string text;  // for people; what was read is as EscapeText has it
};
std::string CloneRefusalMessage(const CloneRefusal& refusal);
absl::Status ReadCloneRefusal(std::string_view message, CloneRefusal* refusal);

// "Send file number `file` from `offset` on." Nothing is sent if that is its
// end. `offset` is a multiple of kCloneChunkBytes, or the end of what was found
// the same.
struct CloneRead {
  uint64_t file = 0;
  uint64_t offset = 0;
};
std::string ReadMessage(const CloneRead& read);
absl::Status ReadRead(std::string_view message, CloneRead* read);

// "I have `size` bytes of file number `file`; their chunks have these hashes."
struct CloneCheck {
  uint64_t file = 0;
  uint64_t size = 0;
  std::vector<ValueHash> hashes;
};
std::string CheckMessage(const CloneCheck& check);
absl::Status ReadCheck(std::string_view message, CloneCheck* check);

// A chunk: its hash, then its bytes. The hash is XXH3-128.
inline constexpr size_t kDataHeadBytes = 2 + 16;
// Writes the head of a message of which the bytes are in place already.
void PutDataHead(const ValueHash& hash, char* head);
// `bytes` is a view into the message. DataLoss: not what the hash says.
absl::Status ReadData(std::string_view message, std::string_view* bytes);

// "The first `size` bytes of what you have are mine."
std::string SameMessage(uint64_t size);
absl::Status ReadSame(std::string_view message, uint64_t* size);

std::string DoneMessage();

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_CLONE_CLONE_MESSAGES_H_
