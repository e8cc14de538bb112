#include "replication/session/difference.h"

namespace rocksync {

bool Same(const Held& a, const Held& b) {
  if (a.state != b.state) return false;
  if (a.state == Held::State::kNothing) return true;
  return a.version == b.version &&
         (a.state == Held::State::kTombstone || a.hash == b.hash);
}

DifferenceKind KindOf(const Difference& difference) {
  if (difference.mine.state == Held::State::kNothing) {
    return DifferenceKind::kMissingHere;
  }
  if (difference.theirs.state == Held::State::kNothing) {
    return DifferenceKind::kMissingThere;
  }
  return difference.mine.version == difference.theirs.version
             ? DifferenceKind::kContent
             : DifferenceKind::kVersion;
}

bool StillDiffers(const Difference& first, const Difference& now) {
  if (Same(now.mine, now.theirs)) return false;
  const DifferenceKind kind = KindOf(first);
  if (kind == DifferenceKind::kContent) {
    return KindOf(now) == DifferenceKind::kContent &&
           now.mine.version == first.mine.version;
  }
  const bool mine_was_behind = kind == DifferenceKind::kMissingHere ||
                               (kind == DifferenceKind::kVersion &&
                                first.mine.version < first.theirs.version);
  const Version& due =
      mine_was_behind ? first.theirs.version : first.mine.version;
  const Held& behind = mine_was_behind ? now.mine : now.theirs;
  return behind.state == Held::State::kNothing || behind.version < due;
}

}  // namespace rocksync
