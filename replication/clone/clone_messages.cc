#include "replication/clone/clone_messages.h"

#include <algorithm>
#include <utility>

#include "replication/membership/authentication.h"
#include "replication/session/messages.h"
#include "replication/text/escape_text.h"
#include "sketch/element/coding.h"

namespace rocksync {
namespace {

constexpr char kHead = static_cast<char>(MessageType::kClone);
constexpr size_t kAskProofBytes = 16;
constexpr size_t kMaxFileNameBytes = 32;
constexpr size_t kMaxRefusalBytes = 1024;
constexpr uint64_t kMaxCurrentBytes = 64;
// The least bytes of a listed file: a name such as "1.sst", its length, a size.
constexpr size_t kLeastFileBytes = 7;

absl::Status Wrong(std::string_view what) {
  return Malformed(MessageType::kClone, what);
}

std::string BeginClone(CloneMessage kind) {
  return {kHead, static_cast<char>(kind)};
}

// Checks a message's kind and leaves its body in `*message`.
absl::Status TakeHead(CloneMessage kind, std::string_view* message) {
  CloneMessage found;
  absl::Status status = KindOf(*message, &found);
  if (!status.ok()) return status;
  if (found != kind) return Wrong("another message was expected");
  message->remove_prefix(2);
  return status;
}

std::string AskProof(const ClusterSecret& secret, std::string_view auth_hello,
                     std::string_view challenge, std::string_view body) {
  return ProofOf(secret, "rocksync clone", {auth_hello, challenge, body});
}

bool IsNumber(std::string_view text) {
  constexpr size_t kMaxDigits = 20;
  return !text.empty() && text.size() <= kMaxDigits &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= '0' && c <= '9'; });
}

bool IsNumbered(std::string_view name, std::string_view prefix,
                std::string_view suffix) {
  if (name.size() < prefix.size() + suffix.size() ||
      !name.starts_with(prefix) || !name.ends_with(suffix)) {
    return false;
  }
  name.remove_prefix(prefix.size());
  name.remove_suffix(suffix.size());
  return IsNumber(name);
}

void PutHash(std::string* out, const ValueHash& hash) {
  PutFixed64(out, hash.high);
  PutFixed64(out, hash.low);
}

bool GetHash(std::string_view* input, ValueHash* hash) {
  return GetFixed64(input, &hash->high) && GetFixed64(input, &hash->low);
}

bool GetFile(std::string_view* body, CloneFile* file) {
  std::string_view name;
  if (!GetLengthPrefixed(body, kMaxFileNameBytes, &name) ||
      !IsCloneFileName(name) ||
      !GetVarint64(body, kMaxCloneFileBytes, &file->size)) {
    return false;
  }
  file->name.assign(name);
  return file->name != "CURRENT" || file->size <= kMaxCurrentBytes;
}

}  // namespace

bool IsCloneMessage(std::string_view message) {
  return !message.empty() && message[0] == kHead;
}

absl::Status KindOf(std::string_view message, CloneMessage* kind) {
  if (!IsCloneMessage(message) || message.size() < 2) {
    return Wrong("not a message of clones");
  }
  const auto byte = static_cast<uint8_t>(message[1]);
  if (byte < static_cast<uint8_t>(CloneMessage::kAsk) ||
      byte > static_cast<uint8_t>(CloneMessage::kDone)) {
    return Wrong("an unknown kind");
  }
  *kind = static_cast<CloneMessage>(byte);
  return absl::OkStatus();
}

bool IsCloneFileName(std::string_view name) {
  return name == "CURRENT" || IsNumbered(name, "MANIFEST-", "") ||
         IsNumbered(name, "OPTIONS-", "") || IsNumbered(name, "", ".sst") ||
         IsNumbered(name, "", ".blob") || IsNumbered(name, "", ".log");
}

std::string AskMessage(const ClusterSecret& secret, std::string_view auth_hello,
                       std::string_view challenge, const CloneAsk& ask) {
  std::string body;
  PutFixed64(&body, ask.replica_id);
  PutFixed64(&body, ask.ticket);
  PutFixed8(&body, ask.resync ? 1 : 0);
  return BeginClone(CloneMessage::kAsk) +
         AskProof(secret, auth_hello, challenge, body) + body;
}

absl::Status DecodeAsk(const ClusterSecret& secret, std::string_view auth_hello,
                       std::string_view challenge, std::string_view message,
                       CloneAsk* ask) {
  const absl::Status status = TakeHead(CloneMessage::kAsk, &message);
  if (!status.ok()) return status;
  std::string_view proof;
  if (!GetBytes(&message, kAskProofBytes, &proof)) return Wrong("truncated");
  if (!SameProof(proof, AskProof(secret, auth_hello, challenge, message))) {
    return Wrong("its proof is wrong");
  }
  uint8_t resync = 0;
  if (!GetFixed64(&message, &ask->replica_id) || ask->replica_id == 0 ||
      !GetFixed64(&message, &ask->ticket) || !GetFixed8(&message, &resync) ||
      resync > 1 || !message.empty()) {
    return Wrong("not what asks");
  }
  ask->resync = resync == 1;
  return status;
}

std::string FilesMessage(const CloneFiles& files) {
  std::string message = BeginClone(CloneMessage::kFiles);
  PutFixed64(&message, files.ticket);
  PutFixed64(&message, files.source_id);
  PutVarint64(&message, files.files.size());
  for (const CloneFile& file : files.files) {
    PutLengthPrefixed(&message, file.name);
    PutVarint64(&message, file.size);
  }
  return message;
}

