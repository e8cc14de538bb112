#include "replication/membership/incarnation.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "sketch/element/coding.h"

namespace rocksync {

void Append(const IncarnationId& last, uint64_t next_clock,
            IncarnationHistory* past) {
  past->incarnations.push_back({last, next_clock});
  if (past->incarnations.size() <= kMaxPastIncarnations) return;
  past->since = past->incarnations.front().incarnation.counter;
  past->incarnations.erase(past->incarnations.begin());
}

Succession Compare(const Incarnation& known, const Incarnation& now) {
  const IncarnationId& before = known.incarnation;
  const IncarnationId& after = now.incarnation;
  if (after.counter < before.counter) return Succession::kRolledBack;
  if (after.counter == before.counter) {
    return after.random == before.random ? Succession::kFollows
                                         : Succession::kClone;
  }
  uint64_t next_clock = now.first_clock;
  if (before.counter > now.past.since) {
    const std::vector<FormerIncarnation>& incarnations = now.past.incarnations;
    const auto it = std::find_if(incarnations.begin(), incarnations.end(),
                                 [&](const FormerIncarnation& past) {
                                   return past.incarnation == before;
                                 });
    if (it == incarnations.end()) return Succession::kOtherLine;
    next_clock = it->next_clock;
  }
  return next_clock < known.clock ? Succession::kClockBack
                                  : Succession::kFollows;
}

Incarnation Later(const Incarnation& known, const Incarnation& now) {
  return {.incarnation = now.incarnation,
          .first_clock = now.first_clock,
          .clock = std::max(known.clock, now.clock)};
}

bool Unite(const Incarnation& other, Incarnation* known) {
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

void Shorten(uint64_t clock, IncarnationHistory* past) {
  std::vector<FormerIncarnation>& incarnations = past->incarnations;
  size_t out = 0;
  while (out < incarnations.size() && incarnations[out].next_clock <= clock)
    ++out;
  if (out == 0) return;
  past->since =
      std::max(past->since, incarnations[out - 1].incarnation.counter);
  incarnations.erase(incarnations.begin(),
                     incarnations.begin() + static_cast<ptrdiff_t>(out));
}

void EncodePast(const IncarnationHistory& past, std::string* out) {
  PutVarint64(out, past.since);
  PutVarint64(out, past.incarnations.size());
  for (const FormerIncarnation& incarnation : past.incarnations) {
    PutVarint64(out, incarnation.incarnation.counter);
    PutFixed64(out, incarnation.incarnation.random);
    PutFixed64(out, incarnation.next_clock);
  }
}

bool DecodePast(std::string_view* bytes, IncarnationHistory* past) {
  uint64_t count = 0;
  if (!GetVarint64(bytes, &past->since) ||
      !GetVarint64(bytes, kMaxPastIncarnations, &count)) {
    return false;
  }
  for (uint64_t i = 0; i < count; ++i) {
    FormerIncarnation incarnation;
    if (!GetVarint64(bytes, &incarnation.incarnation.counter) ||
        !GetFixed64(bytes, &incarnation.incarnation.random) ||
        !GetFixed64(bytes, &incarnation.next_clock)) {
      return false;
    }
    past->incarnations.push_back(incarnation);
  }
  return true;
}

std::string Describe(Succession succession, const Incarnation& known,
                     const Incarnation& now) {
  switch (succession) {
    case Succession::kFollows:
      return "";
    case Succession::kRolledBack:
      return absl::StrCat("was rolled back: incarnation ",
                          now.incarnation.counter, " after ",
                          known.incarnation.counter);
    case Succession::kClone:
      return "is one of two with the same identity";
    case Succession::kClockBack:
      return "was rolled back: its clock went back";
    case Succession::kOtherLine:
      return absl::StrCat(
          "was rolled back or copied: incarnation ", now.incarnation.counter,
          " does not descend from incarnation ", known.incarnation.counter,
          ", which this replica has met");
  }
  return "";
}

}  // namespace rocksync
