#include "replication/store/index/bucket_memtable.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace rocksync {
namespace {

using rocksdb::KeyHandle;
using rocksdb::MemTableRep;
using rocksdb::Slice;

// An internal key ends in 8 bytes of sequence number and type.
constexpr size_t kTagBytes = 8;

// One entry, in the list of its bucket: singly linked and sorted by internal
// key. Nodes are never removed, so a pointer once read stays valid. The entry's
// bytes (as MemTable encodes them) follow the node.
struct Node {
  std::atomic<Node*> next{nullptr};
  // A later node with the same user key, or null. It lets a walk for another
  // key skip a key that was overwritten many times. Set before the node is
  // published.
  Node* run_end = nullptr;

  char* entry() { return reinterpret_cast<char*>(this + 1); }
  const char* entry() const { return reinterpret_cast<const char*>(this + 1); }
};

static_assert(alignof(Node) <= NodeMemory::kAlignment);

// Returns the first 8 bytes of an internal key's user key as a number in the
// same order; a shorter key is padded with zeros.
uint64_t LeadingOf(const Slice& internal_key) {
  uint64_t leading = 0;
  if (internal_key.size() >= kTagBytes + sizeof(leading)) {
    std::memcpy(&leading, internal_key.data(), sizeof(leading));
  } else {
    std::memcpy(&leading, internal_key.data(), internal_key.size() - kTagBytes);
  }
  if constexpr (std::endian::native == std::endian::little) {
    leading = __builtin_bswap64(leading);
  }
  return leading;
}

// The memtable as an array of buckets. Thread safety: any number of readers
// and, through InsertKeyConcurrently, any number of writers, or one writer
// through InsertKey. Only handing out iterators takes a lock.
class BucketRep final : public MemTableRep {
 public:
  BucketRep(const KeyComparator& compare, rocksdb::Allocator* allocator,
            int bucket_bits, std::shared_ptr<ChunkPool> pool,
            std::shared_ptr<ArrayPool> arrays)
      : MemTableRep(allocator),
        compare_(compare),
        shift_(64 - bucket_bits),
        bucket_count_(size_t{1} << bucket_bits),
        memory_(std::move(pool)),
        arrays_(std::move(arrays)),
        bucket_block_(arrays_->Take()),
        buckets_(reinterpret_cast<std::atomic<Node*>*>(bucket_block_.data())),
        occupied_(std::max<size_t>(1, GroupOf(bucket_count_) / 64)) {}
  ~BucketRep() override {
    ClearBuckets();
    arrays_->GiveBack(std::move(bucket_block_));
  }

  KeyHandle Allocate(size_t len, char** buf) override {
    Node* node = new (memory_.Allocate(sizeof(Node) + len)) Node;
    *buf = node->entry();
    return node;
  }
  void MarkReadOnly() override { memory_.DoneAllocating(); }

  void Insert(KeyHandle handle) override { InsertKey(handle); }
  bool InsertKey(KeyHandle handle) override {
    return InsertNode<Writers::kOne>(static_cast<Node*>(handle));
  }
  void InsertConcurrently(KeyHandle handle) override {
    InsertKeyConcurrently(handle);
  }
  bool InsertKeyConcurrently(KeyHandle handle) override {
    return InsertNode<Writers::kMany>(static_cast<Node*>(handle));
  }

  bool Contains(const char* key) const override {
    const Slice target = rocksdb::GetLengthPrefixedSlice(key);
    const Node* node = FirstAtOrAfter(target);
    return node != nullptr && compare_(node->entry(), target) == 0;
  }

  uint64_t ApproximateNumEntries(const Slice& start_ikey,
                                 const Slice& end_ikey) override {
    const uint64_t batch = BucketOf(end_ikey) - BucketOf(start_ikey);
    return entries_.load(std::memory_order_relaxed) * batch / bucket_count_;
  }

  void UniqueRandomSample(const uint64_t num_entries,
                          const uint64_t target_sample_size,
                          std::unordered_set<const char*>* entries) override {
    // Keys are ordered by hash, so the first ones are a sample.
    size_t fetched = 0;
    for (const Node* node = First();
         node != nullptr && entries->size() < target_sample_size;
         node = After(node, &fetched)) {
      entries->insert(node->entry());
    }
  }

