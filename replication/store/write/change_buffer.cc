#include "replication/store/write/change_buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace rocksync {
namespace {

// Small, so that the buffer drops its oldest changes in small portions.
constexpr size_t kSegmentBytes = size_t{256} << 10;

// The header in front of the bytes of key and value.
struct Head {
  Version version;
  uint64_t source;
  ChangeBuffer::Clock::time_point appended;
  uint32_t family_id;
  uint32_t key_size;
  uint32_t value_size;
  bool tombstone;
  bool left_out;
};

size_t BytesOf(const Change& change) {
  return sizeof(Head) + change.key.size() + change.value.size();
}

Head HeadAt(const char* bytes) {
  Head head;
  std::memcpy(&head, bytes, sizeof head);
  return head;
}

size_t BytesOf(const Head& head) {
  return sizeof(Head) + head.key_size + head.value_size;
}

Change ChangeAt(const char* bytes, const Head& head) {
  Change change;
  change.family_id = head.family_id;
  change.key = {bytes + sizeof(Head), head.key_size};
  change.version = head.version;
  change.tombstone = head.tombstone;
  change.value = {bytes + sizeof(Head) + head.key_size, head.value_size};
  change.source = head.source;
  change.left_out = head.left_out;
  return change;
}

}  // namespace

bool ChangeBuffer::passes_on(uint64_t source) const {
  if (passes_all_on_.load(std::memory_order_relaxed)) return true;
  const std::lock_guard lock(mutex_);
  return std::find(reached_.begin(), reached_.end(), source) == reached_.end();
}

void ChangeBuffer::SetPassesOn(bool all, std::vector<uint64_t> reached) {
  const std::lock_guard lock(mutex_);
  reached_ = std::move(reached);
  passes_all_on_.store(all, std::memory_order_release);
}

void ChangeBuffer::Append(std::span<const Change> changes) {
  const Clock::time_point now = Clock::now();
  bool wake = false;
  {
    const std::lock_guard lock(mutex_);
    if (capacity_ == 0) return;  // the last reader has gone
    for (const Change& change : changes) AppendOne(change, now);
    wake = sleepers_ > 0;
  }
  if (wake) changed_.notify_all();
}

// REQUIRES: mutex_ held.
void ChangeBuffer::AppendOne(const Change& change, Clock::time_point now) {
  Change held = change;
  if (change.key.size() + change.value.size() > kMaxChangeBytes) {
    held.left_out = true;
    held.value = {};
    if (change.key.size() > kMaxChangeBytes) held.key = {};
  }
  Segment* const segment = SegmentFor(BytesOf(held));
  const Head head{held.version,
                  held.source,
                  now,
                  held.family_id,
                  static_cast<uint32_t>(held.key.size()),
                  static_cast<uint32_t>(held.value.size()),
                  held.tombstone,
                  held.left_out};
  char* out = segment->bytes.get() + segment->used;
  std::memcpy(out, &head, sizeof head);
  out += sizeof head;
  out = std::copy(held.key.begin(), held.key.end(), out);
  std::copy(held.value.begin(), held.value.end(), out);
  segment->used += BytesOf(held);
  ++segment->count;
  ++end_;
}

// REQUIRES: mutex_ held.
ChangeBuffer::Segment* ChangeBuffer::SegmentFor(size_t bytes) {
  if (!segments_.empty()) {
    Segment* const last = segments_.back().get();
    if (last->size - last->used >= bytes) return last;
  }
  auto segment = std::make_shared<Segment>();
  segment->first = end_ + 1;
  segment->size = std::max(std::min(kSegmentBytes, capacity_), bytes);
  segment->bytes = std::make_unique_for_overwrite<char[]>(segment->size);
  bytes_ += segment->size;
  segments_.push_back(std::move(segment));
  while (bytes_ > capacity_ && segments_.size() > 1) {
    bytes_ -= segments_.front()->size;
    segments_.pop_front();
  }
  return segments_.back().get();
}

uint64_t ChangeBuffer::end() const {
  const std::lock_guard lock(mutex_);
  return end_;
}

