#include "tools/certificate.h"

#include <charconv>
#include <chrono>
#include <ostream>
#include <system_error>

#include "replication/metrics/json.h"
#include "replication/store/format/random_bits.h"
#include "replication/transport/certificate.h"
#include "replication/transport/identity.h"
#include "rocksdb/env.h"

namespace rocksync {
namespace {

using rocksdb::Status;

constexpr uint64_t kDaysOfCa = 3650;
constexpr uint64_t kDaysOfReplica = 365;

std::chrono::seconds Days(uint64_t days, uint64_t otherwise) {
  return std::chrono::hours(24 * (days != 0 ? days : otherwise));
}

Status ParseId(const std::string& text, uint64_t* id) {
  if (text.empty()) {
    *id = RandomBits();
    return Status::OK();
  }
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *id, 16);
  return text.size() == 16 && error == std::errc() && rest == end && *id != 0
             ? Status::OK()
             : Status::InvalidArgument(
                   "'" + text + "' is no replica id",
                   "16 hex digits, as `rocksync id` prints them");
}

Status MakeNewCa(const CertificateOptions& options) {
  for (const std::string& file : {options.ca_file, options.ca_key_file}) {
    const Status there = rocksdb::Env::Default()->FileExists(file);
    if (there.ok()) {
      return Status::InvalidArgument(
          file + " is there already",
          "a new CA makes the certificates of the old one void; move it away");
    }
    if (!there.IsNotFound()) return there;
  }
  CertificateRequest request;
  request.common_name = options.make_ca;
  request.not_after = Days(options.days, kDaysOfCa);
  CertificateAndKey made;
  Status status = MakeCa(request, &made);
  if (status.ok()) {
    status = WritePrivateKey(made.key.get(), options.ca_key_file);
  }
  return status.ok() ? WriteCertificate(made.certificate.get(), options.ca_file)
                     : status;
}

Status Issue(const CertificateOptions& options, uint64_t* id) {
  CertificateAndKey ca;
  Status status = ParseId(options.replica_id, id);
  if (status.ok()) status = ReadCertificate(options.ca_file, &ca.certificate);
  if (status.ok()) status = ReadPrivateKey(options.ca_key_file, &ca.key);
  CertificateRequest request;
  request.common_name = "rocksync replica " + HexId(*id);
  request.uri = ReplicaUri(*id);
  request.not_after = Days(options.days, kDaysOfReplica);
  CertificateAndKey made;
  if (status.ok()) status = IssueCertificate(ca, request, &made);
  // The certificate comes last: a replica that runs takes both up then.
  if (status.ok()) {
    status = WritePrivateKey(made.key.get(), options.stem + ".key");
  }
  return status.ok()
             ? WriteCertificate(made.certificate.get(), options.stem + ".pem")
             : status;
}

}  // namespace

int RunCertificate(const CertificateOptions& options, std::ostream& out,
                   std::ostream& err) {
  Status status;
  uint64_t id = 0;
  if (options.make_ca.empty() && options.stem.empty()) {
    status = Status::InvalidArgument(
        "nothing to make",
        "--make-ca NAME for the CA, --output STEM for a "
        "certificate");
  }
  if (status.ok() && !options.make_ca.empty()) status = MakeNewCa(options);
  if (status.ok() && !options.make_ca.empty()) {
    out << options.ca_file << " and " << options.ca_key_file << ": CA "
        << options.make_ca << "\n";
  }
  if (status.ok() && !options.stem.empty()) status = Issue(options, &id);
  if (!status.ok()) {
    err << "rocksync certificate: " << status.ToString() << "\n";
    return 2;
  }
  if (!options.stem.empty()) {
    out << options.stem << ".pem and " << options.stem << ".key: replica "
        << HexId(id) << "\n";
  }
  return 0;
}

}  // namespace rocksync
