// Chooses the few of many peers to which a replica dials streams. They are
// drawn by chance, so that all streams together connect all replicas. Pure:
// time and chance are arguments.
//
//  - A neighbour that has had no stream for long makes room for another peer,
//    and comes last among those that wait.
//  - Now and then the oldest neighbour makes room though all is well. Otherwise
//    the two halves of a cluster that were apart for a while, and have replaced
//    neighbours by peers of their own half, would stay apart for streams.
//  - With zones a replica has so many neighbours in its own, which must be
//    connected by itself (stream/spread.h), and one in each other zone. The
//    zone of a peer is known only after a stream with it: peers of unknown zone
//    are tried, and given up again if their zone has neighbours enough.

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
  // The most neighbours, with zones those in the own one. If it is 0, or there
  // are no more peers than that, all peers are neighbours.
  size_t most = 8;
  std::string zone;  // of this replica; empty: zones make no difference
  // How long a neighbour may be without a stream before it is replaced.
  uint64_t replace_after_ms = 10'000;
  // How often the oldest neighbour is replaced, +-25 %.
  uint64_t renew_ms = 300'000;
};

// The neighbours, and the peers that wait. Peers are named by numbers; what is
// said of one that was removed, or that is no neighbour now, has no effect. Not
// thread-safe. `now_ms` is monotonic.
class NeighbourChoice {
 public:
  NeighbourChoice(const NeighbourChoiceOptions& options, uint64_t seed);

  void Add(size_t peer);
  void Remove(size_t peer);

  // Records that there is a stream with this neighbour, whichever side dialed
  // it.
  void Open(size_t peer, const std::string& zone);
  // Records that there is no stream with it, since `now_ms` or longer.
  void Closed(size_t peer, uint64_t now_ms);
  // Records that no stream with it is wanted now: the time without one counts
  // from now on.
  void NoneWanted(size_t peer, uint64_t now_ms);

  // Chooses and returns the neighbours from now on.
  const std::set<size_t>& Choose(uint64_t now_ms);

  // Returns true if there are more peers than may be neighbours, so that Choose
  // is to be called again and again.
  bool limited() const {
    return options_.most > 0 && peers_.size() > options_.most;
  }

 private:
  using Zone = std::optional<std::string>;  // nullopt: not known
  struct Peer {
    Zone zone;
    uint64_t chosen_ms = 0;              // of a neighbour
    std::optional<uint64_t> without_ms;  // since when it has no stream
  };

  bool InOwnZone(const Zone& zone) const { return zone == options_.zone; }
  size_t Count(const Zone& zone) const;
  // Returns how many neighbours may be in a zone now.
  size_t Most(const Zone& zone) const;
  // Returns true if a peer waits that could replace a neighbour there.
  bool HasSubstitute(const Zone& zone) const;
  // Returns the neighbour in the zone that was chosen first, or last. REQUIRES:
  // there is one.
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
  std::deque<size_t> waiting_;  // the other peers, in their order
  std::optional<uint64_t> renew_at_ms_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_STREAM_NEIGHBOUR_CHOICE_H_
