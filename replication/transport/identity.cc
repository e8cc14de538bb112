#include "replication/transport/identity.h"

#include <optional>
#include <string_view>

#include "replication/transport/openssl.h"
#include "rocksync/replica_id.h"

namespace rocksync {
namespace {

constexpr std::string_view kPrefix = "rocksync:replica:";

rocksdb::Status Bad(const std::string& what) {
  return rocksdb::Status::InvalidArgument(
      "certificate " + what,
      "expected one subjectAltName URI:rocksync:replica:<16 hex digits>");
}

std::string_view UriOf(const GENERAL_NAME* name) {
  if (name->type != GEN_URI) return {};
  const ASN1_IA5STRING* uri = name->d.uniformResourceIdentifier;
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
          static_cast<size_t>(ASN1_STRING_length(uri))};
}

}  // namespace

std::string ReplicaUri(uint64_t replica_id) {
  return std::string(kPrefix) + ReplicaIdHex(replica_id);
}

rocksdb::Status ReplicaIdOf(const X509* certificate, uint64_t* replica_id) {
  const GeneralNamesPtr names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  if (names == nullptr) return Bad("has no readable subjectAltName");
  uint64_t found = 0;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    std::string_view uri = UriOf(sk_GENERAL_NAME_value(names.get(), i));
    if (!uri.starts_with(kPrefix)) continue;
    if (found != 0) return Bad("names more than one replica");
    uri.remove_prefix(kPrefix.size());
    const std::optional<uint64_t> id = ParseReplicaId(uri);
    if (!id.has_value()) return Bad("names a malformed replica id");
    found = *id;
    if (found == 0) return Bad("names replica id 0, which no replica has");
  }
  if (found == 0) return Bad("names no replica");
  *replica_id = found;
  return rocksdb::Status::OK();
}

}  // namespace rocksync