ChangeBuffer::Reader::Reader(ChangeBuffer* buffer, size_t capacity_bytes)
    : buffer_(buffer) {
  const std::lock_guard lock(buffer_->mutex_);
  buffer_->capacity_ = capacity_bytes;
  next_ = buffer_->end_ + 1;
  if (!buffer_->segments_.empty()) offset_ = buffer_->segments_.back()->used;
  buffer_->readers_.fetch_add(1, std::memory_order_release);
}

ChangeBuffer::Reader::~Reader() {
  const std::lock_guard lock(buffer_->mutex_);
  if (buffer_->readers_.fetch_sub(1, std::memory_order_release) > 1) return;
  buffer_->segments_.clear();
  buffer_->bytes_ = 0;
  buffer_->capacity_ = 0;
}

void ChangeBuffer::Reader::Wait(Clock::time_point until, bool ignore_changes) {
  std::unique_lock lock(buffer_->mutex_);
  const auto awake = [&] {
    return interrupted_ || (!ignore_changes && next_ <= buffer_->end_);
  };
  if (!awake()) {
    ++buffer_->sleepers_;
    buffer_->changed_.wait_until(lock, until, awake);
    --buffer_->sleepers_;
  }
  interrupted_ = false;
}

void ChangeBuffer::Reader::Interrupt() {
  {
    const std::lock_guard lock(buffer_->mutex_);
    interrupted_ = true;
  }
  buffer_->changed_.notify_all();
}

// Collects the segments with the next changes. Returns false if there is none.
bool ChangeBuffer::Reader::Gather(size_t max_bytes) {
  pieces_.clear();
  const std::lock_guard lock(buffer_->mutex_);
  const auto& segments = buffer_->segments_;
  if (next_ > buffer_->end_) return false;
  if (next_ < segments.front()->first) {
    taken_.lost = buffer_->end_ + 1 - next_;
    next_ = buffer_->end_ + 1;
    offset_ = segments.back()->used;
    taken_.last = buffer_->end_;
    return false;
  }
  size_t bytes = 0;
  uint64_t first = next_;
  size_t begin = offset_;
  for (const auto& segment : segments) {
    if (segment->first + segment->count <= first) continue;
    if (segment->first == first) begin = 0;
    pieces_.push_back({segment, begin, segment->used, first});
    bytes += segment->used - begin;
    if (bytes >= max_bytes) break;
    first = segment->first + segment->count;
  }
  return true;
}

void ChangeBuffer::Reader::Parse(size_t max_bytes) {
  size_t bytes = 0;
  uint64_t next = next_;
  size_t offset = offset_;
  for (const Piece& piece : pieces_) {
    offset = piece.begin;
    while (offset < piece.end && bytes < max_bytes) {
      const char* const at = piece.segment->bytes.get() + offset;
      const Head head = HeadAt(at);
      if (taken_.changes.empty()) taken_.oldest = head.appended;
      taken_.changes.push_back(ChangeAt(at, head));
      offset += BytesOf(head);
      bytes += head.key_size + head.value_size;
      ++next;
    }
    if (bytes >= max_bytes) break;
  }
  taken_.last = next - 1;
  const std::lock_guard lock(buffer_->mutex_);
  next_ = next;
  offset_ = offset;
}

const ChangeBuffer::Reader::Taken& ChangeBuffer::Reader::Take(
    size_t max_bytes) {
  taken_.changes.clear();
  taken_.lost = 0;
  if (Gather(max_bytes)) Parse(std::max<size_t>(max_bytes, 1));
  return taken_;
}

ChangeBuffer::Reader::Backlog ChangeBuffer::Reader::backlog() const {
  const std::lock_guard lock(buffer_->mutex_);
  Backlog backlog;
  backlog.changes = buffer_->end_ + 1 - next_;
  if (backlog.changes == 0) return backlog;
  const auto& segments = buffer_->segments_;
  size_t at = offset_;
  const Segment* segment = segments.front().get();
  for (const auto& one : segments) {
    if (one->first + one->count <= next_) continue;
    segment = one.get();
    break;
  }
  if (segment->first >= next_) at = 0;
  backlog.oldest = HeadAt(segment->bytes.get() + at).appended;
  return backlog;
}

}  // namespace rocksync