  size_t ApproximateMemoryUsage() override {
    // RocksDB compares this with write_buffer_size, which is meant for
    // entries; the array is a fixed cost beside them.
    return memory_.BytesUsed();
  }

  Iterator* GetIterator(rocksdb::Arena* arena) override;
  Iterator* GetDynamicPrefixIterator(rocksdb::Arena* arena) override;

  const void* buckets() const { return buckets_; }

  // Returns the first node of target's bucket whose key is >= target, or null.
  const Node* FirstAtOrAfter(const Slice& target) const {
    const uint64_t leading = LeadingOf(target);
    const Node* node =
        buckets_[leading >> shift_].load(std::memory_order_acquire);
    while (node != nullptr && Order(node, leading, target) < 0) {
      node = Step(node, target);
    }
    return node;
  }
  const Node* LastBefore(const Slice& target, bool or_equal) const;
  const Node* First() const { return FirstFrom(0); }
  const Node* Last() const { return LastUpTo(bucket_count_); }
  // Returns the node after `node`, or null. `*fetched`: the same walk has
  // fetched the buckets before this one into the cache. It is 0 at first; any
  // value is correct.
  const Node* After(const Node* node, size_t* fetched) const {
    const Node* next = node->next.load(std::memory_order_acquire);
    if (next != nullptr) return next;
    const size_t bucket = BucketOf(KeyOf(node)) + 1;
    FetchAhead(bucket, fetched);
    return FirstFrom(bucket);
  }
  const Node* Seek(const Slice& target) const {
    const Node* node = FirstAtOrAfter(target);
    return node != nullptr ? node : FirstFrom(BucketOf(target) + 1);
  }

  static Slice KeyOf(const Node* node) {
    return rocksdb::GetLengthPrefixedSlice(node->entry());
  }

 private:
  friend class PooledCursor;

  static constexpr size_t kFetchAhead = 32;  // buckets
  static constexpr size_t kFetchAtOnce = 8;  // as most walks are short
  static constexpr size_t kGroup = 8;        // buckets, of one cache line

  size_t BucketOf(const Slice& internal_key) const {
    return LeadingOf(internal_key) >> shift_;
  }

  // Compares the node's key with `key` as compare_ does. `leading` is
  // LeadingOf(key).
  int Order(const Node* node, uint64_t leading, const Slice& key) const {
    const uint64_t other = LeadingOf(KeyOf(node));
    if (other != leading) return other < leading ? -1 : 1;
    return compare_(node->entry(), key);
  }

  // Returns a later node than `node`, whose key is < target. Skips the rest of
  // a run if all of it lies before target.
  const Node* Step(const Node* node, const Slice& target) const {
    if (node->run_end != nullptr &&
        compare_(node->run_end->entry(), target) < 0) {
      node = node->run_end;
    }
    return node->next.load(std::memory_order_acquire);
  }

  static bool SameUserKey(const Node* a, const Node* b) {
    const Slice x = KeyOf(a);
    const Slice y = KeyOf(b);
    return x.size() == y.size() &&
           std::memcmp(x.data(), y.data(), x.size() - kTagBytes) == 0;
  }

  // Whether other writers may insert at the same time.
  enum class Writers { kOne, kMany };
  // Returns false if the key exists already.
  template <Writers kWriters>
  bool InsertNode(Node* node);

  // Makes *link point to `node` if it still is `expected`. Otherwise another
  // writer came first: returns false and sets `expected` to the present value.
  // A single writer uses no locked instruction, which would wait for the stores
  // to the node, mostly in memory that no cache holds.
  template <Writers kWriters>
  bool Link(std::atomic<Node*>* link, Node*& expected, Node* node) {
    if constexpr (kWriters == Writers::kMany) {
      if (!link->compare_exchange_strong(expected, node,
                                         std::memory_order_acq_rel)) {
        return false;
      }
      entries_.fetch_add(1, std::memory_order_relaxed);
    } else {
      link->store(node, std::memory_order_release);
      entries_.store(entries_.load(std::memory_order_relaxed) + 1,
                     std::memory_order_relaxed);
    }
    return true;
  }

