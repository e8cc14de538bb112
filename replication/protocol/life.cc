#include "replication/protocol/life.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace rocksync {

std::string HexOf(uint64_t replica_id) {
  return absl::StrCat(absl::Hex(replica_id));
}

Succession Compare(const Life& known, const Life& now) {
  const Incarnation& before = known.incarnation;
  const Incarnation& after = now.incarnation;
  if (after.counter < before.counter) return Succession::kRolledBack;
  if (after.counter == before.counter) {
    return after.random == before.random ? Succession::kFollows
                                         : Succession::kTwin;
  }
  return now.first_clock < known.clock ? Succession::kClockBack
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
  }
  return "";
}

}  // namespace rocksync
