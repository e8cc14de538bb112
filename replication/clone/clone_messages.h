// The messages of a clone, by which a new replica copies the files of a running
// one over the replicas' own transport. Once both have proven the cluster's
// secret (authentication.h), the dialer sends an Ask instead of a Setup.
// Sans-IO: the messages as bytes.
//
//   receiver  Ask        (Check | Read)*          Done
//   source         Files             (Same | Data+)*
//
// The receiver asks ahead, and the source answers in the order of the requests.
// Several connections may copy different files of one checkpoint; each names
// the checkpoint by its ticket. A Refusal by the source ends a connection.

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

// Files are hashed and sent in chunks of this many bytes; the last one of a
// file may be shorter.
inline constexpr size_t kCloneChunkBytes = size_t{256} << 10;
// Returns the size of the chunk at `offset` of a file of `bytes` bytes.
constexpr size_t CloneChunkAt(uint64_t bytes, uint64_t offset) {
  return bytes - offset < kCloneChunkBytes ? static_cast<size_t>(bytes - offset)
                                           : kCloneChunkBytes;
}
inline constexpr uint64_t kMaxCloneFiles = uint64_t{1} << 19;
inline constexpr uint64_t kMaxCloneFileBytes = uint64_t{1} << 46;
inline constexpr uint64_t kMaxCloneBytes = uint64_t{1} << 60;  // of all files
// The most hashes in one Check. If more of a file is held, only its beginning
// is checked.
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

// Returns true if the first message of an authenticated dialer begins a clone.
bool IsCloneMessage(std::string_view message);
// Finds the kind of a message. KindOf, and each Decode function below, returns
// InvalidArgument if the message is malformed or of another kind.
absl::Status KindOf(std::string_view message, CloneMessage* kind);

// Asks for the source's files. The receiver is to become the new replica
// `replica_id`, or, with `resync`, is that replica and goes on from the copy.
struct CloneAsk {
  uint64_t replica_id = 0;  // not 0
  uint64_t ticket = 0;      // of an earlier connection; 0: a new checkpoint
  bool resync = false;
};
// `auth_hello` and `challenge` are the whole messages, as in admin_messages.h.
std::string AskMessage(const ClusterSecret& secret, std::string_view auth_hello,
                       std::string_view challenge, const CloneAsk& ask);
absl::Status DecodeAsk(const ClusterSecret& secret, std::string_view auth_hello,
                       std::string_view challenge, std::string_view message,
                       CloneAsk* ask);

struct CloneFile {
  std::string name;
  uint64_t size = 0;
};
struct CloneFiles {
  uint64_t ticket = 0;     // as asked for, unless that checkpoint is gone
  uint64_t source_id = 0;  // the source's replica id
  std::vector<CloneFile> files;
};
std::string FilesMessage(const CloneFiles& files);
// Reads a list of files, whose names ascend. InvalidArgument: the message is
// malformed, or the list has a name that RocksDB gives to no file of a
// checkpoint, a name twice, no CURRENT, or a size beyond bounds.
absl::Status DecodeFiles(std::string_view message, CloneFiles* files);

// Returns true for the names of files in a checkpoint: CURRENT, MANIFEST-n,
// OPTIONS-n, n.sst, n.blob, n.log. None of them leads out of a directory.
bool IsCloneFileName(std::string_view name);

struct CloneRefusal {
  enum class Kind : uint8_t {
    kForGood = 0,
    kLater = 1,          // try again later
    kStorageFailed = 2,  // the source's storage; again once it is repaired
  };
  Kind kind = Kind::kForGood;
  std::string text;  // for people; escaped by EscapeText when it is read
};
std::string CloneRefusalMessage(const CloneRefusal& refusal);
absl::Status DecodeCloneRefusal(std::string_view message,
                                CloneRefusal* refusal);

// Asks for file number `file` from `offset` to its end, which may be nothing.
// `offset` is a multiple of kCloneChunkBytes, or the end of what a Check found
// to be the same.
struct CloneRead {
  uint64_t file = 0;
  uint64_t offset = 0;
};
std::string ReadMessage(const CloneRead& read);
absl::Status DecodeRead(std::string_view message, CloneRead* read);

// Asks whether the first `size` bytes of file number `file`, which the receiver
// holds, are those of the source. `hashes` are those of their chunks.
struct CloneCheck {
  uint64_t file = 0;
  uint64_t size = 0;
  std::vector<ValueHash> hashes;
};
std::string CheckMessage(const CloneCheck& check);
absl::Status DecodeCheck(std::string_view message, CloneCheck* check);

// The bytes before those of the chunk in a Data message: the message's head (2)
// and the chunk's hash, XXH3-128 (16).
inline constexpr size_t kDataHeadBytes = 2 + 16;
// Writes the head of a message whose bytes are already in place.
void PutDataHead(const ValueHash& hash, char* head);
// Reads a chunk. `*bytes` is a view into the message. DataLoss: the bytes do
// not match the hash.
absl::Status DecodeData(std::string_view message, std::string_view* bytes);

// Answers a Check: the first `size` bytes that the receiver holds are those of
// the source.
std::string SameMessage(uint64_t size);
absl::Status DecodeSame(std::string_view message, uint64_t* size);

std::string DoneMessage();

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_CLONE_CLONE_MESSAGES_H_
