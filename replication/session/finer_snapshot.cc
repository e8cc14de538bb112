#include "replication/session/finer_snapshot.h"

namespace rocksync {

absl::StatusOr<std::unique_ptr<FinerSnapshot>> FinerSnapshot::Make(
    const StorageSnapshot& coarse, int bits,
    const std::function<bool()>& cancelled) {
  std::unique_ptr<FinerSnapshot> finer(new FinerSnapshot(coarse, bits));
  const std::span<const Digest> digests = coarse.LeafDigests();
  bool agree = true;
  for (uint32_t leaf = 0; leaf < digests.size(); ++leaf) {
    if (digests[leaf].count == 0) continue;
    if (cancelled && cancelled()) {
      return absl::CancelledError("stopped while reading the index");
    }
    Digest read;
    const absl::Status status =
        coarse.ScanLeaf(leaf, [&](uint64_t position, const ElementHash& hash) {
          finer->digests_[LeafOf(position, bits)].Add(hash);
          read.Add(hash);
        });
    if (!status.ok()) return status;
    agree = agree && read == digests[leaf];
  }
  if (!agree) coarse.DigestsDisagree();
  return finer;
}

}  // namespace rocksync