  // Fetches a node with its entry's key, which mostly lie in two cache lines.
  static void FetchLines(const Node* node) {
    constexpr size_t kLine = 64;
    __builtin_prefetch(node);
    __builtin_prefetch(reinterpret_cast<const char*>(node) + kLine);
  }
  // Fetches what a walk will need soon. Nodes lie at random, so a walk such as
  // a flush would wait for each. This fetches the lists some buckets ahead, and
  // once those have arrived, what their nodes point to.
  void FetchAhead(size_t bucket, size_t* fetched) const {
    const size_t begin = std::max(bucket, *fetched);
    const size_t end =
        std::min({bucket + kFetchAhead, begin + kFetchAtOnce, bucket_count_});
    for (size_t i = begin; i < end; ++i) {
      const Node* const ahead = buckets_[i].load(std::memory_order_acquire);
      if (ahead != nullptr) FetchLines(ahead);
      if (i < kFetchAhead / 2) continue;
      const Node* const near =
          buckets_[i - kFetchAhead / 2].load(std::memory_order_acquire);
      if (near == nullptr) continue;
      const Node* const next = near->next.load(std::memory_order_acquire);
      if (next != nullptr) FetchLines(next);
    }
    *fetched = end;
  }

  static size_t GroupOf(size_t bucket) { return bucket / kGroup; }
  bool IsOccupied(size_t group) const {
    return (occupied_[group / 64].load(std::memory_order_acquire) >>
                (group % 64) &
            1) != 0;
  }
  // Marks the bucket's group as occupied; called before a node is put into an
  // empty bucket. Mostly the group was written to before, and nothing is
  // written here.
  void Occupy(size_t bucket) {
    const size_t group = GroupOf(bucket);
    if (IsOccupied(group)) return;
    occupied_[group / 64].fetch_or(uint64_t{1} << (group % 64),
                                   std::memory_order_release);
  }

  // Empties the buckets here, in the thread that drops the memtable, not in a
  // writer that waits for one; word by word, since FetchNode may still read
  // them in other threads. Few are occupied in most memtables of a small
  // database, and no other is touched.
  void ClearBuckets() {
    for (size_t word = 0; word < occupied_.size(); ++word) {
      uint64_t groups = occupied_[word].load(std::memory_order_acquire);
      for (; groups != 0; groups &= groups - 1) {
        const size_t begin = (word * 64 + std::countr_zero(groups)) * kGroup;
        for (size_t i = begin; i < begin + kGroup; ++i) {
          buckets_[i].store(nullptr, std::memory_order_relaxed);
        }
      }
    }
  }

  // Returns the first node of the buckets from `bucket` on, or null.
  const Node* FirstFrom(size_t bucket) const {
    while (bucket < bucket_count_) {
      const size_t group = GroupOf(bucket);
      const uint64_t later =
          occupied_[group / 64].load(std::memory_order_acquire) >> (group % 64);
      if (later == 0) {
        bucket = (group / 64 + 1) * 64 * kGroup;
        continue;
      }
      bucket = std::max(bucket, (group + std::countr_zero(later)) * kGroup);
      for (size_t left = kGroup - bucket % kGroup; left > 0; --left) {
        const Node* node = buckets_[bucket++].load(std::memory_order_acquire);
        if (node != nullptr) return node;
      }
    }
    return nullptr;
  }

  // Returns the last node of the buckets before `bucket`, or null.
  const Node* LastUpTo(size_t bucket) const {
    while (bucket > 0) {
      const size_t group = GroupOf(bucket - 1);
      const uint64_t earlier =
          occupied_[group / 64].load(std::memory_order_acquire)
          << (63 - group % 64);
      if (earlier == 0) {
        bucket = group / 64 * 64 * kGroup;
        continue;
      }
      const size_t last = group - std::countl_zero(earlier);
      bucket = std::min(bucket, (last + 1) * kGroup);
      while (bucket > last * kGroup) {
        const Node* node = buckets_[--bucket].load(std::memory_order_acquire);
        if (node != nullptr) return LastOf(node);
      }
    }
    return nullptr;
  }

