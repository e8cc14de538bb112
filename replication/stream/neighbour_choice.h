// Whom of many peers a replica dials streams to: a few, drawn by chance, so
// that all streams together connect everybody. Pure: time and chance are
// arguments.
//
//  - Who has had no stream for long makes room for another, and comes last
//    among those who wait.
//  - Now and then the oldest neighbour makes room though all is well. Else the
//    two halves of a cluster that were apart for a while, and have replaced
//    neighbours by such of their own half, would stay two for streams.
//  - With zones a replica has so many neighbours in its own, which must be
//    connected by itself (stream/spread.h), and one in each other zone. Only
//    who has had a stream with a peer knows its zone: peers whose zone is not
//    known are tried, and given up again if their zone has neighbours enough.

#ifndef ROCKSYNC_REPLICATION_STREAM_NEIGHBOUR_CHOICE_H_
#define ROCKSYNC_REPLICATION_STREAM_NEIGHBOUR_CHOICE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "sketch/element/split_mix.h"

namespace rocksync {

struct NeighbourChoiceOptions {
  // Neighbours, with zones those in the own one; 0, or no more peers than that:
  // all peers are.
  size_t most = 8;
  std::string zone;  // of this replica; empty: zones make no difference
  // After so long without a stream a neighbour is replaced.
  uint64_t replace_after_ms = 10'000;
  // How often the oldest one is, +-25 %.
  uint64_t renew_ms = 300'000;
};

// Peers have numbers; what is said of one that was removed, or that is no
// neighbour now, counts for nothing. Not thread-safe. `now_ms` is monotonic.
class NeighbourChoice {
 public:
  NeighbourChoice(const NeighbourChoiceOptions& options, uint64_t seed);

  void Add(size_t peer);
  void Remove(size_t peer);

  // There is a stream with this neighbour, whoever dialed it.
  void Open(size_t peer, const std::string& zone);
  // There is none, since now or longer.
  void Closed(size_t peer, uint64_t now_ms);
  // Nor is one wanted now: how long there has been none counts from now on.
  void NoneWanted(size_t peer, uint64_t now_ms);

  // Who are neighbours from now on.
  const std::set<size_t>& Choose(uint64_t now_ms);

  // There are more peers than may be neighbours, so that Choose wants to be
  // asked again and again.
  bool limited() const {
    return options_.most > 0 && peers_.size() > options_.most;
  }

 private:
  using Zone = std::optional<std::string>;  // if it is known
  struct Peer {
    Zone zone;
    uint64_t chosen_ms = 0;              // of a neighbour
    std::optional<uint64_t> without_ms;  // since when it has no stream
  };

  bool InOwnZone(const Zone& zone) const { return zone == options_.zone; }
  size_t Count(const Zone& zone) const;
  // How many neighbours may be in a zone now.
  size_t Most(const Zone& zone) const;
  // Somebody waits who could take the place of a neighbour there.
  bool HasSubstitute(const Zone& zone) const;
  // The neighbour there that was chosen first, or last. REQUIRES: there is one.
  size_t Oldest(const Zone& zone) const;
  size_t Newest(const Zone& zone) const;

  void GiveUp(size_t peer);
  void ReplaceSilent(uint64_t now_ms);
  void DropSurplus();
  void Renew(uint64_t now_ms);
  void Fill(uint64_t now_ms);

  const NeighbourChoiceOptions options_;
  SplitMix random_;
  std::map<size_t, Peer> peers_;
  std::set<size_t> chosen_;
  std::deque<size_t> waiting_;  // the others, in their order
  std::optional<uint64_t> renew_at_ms_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STREAM_NEIGHBOUR_CHOICE_H_
