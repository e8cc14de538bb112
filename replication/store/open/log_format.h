// Describes how RocksDB frames the records of its logs, the MANIFEST among them
// (its db/log_format.h). A file is blocks of records, none of which crosses the
// end of a block. A record begins with a checksum (4 bytes), its length (2) and
// its type (1).

#ifndef ROCKSYNC_REPLICATION_STORE_OPEN_LOG_FORMAT_H_
#define ROCKSYNC_REPLICATION_STORE_OPEN_LOG_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rocksync {

inline constexpr size_t kLogBlockBytes = 32768;
inline constexpr size_t kRecordHeaderBytes = 7;

// The length and the type of a record, of which at least the header is there.
inline size_t RecordLength(std::string_view record) {
  return static_cast<uint8_t>(record[4]) |
         size_t{static_cast<uint8_t>(record[5])} << 8;
}
inline uint8_t RecordType(std::string_view record) {
  return static_cast<uint8_t>(record[6]);
}

// Which part of a logical record a physical record holds.
enum class RecordPart { kAll, kFirst, kMiddle, kLast, kNone };

inline RecordPart PartOf(uint8_t type) {
  switch (type) {
    case 1:
    case 5:  // types 5 to 8 are of records that name their log
      return RecordPart::kAll;
    case 2:
    case 6:
      return RecordPart::kFirst;
    case 3:
    case 7:
      return RecordPart::kMiddle;
    case 4:
    case 8:
      return RecordPart::kLast;
    default:
      return RecordPart::kNone;
  }
}

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STORE_OPEN_LOG_FORMAT_H_
