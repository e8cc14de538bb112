#include "replication/base/write_batch_format.h"

namespace rocksync {
namespace {

size_t VarintBytes(uint64_t value) {
  size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

}  // namespace

uint64_t SequenceOf(const rocksdb::WriteBatch& batch) {
  uint64_t sequence = 0;
  for (size_t i = 0; i < sizeof(sequence) && i < batch.Data().size(); ++i) {
    sequence |= uint64_t{static_cast<uint8_t>(batch.Data()[i])} << (8 * i);
  }
  return sequence;
}

bool IsWrittenBeforeCommit(const rocksdb::WriteBatch& batch) {
  constexpr size_t kFirstTag = 12;
  constexpr char kBeginPersistedPrepare = 0x12;
  constexpr char kBeginUnprepare = 0x13;
  if (batch.Data().size() <= kFirstTag) return false;
  const char tag = batch.Data()[kFirstTag];
  return tag == kBeginPersistedPrepare || tag == kBeginUnprepare;
}

size_t BytesOfOneOperation(uint32_t family_id, size_t key_bytes,
                           std::optional<size_t> value_bytes) {
  constexpr size_t kHeaderAndTag = 12 + 1;
  size_t bytes = kHeaderAndTag + VarintBytes(key_bytes) + key_bytes;
  if (family_id != 0) bytes += VarintBytes(family_id);
  if (value_bytes.has_value()) {
    bytes += VarintBytes(*value_bytes) + *value_bytes;
  }
  return bytes;
}

}  // namespace rocksync
