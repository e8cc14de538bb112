// docs/protocol.md, "Conventions": elements, positions, leaves, digests.

#include <string>

#include "replication/session/location.h"
#include "replication/session/storage_view.h"
#include "sketch/element/digest.h"
#include "sketch/element/element.h"
#include "sketch/element/sha256.h"
#include "tests/integration/vectors/vectors.h"

namespace rocksync {
namespace {

std::string Bytes(const ValueHash& hash) {
  return Fixed64(hash.high) + Fixed64(hash.low);
}

}  // namespace

void AddElementVectors(Vectors* vectors) {
  const auto add = [vectors](std::string_view name, std::string_view bytes) {
    vectors->push_back({std::string(name), std::string(bytes)});
  };
  add("secret", AsPiece(kVectorSecret));
  add("cluster", kVectorCluster);
  add("family", kVectorFamily);
  add("key", kVectorKey);
  add("value", kVectorValue);
  add("version",
      Fixed64(kVectorVersion.time) + Fixed64(kVectorVersion.replica));

  const ElementHasher hasher(kVectorSecret);
  const ValueHash issued = hasher.HashValue(kVectorVersion, kVectorValue);
  const ValueHash unversioned = hasher.HashValue({}, kVectorValue);
  const ElementHash live =
      hasher.HashPair(kVectorFamily, kVectorKey, kVectorVersion, issued);
  const ElementHash tombstone =
      hasher.HashTombstone(kVectorFamily, kVectorKey, kVectorVersion);
  const ElementHash old =
      hasher.HashPair(kVectorFamily, kVectorKey, {}, unversioned);
  add("value_hash", Bytes(issued));
  add("value_hash.unversioned", Bytes(unversioned));
  add("element", rocksync::Bytes(live));
  add("element.tombstone", rocksync::Bytes(tombstone));
  add("element.unversioned", rocksync::Bytes(old));

  Digest digest;
  for (const ElementHash& element : {live, tombstone, old}) digest.Add(element);
  add("digest", rocksync::Bytes(digest));

  const uint64_t position = hasher.Position(kVectorFamily, kVectorKey);
  add("position", Fixed64(position));
  add("position.long_key",
      Fixed64(hasher.Position(kVectorFamily, std::string(300, 'k'))));
  const uint32_t leaf = LeafOf(position, kLeafBits);
  add("leaf", Fixed32(leaf));
  add("leaf.element", rocksync::Bytes(HashLeaf(leaf, digest)));
  add("leaf.element.empty", rocksync::Bytes(HashLeaf(leaf, Digest{})));
}

}  // namespace rocksync