absl::Status DecodeFiles(std::string_view message, CloneFiles* files) {
  const absl::Status status = TakeHead(CloneMessage::kFiles, &message);
  if (!status.ok()) return status;
  uint64_t count = 0;
  if (!GetFixed64(&message, &files->ticket) || files->ticket == 0 ||
      !GetFixed64(&message, &files->source_id) ||
      !GetVarint64(&message, kMaxCloneFiles, &count) ||
      count > message.size() / kLeastFileBytes) {
    return Wrong("the list of files is malformed");
  }
  files->files.clear();
  bool has_current = false;
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < count; ++i) {
    CloneFile file;
    if (!GetFile(&message, &file)) {
      return Wrong(
          "the list has a file that no checkpoint holds, or one that is too "
          "large");
    }
    if (!files->files.empty() && file.name <= files->files.back().name) {
      return Wrong("the list is not in order, or has a file twice");
    }
    bytes += file.size;
    if (bytes > kMaxCloneBytes) return Wrong("the files are too large");
    has_current = has_current || file.name == "CURRENT";
    files->files.push_back(std::move(file));
  }
  if (!message.empty()) return Wrong("bytes are left over");
  if (!has_current) return Wrong("no CURRENT is listed");
  return status;
}

std::string CloneRefusalMessage(const CloneRefusal& refusal) {
  std::string message = BeginClone(CloneMessage::kRefusal);
  PutFixed8(&message, static_cast<uint8_t>(refusal.kind));
  message.append(refusal.text.substr(0, kMaxRefusalBytes));
  return message;
}

absl::Status DecodeCloneRefusal(std::string_view message,
                                CloneRefusal* refusal) {
  const absl::Status status = TakeHead(CloneMessage::kRefusal, &message);
  if (!status.ok()) return status;
  constexpr auto kLast =
      static_cast<uint8_t>(CloneRefusal::Kind::kStorageFailed);
  uint8_t kind = 0;
  if (!GetFixed8(&message, &kind) || kind > kLast ||
      message.size() > kMaxRefusalBytes) {
    return Wrong("a refusal is malformed");
  }
  refusal->kind = static_cast<CloneRefusal::Kind>(kind);
  refusal->text = EscapeText(message);
  return status;
}

std::string ReadMessage(const CloneRead& read) {
  std::string message = BeginClone(CloneMessage::kRead);
  PutVarint64(&message, read.file);
  PutVarint64(&message, read.offset);
  return message;
}

absl::Status DecodeRead(std::string_view message, CloneRead* read) {
  const absl::Status status = TakeHead(CloneMessage::kRead, &message);
  if (!status.ok()) return status;
  if (!GetVarint64(&message, kMaxCloneFiles, &read->file) ||
      !GetVarint64(&message, kMaxCloneFileBytes, &read->offset) ||
      !message.empty()) {
    return Wrong("what is to be read is malformed");
  }
  return status;
}

std::string CheckMessage(const CloneCheck& check) {
  std::string message = BeginClone(CloneMessage::kCheck);
  PutVarint64(&message, check.file);
  PutVarint64(&message, check.size);
  for (const ValueHash& hash : check.hashes) PutHash(&message, hash);
  return message;
}

absl::Status DecodeCheck(std::string_view message, CloneCheck* check) {
  const absl::Status status = TakeHead(CloneMessage::kCheck, &message);
  if (!status.ok()) return status;
  if (!GetVarint64(&message, kMaxCloneFiles, &check->file) ||
      !GetVarint64(&message, kMaxCloneHashes * kCloneChunkBytes,
                   &check->size)) {
    return Wrong("what is to be checked is malformed");
  }
  const uint64_t count =
      (check->size + kCloneChunkBytes - 1) / kCloneChunkBytes;
  if (count == 0 || message.size() != count * 16) {
    return Wrong("a check has not one hash a chunk");
  }
  check->hashes.resize(static_cast<size_t>(count));
  for (ValueHash& hash : check->hashes) (void)GetHash(&message, &hash);
  return status;
}

void PutDataHead(const ValueHash& hash, char* head) {
  std::string bytes = BeginClone(CloneMessage::kData);
  PutHash(&bytes, hash);
  std::copy(bytes.begin(), bytes.end(), head);
}

absl::Status DecodeData(std::string_view message, std::string_view* bytes) {
  const absl::Status status = TakeHead(CloneMessage::kData, &message);
  if (!status.ok()) return status;
  ValueHash hash;
  if (!GetHash(&message, &hash)) return Wrong("truncated");
  if (message.empty() || message.size() > kCloneChunkBytes) {
    return Wrong("a chunk is empty or longer than 256 KiB");
  }
  if (!(ElementHasher::HashIssuedValue(message) == hash)) {
    return absl::DataLossError("a chunk arrived damaged");
  }
  *bytes = message;
  return status;
}

std::string SameMessage(uint64_t size) {
  std::string message = BeginClone(CloneMessage::kSame);
  PutVarint64(&message, size);
  return message;
}

absl::Status DecodeSame(std::string_view message, uint64_t* size) {
  const absl::Status status = TakeHead(CloneMessage::kSame, &message);
  if (!status.ok()) return status;
  if (!GetVarint64(&message, kMaxCloneFileBytes, size) || !message.empty()) {
    return Wrong("what is the same is malformed");
  }
  return status;
}

std::string DoneMessage() { return BeginClone(CloneMessage::kDone); }

}  // namespace rocksync
