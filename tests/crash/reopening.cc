#include "tests/crash/reopening.h"

#include <memory>

#include "replication/store/store_access.h"
#include "tests/crash/kill.h"
#include "tests/crash/replica.h"

namespace rocksync::crash {
namespace {

// What the replica holds by its own account.
absl::StatusOr<Digest> DigestOf(Replica* replica) {
  const auto view = StoreAccess::NewView(replica->db());
  const auto snapshot = view->TakeSnapshot([] { return false; });
  if (!snapshot.ok()) return snapshot.status();
  Digest sum;
  for (const Digest& leaf : (*snapshot)->LeafDigests()) sum += leaf;
  return sum;
}

}  // namespace

std::vector<std::string> CheckByOpening(const std::string& directory,
                                        bool as_copy, Scan* scan) {
  std::vector<std::string> wrong;
  std::unique_ptr<Replica> replica;
  if (as_copy && Replica::Open(directory, false, nullptr, &replica).ok()) {
    wrong.push_back("a copy of a replica opened with its identity");
  }
  rocksdb::Status status = Replica::Open(directory, as_copy, nullptr, &replica);
  if (status.ok()) {
    status = replica->db()->WaitForIndexBuild(kPatience.count());
  }
  if (!status.ok()) {
    wrong.push_back("open: " + status.ToString());
    return wrong;
  }
  const absl::StatusOr<Digest> digest = DigestOf(replica.get());
  if (!digest.ok()) wrong.push_back(std::string(digest.status().message()));
  if (replica->db()->GetIndexStats().pairs_quarantined != 0) {
    wrong.push_back("quarantined pairs after opening");
  }
  status = replica->Close();
  if (!status.ok()) wrong.push_back("close: " + status.ToString());

  *scan = ScanReplica(directory);
  wrong.insert(wrong.end(), scan->wrong.begin(), scan->wrong.end());
  if (scan->being_read) wrong.push_back("still being read after adoption");
  if (digest.ok() && *digest != scan->digest) {
    wrong.push_back("the digest is not that of the entries: count " +
                    std::to_string(digest->count) + ", entries " +
                    std::to_string(scan->digest.count));
  }
  return wrong;
}

}  // namespace rocksync::crash