  // Returns the last node of the list that begins with `node`.
  static const Node* LastOf(const Node* node) {
    while (const Node* next = node->next.load(std::memory_order_acquire)) {
      node = next;
    }
    return node;
  }

  const KeyComparator& compare_;
  const int shift_;
  const size_t bucket_count_;
  NodeMemory memory_;
  const std::shared_ptr<ArrayPool> arrays_;
  PageBlock bucket_block_;
  std::atomic<Node*>* const buckets_;
  // Bit i % 64 of word i / 64: a bucket of group i was written to. Lets a walk
  // skip empty buckets 512 at a time.
  std::vector<std::atomic<uint64_t>> occupied_;
  std::atomic<uint64_t> entries_{0};

  // Storage of the iterators that are made with an arena; see PooledCursor.
  std::mutex pool_mutex_;
  std::unordered_map<std::thread::id, std::vector<void*>> retired_;
  std::vector<std::unique_ptr<char[]>> pool_;
};

template <BucketRep::Writers kWriters>
bool BucketRep::InsertNode(Node* node) {
  const Slice key = KeyOf(node);
  const uint64_t leading = LeadingOf(key);
  const size_t bucket = leading >> shift_;
  std::atomic<Node*>* link = &buckets_[bucket];
  Node* after = link->load(std::memory_order_acquire);
  if (after == nullptr) Occupy(bucket);
  while (true) {
    int order = 1;
    while (after != nullptr && (order = Order(after, leading, key)) < 0) {
      if (after->run_end != nullptr &&
          compare_(after->run_end->entry(), key) < 0) {
        after = after->run_end;
      }
      link = &after->next;
      after = link->load(std::memory_order_acquire);
      order = 1;
    }
    if (after != nullptr && order == 0) return false;
    node->next.store(after, std::memory_order_relaxed);
    node->run_end = nullptr;
    if (after != nullptr && SameUserKey(after, node)) {
      node->run_end = after->run_end != nullptr ? after->run_end : after;
    }
    // After a failure `after` is the node that came between: go on from there.
    if (Link<kWriters>(link, after, node)) return true;
  }
}

const Node* BucketRep::LastBefore(const Slice& target, bool or_equal) const {
  const size_t bucket = BucketOf(target);
  const Node* best = nullptr;
  for (const Node* node = buckets_[bucket].load(std::memory_order_acquire);
       node != nullptr; node = node->next.load(std::memory_order_acquire)) {
    const int order = compare_(node->entry(), target);
    if (order > 0 || (order == 0 && !or_equal)) break;
    best = node;
  }
  return best != nullptr ? best : LastUpTo(bucket);
}

class Cursor : public MemTableRep::Iterator {
 public:
  explicit Cursor(const BucketRep* rep) : rep_(rep) {}

  bool Valid() const override { return node_ != nullptr; }
  const char* key() const override { return node_->entry(); }
  void Next() override { node_ = rep_->After(node_, &fetched_); }
  void Prev() override {
    node_ = rep_->LastBefore(BucketRep::KeyOf(node_), /*or_equal=*/false);
  }
  void Seek(const Slice& internal_key, const char* memtable_key) override {
    node_ = rep_->Seek(Target(internal_key, memtable_key));
  }
  void SeekForPrev(const Slice& internal_key,
                   const char* memtable_key) override {
    node_ = rep_->LastBefore(Target(internal_key, memtable_key),
                             /*or_equal=*/true);
  }
  void SeekToFirst() override { node_ = rep_->First(); }
  void SeekToLast() override { node_ = rep_->Last(); }

 private:
  static Slice Target(const Slice& internal_key, const char* memtable_key) {
    return memtable_key != nullptr
               ? rocksdb::GetLengthPrefixedSlice(memtable_key)
               : internal_key;
  }

