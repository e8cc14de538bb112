#include "replication/protocol/life.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sketch/coding.h"

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

bool Unite(const Life& other, Life* known) {
  if (other.incarnation.counter == 0) return true;
  const uint64_t clock = std::max(known->clock, other.clock);
  if (Compare(*known, other) == Succession::kFollows) {
    *known = other;
  } else if (Compare(other, *known) != Succession::kFollows) {
    return false;
  }
  known->clock = clock;
  return true;
}

void Shorten(uint64_t clock, PastLives* past) {
  std::vector<PastLife>& lives = past->lives;
  size_t out = 0;
  while (out < lives.size() && lives[out].next_clock <= clock) ++out;
  if (out == 0) return;
  past->since = std::max(past->since, lives[out - 1].incarnation.counter);
  lives.erase(lives.begin(), lives.begin() + static_cast<ptrdiff_t>(out));
}

void EncodePast(const PastLives& past, std::string* out) {
  PutVarint64(out, past.since);
  PutVarint64(out, past.lives.size());
  for (const PastLife& life : past.lives) {
    PutVarint64(out, life.incarnation.counter);
    PutFixed64(out, life.incarnation.random);
    PutFixed64(out, life.next_clock);
  }
}

bool DecodePast(std::string_view* bytes, PastLives* past) {
  uint64_t count = 0;
  if (!GetVarint64(bytes, &past->since) ||
      !GetVarint64(bytes, kMaxPastLives, &count)) {
    return false;
  }
  for (uint64_t i = 0; i < count; ++i) {
    PastLife life;
    if (!GetVarint64(bytes, &life.incarnation.counter) ||
        !GetFixed64(bytes, &life.incarnation.random) ||
        !GetFixed64(bytes, &life.next_clock)) {
      return false;
    }
    past->lives.push_back(life);
  }
  return true;
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
