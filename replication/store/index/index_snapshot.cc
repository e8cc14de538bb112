#include "replication/store/index/index_snapshot.h"

#include <map>
#include <utility>

#include "replication/base/status.h"
#include "replication/store/format/index_key.h"
#include "replication/store/index/key_walk.h"
#include "replication/store/index/plain_value.h"

namespace rocksync {
namespace {

class IndexSnapshot final : public StorageSnapshot {
 public:
  IndexSnapshot(const IndexReader& reader,
                std::shared_ptr<const FamilyTable> families,
                LeafDigests::DigestSnapshot readied, StillHolds still_holds,
                CorruptionFound corruption, DigestsWrong wrong, ReadsDone read)
      : reader_(reader),
        families_(std::move(families)),
        readied_(std::move(readied)),
        still_holds_(std::move(still_holds)),
        corruption_(std::move(corruption)),
        wrong_(std::move(wrong)),
        read_(std::move(read)) {}

  std::span<const Digest> LeafDigests() const override {
    return *readied_.leaves;
  }
  uint64_t LeftOut() const override { return readied_.quarantined; }

  // Without this check a session that reads or ships much would go on for as
  // long as its rate limits, or the link, take.
  absl::Status CheckHolds() const override {
    return still_holds_ ? still_holds_() : absl::OkStatus();
  }

  absl::Status ScanPositions(uint64_t first, uint64_t last,
                             const Visit& visit) const override {
    const absl::Status holds = CheckHolds();
    if (!holds.ok()) return holds;
    IndexCursor* const cursor = ScanCursor();
    // After a scan the cursor already stands where the next one may begin.
    const bool goes_on = scanned_last_.has_value() && *scanned_last_ < first;
    if (!goes_on || !cursor->status().ok() ||
        (cursor->Valid() && cursor->key().position < first)) {
      cursor->Seek(std::max<uint64_t>(first, 1));  // no entry has position 0
    }
    uint64_t scanned = 0;
    for (; cursor->Valid() && cursor->key().position <= last; cursor->Next()) {
      if (!cursor->Counts()) continue;
      visit(cursor->key().position, cursor->Hash());
      ++scanned;
    }
    scanned_last_ = last;
    Read(scanned);
    return ToAbsl(cursor->status());
  }

  void DigestsDisagree() const override {
    if (wrong_) wrong_();
  }

  absl::StatusOr<IndexEntry> FindElement(
      uint64_t position, const ElementHash& hash) const override {
    const absl::Status holds = CheckHolds();
    if (!holds.ok()) return holds;
    Read(1);
    IndexCursor* const cursor = LookupCursor();
    cursor->Seek(position);
    return FindAt({position, hash}, cursor);
  }

  // Finds dense elements by a walk over the entries between them, others by a
  // look-up each.
  std::vector<absl::StatusOr<IndexEntry>> FindElements(
      std::span<const PlacedElement> elements, size_t max_bytes,
      const std::function<bool()>& cancelled) const override {
    std::vector<absl::StatusOr<IndexEntry>> entries;
    if (elements.empty()) return entries;
    // Checked once for a slice: it is read quickly, except for the pauses of
    // the rate limit, which end when the check fails.
    const absl::Status holds = CheckHolds();
    if (!holds.ok()) {
      entries.emplace_back(holds);
      return entries;
    }
    entries.reserve(elements.size());
    const bool dense = AreDense(elements);
    IndexCursor* const cursor = dense ? ScanCursor() : LookupCursor();
    if (dense) {
      cursor->Seek(elements.front().position);
      scanned_last_.reset();
    }
    size_t bytes = 0;
    for (const PlacedElement& element : elements) {
      if (bytes > max_bytes || (cancelled && cancelled())) break;
      Read(1);
      if (!dense) cursor->Seek(element.position);
      while (dense && cursor->Valid() &&
             cursor->key().position < element.position) {
        cursor->Next();
      }
      absl::StatusOr<IndexEntry> entry = FindAt(element, cursor);
      // After an error the cursor may be anywhere. If two elements share a
      // position, it may have passed this one.
      if (dense && !entry.ok() && !absl::IsDataLoss(entry.status())) {
        entry = FindElement(element.position, element.hash);
      }
      if (entry.ok()) bytes += entry->key.size();
      entries.push_back(std::move(entry));
    }
    return entries;
  }

  absl::StatusOr<std::optional<IndexEntry>> FindKey(
      uint32_t ordinal, std::string_view key) const override {
    const absl::StatusOr<std::optional<StoredEntry>> found =
        Lookup(ordinal, key);
    if (!found.ok()) return found.status();
    if (!found->has_value() || (*found)->quarantined) return std::nullopt;
    const StoredEntry& entry = **found;
    return IndexEntry{
        ordinal, std::string(key), entry.version, entry.tombstone,
        CompleteHash(reader_.hasher(), families_->families()[ordinal].name, key,
                     entry)};
  }