  const BucketRep* rep_;
  const Node* node_ = nullptr;
  size_t fetched_ = 0;
};

// The iterator for callers that pass an arena. The arena's type is not public,
// and such callers run the destructor but never free, so the rep owns the
// storage. The destructor returns it for the next iterator of the same thread:
// only that thread can be sure that the destructor has ended.
class PooledCursor final : public Cursor {
 public:
  static PooledCursor* New(BucketRep* rep) {
    void* memory = nullptr;
    {
      std::lock_guard lock(rep->pool_mutex_);
      auto mine = rep->retired_.find(std::this_thread::get_id());
      if (mine != rep->retired_.end() && !mine->second.empty()) {
        memory = mine->second.back();
        mine->second.pop_back();
      } else {
        rep->pool_.push_back(std::make_unique<char[]>(sizeof(PooledCursor)));
        memory = rep->pool_.back().get();
      }
    }
    return new (memory) PooledCursor(rep);
  }

  ~PooledCursor() override {
    std::lock_guard lock(owner_->pool_mutex_);
    owner_->retired_[std::this_thread::get_id()].push_back(this);
  }

 private:
  explicit PooledCursor(BucketRep* rep) : Cursor(rep), owner_(rep) {}

  BucketRep* owner_;
};

MemTableRep::Iterator* BucketRep::GetIterator(rocksdb::Arena* arena) {
  if (arena == nullptr) return new Cursor(this);
  return PooledCursor::New(this);
}

// The iterator of a lookup. RocksDB's MemTableRep::Get asks for one without an
// arena and never deletes it, so each thread has one, which `delete` leaves
// alone. No lookup runs inside another.
class LookupCursor final : public Cursor {
 public:
  static LookupCursor* New(const BucketRep* rep) {
    alignas(LookupCursor) thread_local char memory[sizeof(LookupCursor)];
    return ::new (memory) LookupCursor(rep);
  }
  static void operator delete(void*) {}

 private:
  using Cursor::Cursor;
};

MemTableRep::Iterator* BucketRep::GetDynamicPrefixIterator(
    rocksdb::Arena* arena) {
  if (arena == nullptr) return LookupCursor::New(this);
  return GetIterator(arena);
}

// Returns the size of a chunk: a huge page if the buffer has room for a few,
// else a sixteenth of the buffer.
size_t ChunkBytes(size_t write_buffer_bytes) {
  constexpr size_t kPage = 4096;
  constexpr size_t kHugePage = size_t{2} << 20;
  if (write_buffer_bytes >= 4 * kHugePage) return kHugePage;
  return std::max(kPage, write_buffer_bytes / 16 / kPage * kPage);
}

}  // namespace

BucketMemtableFactory::BucketMemtableFactory(
    int bucket_bits, size_t write_buffer_bytes,
    std::shared_ptr<rocksdb::WriteBufferManager> budget)
    : bucket_bits_(bucket_bits),
      pool_(std::make_shared<ChunkPool>(ChunkBytes(write_buffer_bytes),
                                        write_buffer_bytes, std::move(budget))),
      arrays_(std::make_shared<ArrayPool>((size_t{1} << bucket_bits) *
                                          sizeof(std::atomic<Node*>))) {
  assert(bucket_bits >= 6 && bucket_bits <= 24);
}

void BucketMemtableFactory::FetchNode(uint64_t leading) const {
  const auto* const buckets = static_cast<const std::atomic<Node*>*>(
      youngest_.load(std::memory_order_acquire));
  if (buckets == nullptr) return;
  // Cast to a number: the bucket may be empty, and a null pointer has no second
  // cache line.
  const auto node = reinterpret_cast<uintptr_t>(
      buckets[leading >> (64 - bucket_bits_)].load(std::memory_order_relaxed));
  __builtin_prefetch(reinterpret_cast<const void*>(node), /*rw=*/1);
  __builtin_prefetch(
      reinterpret_cast<const void*>(node + sizeof(Node) + 2 * sizeof(leading)));
}

MemTableRep* BucketMemtableFactory::CreateMemTableRep(
    const MemTableRep::KeyComparator& compare, rocksdb::Allocator* allocator,
    const rocksdb::SliceTransform*, rocksdb::Logger*) {
  auto* rep = new BucketRep(compare, allocator, bucket_bits_, pool_, arrays_);
  youngest_.store(rep->buckets(), std::memory_order_release);
  return rep;
}

const char* BucketMemtableFactory::Name() const {
  return rocksdb::SkipListFactory::kClassName();
}

}  // namespace rocksync
