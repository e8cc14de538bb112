#include "replication/protocol/life.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace rocksync {

std::string HexOf(uint64_t replica_id) {
  return absl::StrCat(absl::Hex(replica_id));
}

void Append(const Incarnation& last, uint64_t next_clock, PastLives* past) {
  past->lives.push_back({last, next_clock});
  if (past->lives.size() <= kMaxPastLives) return;
  past->since = past->lives.front().incarnation.counter;
  past->lives.erase(past->lives.begin());
}

Succession Compare(const Life& known, const Life& now) {
  const Incarnation& before = known.incarnation;
  const Incarnation& after = now.incarnation;
  if (after.counter < before.counter) return Succession::kRolledBack;
  if (after.counter == before.counter) {
    return after.random == before.random ? Succession::kFollows
                                         : Succession::kTwin;
  }
  uint64_t next_clock = now.first_clock;
  if (before.counter > now.past.since) {
    const std::vector<PastLife>& lives = now.past.lives;
    const auto it = std::find_if(
        lives.begin(), lives.end(),
        [&](const PastLife& past) { return past.incarnation == before; });
    if (it == lives.end()) return Succession::kOtherLine;
    next_clock = it->next_clock;
  }
  return next_clock < known.clock ? Succession::kClockBack
                                  : Succession::kFollows;
}

Life Later(const Life& known, const Life& now) {
  return {.incarnation = now.incarnation,
          .first_clock = now.first_clock,
          .clock = std::max(known.clock, now.clock)};
}

std::string Describe(Succession succession, const Life& known,
                     const Life& now) {
  switch (succession) {
    case Succession::kFollows:
      return "";
    case Succession::kRolledBack:
      return absl::StrCat("was rolled back: incarnation ",
                          now.incarnation.counter, " after ",
                          known.incarnation.counter);
    case Succession::kTwin:
      return "is one of two with the same identity";
    case Succession::kClockBack:
      return "was rolled back: its clock went back";
    case Succession::kOtherLine:
      return absl::StrCat("was rolled back or copied: incarnation ",
                          now.incarnation.counter,
                          " does not come of incarnation ",
                          known.incarnation.counter, ", which was met");
  }
  return "";
}

}  // namespace rocksync