  absl::StatusOr<bool> LeavesOut(uint32_t ordinal,
                                 std::string_view key) const override {
    const absl::StatusOr<std::optional<StoredEntry>> found =
        Lookup(ordinal, key);
    if (!found.ok()) return found.status();
    return found->has_value() && (*found)->quarantined;
  }

  absl::StatusOr<std::string> ReadValue(
      const IndexEntry& entry) const override {
    if (entry.family >= families_->families().size() || entry.tombstone) {
      return absl::InvalidArgumentError("no value to read");
    }
    const absl::Status holds = CheckHolds();
    if (!holds.ok()) return holds;
    Read(1);
    const Family& family = families_->families()[entry.family];
    rocksdb::ReadOptions options;
    options.snapshot = at();
    std::string value;
    if (ReadPlainly(options, family, entry, &value)) return value;
    bool entity = false;
    const rocksdb::Status status =
        GetPlain(reader_.db(), options, family, entry.key, &value, &entity);
    // Returns other errors. Reexamine has a missing or corrupt pair compared
    // with its current entry.
    if (!status.ok() && !status.IsNotFound() && !status.IsCorruption() &&
        !status.IsPathNotFound()) {
      return ToAbsl(status);
    }
    if (status.ok() && !entity && Agrees(family, entry, value)) return value;
    return Reexamine(family, entry.key);
  }

  absl::Status CheckEntry(const IndexEntry& entry) const override {
    if (!entry.tombstone) return ReadValue(entry).status();
    if (entry.family >= families_->families().size()) {
      return absl::InvalidArgumentError("an entry of an unknown family");
    }
    const Family& family = families_->families()[entry.family];
    if (reader_.hasher().HashTombstone(family.name, entry.key, entry.version) ==
        entry.hash) {
      return absl::OkStatus();
    }
    return Reexamine(family, entry.key);
  }

  std::unique_ptr<ValueReader> NewValueReader(size_t values) const override {
    return std::make_unique<InKeyOrder>(this, values);
  }

 private:
  // Reads values by going from one to the next, where that is faster than a
  // look-up for each.
  class InKeyOrder final : public ValueReader {
   public:
    InKeyOrder(const IndexSnapshot* snapshot, size_t values)
        : snapshot_(snapshot),
          walk_(snapshot->reader_.db(), snapshot->at(), values) {}

    absl::StatusOr<std::string> Read(const IndexEntry& entry) override {
      const absl::Status holds = snapshot_->CheckHolds();
      if (!holds.ok()) return holds;
      const Family* const family = snapshot_->PlainFamilyOf(entry);
      std::string_view value;
      if (family != nullptr && walk_.Find(*family, entry.key, &value) &&
          snapshot_->Agrees(*family, entry, value)) {
        snapshot_->Read(1);
        return std::string(value);
      }
      return snapshot_->ReadValue(entry);
    }

   private:
    const IndexSnapshot* const snapshot_;
    KeyWalk walk_;
  };

  // Returns the family of a live entry; null if it is unknown, or has values in
  // blob files, all of which a walk would read.
  const Family* PlainFamilyOf(const IndexEntry& entry) const {
    if (entry.family >= families_->families().size() || entry.tombstone) {
      return nullptr;
    }
    const Family& family = families_->families()[entry.family];
    return HasBlobs(family) ? nullptr : &family;
  }

  // Reads value and columns by one look-up; returns false where that is not
  // possible. Of a value in a blob file RocksDB 7.8 returns the blob reference,
  // which matches no hash.
  bool ReadPlainly(const rocksdb::ReadOptions& options, const Family& family,
                   const IndexEntry& entry, std::string* value) const {
    if (HasBlobs(family)) return false;
    rocksdb::PinnableWideColumns read;
    if (!GetColumns(reader_.db(), options, family, entry.key, &read).ok() ||
        !IsPlain(read.columns())) {
      return false;
    }
    const rocksdb::Slice& plain = read.columns().front().value();
    const std::string_view bytes(plain.data(), plain.size());
    if (!Agrees(family, entry, bytes)) return false;
    value->assign(bytes);
    return true;
  }
  bool Agrees(const Family& family, const IndexEntry& entry,
              std::string_view value) const {
    return reader_.hasher().HashPair(
               family.name, entry.key, entry.version,
               reader_.hasher().HashValue(entry.version, value)) == entry.hash;
  }
  bool HasBlobs(const Family& family) const {
    const auto known = blobs_.find(family.id);
    if (known != blobs_.end()) return known->second;
    uint64_t files = 0;
    const bool blobs =
        !reader_.db()->GetIntProperty(
            family.handle(), rocksdb::DB::Properties::kNumBlobFiles, &files) ||
        files > 0;
    return blobs_.emplace(family.id, blobs).first->second;
  }

