#include "replication/store/offline/log_records.h"

#include <cstdint>
#include <memory>

namespace rocksync {
namespace {

// db/log_format.h of RocksDB. A record is a checksum (4), its length (2) and
// its type (1), in records that name the log its number (4), and then so many
// bytes.
constexpr size_t kBlockBytes = 32768;
constexpr size_t kHeaderBytes = 7;
// What stands in front of all others, and names no number in any case.
constexpr uint8_t kSetCompressionType = 9;

bool NamesTheLog(uint8_t type) {
  switch (type) {
    case 5:    // all of a batch
    case 6:    // its first part
    case 7:    // one in the middle
    case 8:    // its last part
    case 11:   // sizes of timestamps
    case 131:  // the log before this one
      return true;
    default:
      return false;
  }
}

}  // namespace

rocksdb::Status RecordsNameTheLog(rocksdb::Env* env, const std::string& path,
                                  bool* named) {
  *named = false;
  std::unique_ptr<rocksdb::SequentialFile> file;
  rocksdb::Status status =
      env->NewSequentialFile(path, &file, rocksdb::EnvOptions());
  if (!status.ok()) return status;
  std::string buffer(kBlockBytes, '\0');
  rocksdb::Slice block;
  status = file->Read(kBlockBytes, &block, buffer.data());
  while (status.ok() && block.size() >= kHeaderBytes) {
    const auto byte = [&block](size_t i) {
      return static_cast<uint8_t>(block[i]);
    };
    if (byte(6) != kSetCompressionType) {
      *named = NamesTheLog(byte(6));
      return status;
    }
    const size_t length = byte(4) + size_t{256} * byte(5);
    if (length > block.size() - kHeaderBytes) return status;
    block.remove_prefix(kHeaderBytes + length);
  }
  return status;
}

}  // namespace rocksync
