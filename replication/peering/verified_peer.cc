#include "replication/peering/verified_peer.h"

#include <algorithm>

#include "replication/text/escape_text.h"
#include "rocksync/replica_id.h"

namespace rocksync {
namespace {

// Returns `, SIDE alone has "a", "b"` for the families that `others` lack.
std::string AloneHas(const char* side, const std::vector<std::string>& families,
                     const std::vector<std::string>& others) {
  std::string names;
  for (const std::string& family : families) {
    if (std::find(others.begin(), others.end(), family) != others.end()) {
      continue;
    }
    names += names.empty() ? "" : ", ";
    names += "\"" + EscapeText(family) + "\"";
  }
  return names.empty() ? names
                       : std::string(", ") + side + " alone has " + names;
}

}  // namespace

rocksdb::Status CheckSameFamilies(const std::vector<std::string>& here,
                                  const std::vector<std::string>& there) {
  if (here == there) return rocksdb::Status::OK();
  return rocksdb::Status::InvalidArgument(
      "the replicated families of the two databases differ" +
          AloneHas("this one", here, there) +
          AloneHas("the other one", there, here),
      "replicate the same families on both");
}

rocksdb::Status CheckIsSame(const VerifiedPeer& now, VerifiedPeer* peer) {
  if (peer->peer_id == 0) *peer = now;
  if (now.peer_id != peer->peer_id) {
    return rocksdb::Status::TryAgain(
        "rocksync: the first look met replica " + ReplicaIdHex(peer->peer_id) +
            " at this address, and a later one replica " +
            ReplicaIdHex(now.peer_id),
        "compare again");
  }
  if (now.families != peer->families) {
    return rocksdb::Status::TryAgain(
        "rocksync: a replicated column family was created or dropped between "
        "two looks",
        "compare again");
  }
  if (now.link != peer->link) {
    peer->reconnected = true;
    return rocksdb::Status::TryAgain(
        "rocksync: the connection to the peer was made anew between two looks",
        "compare again");
  }
  return rocksdb::Status::OK();
}

}  // namespace rocksync
