#include "rocksync/leaf_fingerprints.h"

#include <array>
#include <memory>
#include <span>

#include "replication/base/status.h"
#include "replication/session/storage_view.h"
#include "replication/store/store_access.h"
#include "rocksync/replicated_db.h"
#include "sketch/element/digest.h"
#include "sketch/element/sha256.h"

namespace rocksync {
namespace {

static_assert(kLeafFingerprints == kLeafCount);

uint32_t Fingerprint(const std::array<uint8_t, 32>& secret, uint32_t leaf,
                     const Digest& digest) {
  if (digest == Digest()) return 0;
  std::array<uint8_t, 28> bytes;
  const auto put = [&bytes](size_t at, size_t size, uint64_t number) {
    for (size_t i = 0; i < size; ++i) {
      bytes[at + i] = static_cast<uint8_t>(number >> (8 * i));
    }
  };
  put(0, 4, leaf);
  put(4, 8, digest.count);
  put(12, 8, digest.high);
  put(20, 8, digest.low);
  // The first piece tells it from everything else that is hashed with the
  // secret.
  const Sha256Digest hash =
      Sha256({"rocksync leaf fingerprint", AsPiece(secret), AsPiece(bytes)});
  const uint32_t fingerprint = uint32_t{hash[0]} | uint32_t{hash[1]} << 8 |
                               uint32_t{hash[2]} << 16 |
                               uint32_t{hash[3]} << 24;
  return fingerprint == 0 ? 1 : fingerprint;
}

}  // namespace

rocksdb::Status LeafFingerprints(ReplicatedDB* db,
                                 std::vector<uint32_t>* fingerprints) {
  const std::unique_ptr<ReplicaView> view = StoreAccess::NewView(db);
  const auto snapshot = view->TakeSnapshot({});
  if (!snapshot.ok()) return ToRocksDb(snapshot.status());
  const std::span<const Digest> leaves = (*snapshot)->LeafDigests();
  fingerprints->resize(leaves.size());
  const auto& secret = db->replication_options().cluster_secret;
  for (uint32_t leaf = 0; leaf < leaves.size(); ++leaf) {
    (*fingerprints)[leaf] = Fingerprint(secret, leaf, leaves[leaf]);
  }
  return rocksdb::Status::OK();
}

}  // namespace rocksync