  // Finds the element among the entries at its position.
  // REQUIRES: the cursor stands at the first entry there, if there is any.
  absl::StatusOr<IndexEntry> FindAt(const PlacedElement& element,
                                    IndexCursor* cursor) const {
    for (; cursor->At(element.position); cursor->Next()) {
      if (cursor->Counts() && cursor->Hash() == element.hash) {
        if (!IsItself(*cursor)) {
          return Reexamine(std::string(cursor->index_key()));
        }
        return IndexEntry{
            cursor->family()->ordinal, std::string(cursor->key().key),
            cursor->entry().version, cursor->entry().tombstone, element.hash};
      }
    }
    if (!cursor->status().ok()) return ToAbsl(cursor->status());
    return absl::NotFoundError("no such element in the snapshot");
  }

  // Whether a walk is faster: a step of a cursor takes about an eighth of the
  // time of a look-up.
  bool AreDense(std::span<const PlacedElement> elements) const {
    constexpr double kStepsOfALookup = 8;
    uint64_t total = 0;
    for (const Digest& leaf : *readied_.leaves) total += leaf.count;
    const uint64_t range = elements.back().position - elements.front().position;
    const double walked =
        static_cast<double>(total) * (static_cast<double>(range) * 0x1p-64);
    return walked < kStepsOfALookup * static_cast<double>(elements.size());
  }

  void Read(uint64_t count) const {
    if (read_) read_(count, [this] { return !CheckHolds().ok(); });
  }
  // Returns what the index has of a key, even if it is quarantined; nullopt:
  // nothing.
  absl::StatusOr<std::optional<StoredEntry>> Lookup(
      uint32_t ordinal, std::string_view key) const {
    if (ordinal >= families_->families().size()) {
      return absl::InvalidArgumentError("a key of an unknown family");
    }
    const absl::Status holds = CheckHolds();
    if (!holds.ok()) return holds;
    Read(1);
    const Family& family = families_->families()[ordinal];
    StoredEntry entry;
    const rocksdb::Status status = reader_.Get(
        at(), stable_time(),
        {reader_.hasher().Position(family.name, key), family.id, key}, &entry);
    if (status.IsNotFound()) return std::nullopt;
    if (!status.ok()) return ToAbsl(status);
    return entry;
  }
  // Whether the entry is what a peer computes from family, key and version. The
  // hash of a live entry is checked when its value is read.
  bool IsItself(const IndexCursor& cursor) const {
    const std::string& family = cursor.family()->name;
    const IndexKey& key = cursor.key();
    if (reader_.hasher().Position(family, key.key) != key.position) {
      return false;
    }
    return !cursor.entry().tombstone ||
           reader_.hasher().HashTombstone(
               family, key.key, cursor.entry().version) == cursor.Hash();
  }
  absl::Status Reexamine(const Family& family, std::string_view key) const {
    std::string index_key;
    AppendIndexKey(&index_key, {reader_.hasher().Position(family.name, key),
                                family.id, key});
    return Reexamine(index_key);
  }
  absl::Status Reexamine(const std::string& index_key) const {
    if (corruption_ != nullptr) corruption_(index_key);
    return absl::DataLossError("a pair does not match its index entry");
  }

  const rocksdb::Snapshot* at() const {
    return readied_.snapshot == nullptr ? nullptr : readied_.snapshot->get();
  }
  uint64_t stable_time() const {
    return readied_.snapshot == nullptr ? reader_.stable_time()
                                        : readied_.snapshot->stable_time();
  }
  // ScanCursor and LookupCursor make their cursor when it is first needed, and
  // reuse it: making one costs more than a seek.
  IndexCursor* ScanCursor() const {
    if (scan_ == nullptr) {
      scan_ = std::make_unique<IndexCursor>(
          reader_, *families_, at(), stable_time(), IndexCursor::Order::kTotal);
    }
    return scan_.get();
  }
  IndexCursor* LookupCursor() const {
    if (lookup_ == nullptr) {
      lookup_ = std::make_unique<IndexCursor>(
          reader_, *families_, at(), stable_time(),
          IndexCursor::Order::kWithinPosition);
    }
    return lookup_.get();
  }

  const IndexReader& reader_;
  const std::shared_ptr<const FamilyTable> families_;
  const LeafDigests::DigestSnapshot readied_;
  const StillHolds still_holds_;
  const CorruptionFound corruption_;
  const DigestsWrong wrong_;
  const ReadsDone read_;
  mutable std::unique_ptr<IndexCursor> scan_;
  // scan_ stands at the first entry that is in this leaf or a later one.
  mutable std::optional<uint64_t> scanned_last_;
  mutable std::unique_ptr<IndexCursor> lookup_;
  mutable std::map<uint32_t, bool> blobs_;  // by family id
};

}  // namespace

std::unique_ptr<StorageSnapshot> NewIndexSnapshot(
    const IndexReader& reader, std::shared_ptr<const FamilyTable> families,
    LeafDigests::DigestSnapshot readied, StillHolds still_holds,
    CorruptionFound corruption, DigestsWrong wrong, ReadsDone read) {
  return std::make_unique<IndexSnapshot>(
      reader, std::move(families), std::move(readied), std::move(still_holds),
      std::move(corruption), std::move(wrong), std::move(read));
}

}  // namespace rocksync
