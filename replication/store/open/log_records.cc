#include "replication/store/open/log_records.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "replication/store/open/log_format.h"

namespace rocksync {
namespace {

// The log's number, between the header and what the length counts, in records
// that name it.
constexpr size_t kNumberBytes = 4;
// The type of a record in front of all others, which never names a number.
constexpr uint8_t kSetCompressionType = 9;

bool NamesTheLog(uint8_t type) {
  switch (type) {
    case 5:    // all of a batch
    case 6:    // its first part
    case 7:    // a middle part
    case 8:    // its last part
    case 11:   // sizes of timestamps
    case 131:  // the log before this one
      return true;
    default:
      return false;
  }
}

uint32_t Fixed32(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = 0; i < sizeof(value); ++i) {
    value |= uint32_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
  }
  return value;
}

constexpr std::array<uint32_t, 256> kCrc32cOfByte = [] {
  constexpr uint32_t kPolynomial = 0x82f63b78;  // Castagnoli's, reflected
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ (crc % 2 == 0 ? 0 : kPolynomial);
    }
    table[byte] = crc;
  }
  return table;
}();

// Returns the CRC-32C of `bytes`, masked as RocksDB stores it.
uint32_t MaskedCrc32c(std::string_view bytes) {
  uint32_t crc = UINT32_MAX;
  for (const char c : bytes) {
    crc = (crc >> 8) ^ kCrc32cOfByte[(crc ^ static_cast<uint8_t>(c)) & 0xff];
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8;
}

bool IsKnown(uint8_t type) {
  return (type >= 1 && type <= 11) || type == 130 || type == 131;
}

// Counts the sound batches of a log, block by block.
class SoundBatchCounter {
 public:
  SoundBatchCounter(uint64_t number, uint64_t known)
      : number_(static_cast<uint32_t>(number)), known_(known) {}

  const SoundBatches& batches() const { return batches_; }

  void Add(std::string_view block) {
    while (block.size() >= kRecordHeaderBytes) {
      const size_t bytes = RecordBytes(block);
      if (bytes == 0) {
        damaged_ = true;
        begun_ = false;
        block.remove_prefix(1);  // a length may be damaged: try the next byte
        continue;
      }
      See(block.substr(0, bytes));
      block.remove_prefix(bytes);
    }
  }

 private:
  // Returns the size of the sound record that begins here; 0 if none does.
  size_t RecordBytes(std::string_view block) const {
    const uint8_t type = RecordType(block);
    const size_t bytes = kRecordHeaderBytes +
                         (NamesTheLog(type) ? kNumberBytes : 0) +
                         RecordLength(block);
    if (!IsKnown(type) || bytes > block.size()) return 0;
    const bool sound =
        batches_.count < known_ ||
        MaskedCrc32c(block.substr(6, bytes - 6)) == Fixed32(block);
    return sound ? bytes : 0;
  }

  void See(std::string_view record) {
    const uint8_t type = RecordType(record);
    // In a recycled file, records of an earlier log end this one.
    if (NamesTheLog(type) &&
        Fixed32(record.substr(kRecordHeaderBytes)) != number_) {
      begun_ = false;
      return;
    }
    const RecordPart part = PartOf(type);
    if (part == RecordPart::kNone) return;
    const bool begins = part == RecordPart::kAll || part == RecordPart::kFirst;
    // A batch was begun and has no end; or a part has no beginning.
    if (begins == begun_) damaged_ = true;
    const bool whole = begins || begun_;
    begun_ =
        whole && (part == RecordPart::kFirst || part == RecordPart::kMiddle);
    if (!whole || begun_) return;
    ++batches_.count;
    batches_.behind_damage = batches_.behind_damage || damaged_;
  }

  const uint32_t number_;
  const uint64_t known_;
  SoundBatches batches_;
  bool begun_ = false;    // of a batch whose other parts are to follow
  bool damaged_ = false;  // a place before this one
};

}  // namespace

rocksdb::Status RecordsNameTheLog(rocksdb::Env* env, const std::string& path,
                                  bool* named) {
  *named = false;
  std::unique_ptr<rocksdb::SequentialFile> file;
  rocksdb::Status status =
      env->NewSequentialFile(path, &file, rocksdb::EnvOptions());
  if (!status.ok()) return status;
  std::string buffer(kLogBlockBytes, '\0');
  rocksdb::Slice block;
  status = file->Read(kLogBlockBytes, &block, buffer.data());
  while (status.ok() && block.size() >= kRecordHeaderBytes) {
    const uint8_t type = RecordType(block.ToStringView());
    if (type != kSetCompressionType) {
      *named = NamesTheLog(type);
      return status;
    }
    const size_t length = RecordLength(block.ToStringView());
    if (length > block.size() - kRecordHeaderBytes) return status;
    block.remove_prefix(kRecordHeaderBytes + length);
  }
  return status;
}

rocksdb::Status CountSoundBatches(rocksdb::Env* env, const std::string& path,
                                  uint64_t number, uint64_t known,
                                  SoundBatches* batches) {
  std::unique_ptr<rocksdb::SequentialFile> file;
  rocksdb::Status status =
      env->NewSequentialFile(path, &file, rocksdb::EnvOptions());
  SoundBatchCounter counter(number, known);
  std::string buffer(kLogBlockBytes, '\0');
  rocksdb::Slice block;
  while (status.ok()) {
    status = file->Read(kLogBlockBytes, &block, buffer.data());
    if (!status.ok() || block.empty()) break;
    counter.Add(block.ToStringView());
  }
  *batches = counter.batches();
  return status;
}

}  // namespace rocksync
