#include "replication/store/upkeep/examination.h"

#include <optional>
#include <string_view>
#include <vector>

#include "replication/store/index/plain_value.h"
#include "rocksdb/utilities/debug.h"

namespace rocksync {
namespace {

using rocksdb::Slice;
using rocksdb::Status;
using Verdict = Examination::Verdict;

// Returns whether the hash in the entry is that of what it stands for.
bool HashFits(const ElementHasher& hasher, const Family& family,
              std::string_view key, const StoredEntry& entry,
              const Examination& found) {
  if (entry.tombstone) {
    return CompleteHash(hasher, family.name, key, entry) ==
           hasher.HashTombstone(family.name, key, entry.version);
  }
  if (!found.has_value) return false;
  StoredEntry read = entry;
  read.pending = true;
  const ValueHash value = hasher.HashValue(entry.version, found.value);
  read.hash_high = value.high;
  read.hash_low = value.low;
  return CompleteHash(hasher, family.name, key, read) ==
         CompleteHash(hasher, family.name, key, entry);
}

Verdict VerdictOf(const ElementHasher& hasher, const Family& family,
                  std::string_view key, const StoredEntry& entry,
                  const Examination& found) {
  if (!SaysAnything(entry)) return Verdict::kDiffers;
  if (!entry.tombstone && found.corrupt) return Verdict::kUnreadable;
  if (!HashFits(hasher, family, key, entry, found)) return Verdict::kDiffers;
  if (!entry.tombstone) return Verdict::kMatches;
  if (found.corrupt) return Verdict::kUnreadable;
  return found.has_value ? Verdict::kShows : Verdict::kMatches;
}

// Returns the entry that fits if one bit of `bytes` is flipped back. A
// tombstone that has no hash yet fits anything, so it does not count.
std::optional<StoredEntry> Mend(const IndexReader& reader, const Family& family,
                                std::string_view key, std::string_view bytes,
                                const Examination& found) {
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    StoredEntry entry;
    if (ParseEntry(WithBitFlipped(bytes, bit), reader.home(), &entry) &&
        !(entry.tombstone && entry.pending) &&
        HashFits(reader.hasher(), family, key, entry, found)) {
      return entry;
    }
  }
  return std::nullopt;
}

Status ReadPair(rocksdb::DB* db, const Family& family, std::string_view key,
                Examination* out) {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  const Status status =
      GetPlain(db, options, family, key, &out->value, &out->entity);
  out->has_value = status.ok();
  out->corrupt = status.IsCorruption();
  out->lost = status.IsPathNotFound();
  return status.IsNotFound() || out->corrupt || out->lost ? Status::OK()
                                                          : status;
}

}  // namespace

Status NewestSequence(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* family,
                      const Slice& key, uint64_t* sequence) {
  *sequence = 0;
  std::vector<rocksdb::KeyVersion> versions;
  const Status status =
      rocksdb::GetAllKeyVersions(db, family, key, key, 1, &versions);
  if (status.ok() && !versions.empty()) {
    *sequence = versions.front().sequence;
  }
  return status;
}

Status Examine(const IndexReader& reader, const Family& family,
               const IndexKey& key, Examination* out) {
  std::string index_key;
  AppendIndexKey(&index_key, key);
  std::string bytes;
  Status status = reader.db()->Get(rocksdb::ReadOptions(), reader.index(),
                                   index_key, &bytes);
  if (!status.ok() && !status.IsNotFound()) return IndexError(status);
  const bool known = status.ok();
  status = ReadPair(reader.db(), family, key.key, out);
  if (!status.ok()) return status;
  if (!known) return status;
  const ElementHasher& hasher = reader.hasher();
  if (!ParseEntry(bytes, reader.home(), &out->entry)) {
    out->entry = UnknownEntry();
    out->entry.damaged = true;
  }
  out->verdict = out->entity
                     ? Verdict::kEntity
                     : VerdictOf(hasher, family, key.key, out->entry, *out);
  if (out->verdict == Verdict::kDiffers) {
    const auto mended = Mend(reader, family, key.key, bytes, *out);
    if (mended.has_value()) {
      out->entry = *mended;
      out->repaired = true;
      out->verdict = VerdictOf(hasher, family, key.key, out->entry, *out);
    }
  }
  if (IsCollected(out->entry, reader.stable_time())) {
    out->verdict = Verdict::kUnknown;
  }
  return status;
}

}  // namespace rocksync
