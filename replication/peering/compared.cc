#include "replication/peering/compared.h"

#include <algorithm>

#include "replication/session/escape_text.h"
#include "rocksync/replica_id.h"

namespace rocksync {
namespace {

// Of `families`, what `others` lack: `, SIDE alone has "a", "b"`.
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

rocksdb::Status CompareWith(const Compared& now, Compared* compared) {
  if (compared->peer_id == 0) *compared = now;
  if (now.peer_id != compared->peer_id) {
    return rocksdb::Status::TryAgain(
        "rocksync: the first look met replica " +
            ReplicaIdHex(compared->peer_id) + " at this address, and a later " +
            "one replica " + ReplicaIdHex(now.peer_id),
        "compare again");
  }
  if (now.families != compared->families) {
    return rocksdb::Status::TryAgain(
        "rocksync: a replicated column family was created or dropped between "
        "two looks",
        "compare again");
  }
  if (now.link != compared->link) {
    compared->reconnected = true;
    return rocksdb::Status::TryAgain(
        "rocksync: the connection to the peer was made anew between two looks",
        "compare again");
  }
  return rocksdb::Status::OK();
}

}  // namespace rocksync
