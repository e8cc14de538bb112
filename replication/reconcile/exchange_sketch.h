// The sketch of what is undecided: the planner sends power sums of short ids,
// the answerer decodes the difference and names what it lacks.

#ifndef ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_SKETCH_H_
#define ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_SKETCH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sketch/pinsketch/keyed_set.h"

namespace rocksync {

// The most power sums of a group; a group that needs more is left to a retry.
inline constexpr uint32_t kMaxSums = 512;
// Returns the bytes of memory that decoding kMaxSums sums takes.
size_t MostDecodingBytes();

// Differences in a group that was given up, for each power sum it has had.
inline constexpr double kLeftOfGroup = 1.1;

// An answer says which groups are decoded, and names what the answerer lacks in
// them:
//   [more (varint) if partial] [decoded (a bit a group) if partial and of more
//   than one group] | names
//   names = empty if partial and nothing is decoded
//         | count (varint) [| check (2) | ranks (gap_coding.h), if count > 0]
// Ranks count through the decoded groups in order.

// The planner's side of a sketch.
class SketchSender {
 public:
  // `open` are the undecided elements; they must outlive the sender.
  SketchSender(const KeyedSet* open, const IdShape& shape);

  const IdShape& shape() const { return shape_; }
  uint32_t sums() const { return sums_; }  // per pending group, so far
  size_t pending() const { return pending_.size(); }

  // Appends `count` more power sums of every pending group.
  void AppendSums(uint32_t count, std::string* out);

  // Takes the body of an answer. Appends to `*missing` the ordinals of the
  // elements named, none if the names do not check. `*more` is how many sums in
  // all the answerer wants for the groups still pending; 0 if it is done.
  absl::Status ReceiveAnswer(bool partial, std::string_view body,
                             std::vector<uint32_t>* missing, uint32_t* more);

  // Returns how many answers had names that did not check.
  uint32_t unconfirmed() const { return unconfirmed_; }

 private:
  absl::Status ReceiveNames(std::string_view body,
                            const std::vector<uint32_t>& decoded,
                            std::vector<uint32_t>* missing);

  const KeyedSet* const open_;
  const IdShape shape_;
  ShortIds ids_;
  std::vector<uint32_t> pending_;
  uint32_t sums_ = 0;
  uint32_t unconfirmed_ = 0;
};

// The answerer's side of a sketch.
class SketchDecoder {
 public:
  // `surplus` is by how much this side's elements outnumber the planner's, if
  // known; it serves as a check where sums are few.
  SketchDecoder(const KeyedSet* open, const IdShape& shape,
                std::optional<int64_t> surplus);

  const IdShape& shape() const { return shape_; }
  uint32_t sums() const { return sums_; }
  size_t pending() const { return pending_.size(); }

  // Takes further power sums of every pending group and decodes what can be
  // decoded. Appends the ordinals of this side's elements that the planner
  // lacks.
  absl::Status ReceiveSums(std::string_view bytes,
                           std::vector<uint32_t>* missing);

  // Returns the sizes of the differences decoded by the last ReceiveSums.
  const std::vector<uint32_t>& decoded_sizes() const { return sizes_; }

  // Returns the body of a kPartial (asking for `more` sums in all) or kAnswer
  // for what the last ReceiveSums decoded.
  std::string Answer(bool partial, uint32_t more) const;

 private:
  struct Pending {
    uint32_t group = 0;
    std::vector<uint32_t> sums;
  };
  bool Decode(const Pending& pending, std::vector<uint32_t>* difference) const;

  const KeyedSet* const open_;
  const IdShape shape_;
  const std::optional<int64_t> surplus_;
  ShortIds ids_;
  std::vector<Pending> pending_;
  uint32_t sums_ = 0;

  // Results of the last ReceiveSums:
  std::vector<uint32_t> sizes_;
  std::vector<bool> decoded_;
  std::vector<uint64_t> ranks_;
  uint64_t range_ = 0;
  uint64_t check_ = 0;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_RECONCILE_EXCHANGE_SKETCH_H_
