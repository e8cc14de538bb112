#include "tools/certificate.h"

#include <charconv>
#include <chrono>
#include <filesystem>
#include <ostream>
#include <system_error>
#include <vector>

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

constexpr uint64_t kMostDays = 36500;

std::chrono::seconds Days(const CertificateOptions& options,
                          uint64_t otherwise) {
  return std::chrono::hours(24 * options.days.value_or(otherwise));
}

std::string CertificateFile(const CertificateOptions& options) {
  return options.stem + ".pem";
}

std::string KeyFile(const CertificateOptions& options) {
  return options.stem + ".key";
}

// Also by two names, and where neither is there yet.
bool IsSameFile(const std::string& a, const std::string& b) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::equivalent(a, b, error) && !error) return true;
  const fs::path of_a = fs::weakly_canonical(a, error);
  if (error) return a == b;
  const fs::path of_b = fs::weakly_canonical(b, error);
  return error ? a == b : of_a == of_b;
}

Status CheckOptions(const CertificateOptions& options) {
  if (options.make_ca.empty() && options.stem.empty()) {
    return Status::InvalidArgument(
        "nothing to make",
        "--make-ca NAME for the CA, --output STEM for a certificate");
  }
  if (options.days && (*options.days == 0 || *options.days > kMostDays)) {
    return Status::InvalidArgument("--days " + std::to_string(*options.days),
                                   "must be 1 to " + std::to_string(kMostDays));
  }
  std::vector<std::string> files = {options.ca_file, options.ca_key_file};
  if (!options.stem.empty()) {
    files.push_back(CertificateFile(options));
    files.push_back(KeyFile(options));
  }
  for (size_t i = 0; i < files.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (!IsSameFile(files[j], files[i])) continue;
      return Status::InvalidArgument(
          files[j] + " and " + files[i] + " are one file",
          "the CA, its key, STEM.pem and STEM.key are four");
    }
  }
  return Status::OK();
}

// What is there is replaced only by what renews it. `*id`, if it is 0: that of
// the certificate there, or a random one.
Status CheckOutput(const CertificateOptions& options, uint64_t* id,
                   IfThere* if_there) {
  const std::string file = CertificateFile(options);
  const Status found = rocksdb::Env::Default()->FileExists(file);
  if (!found.ok() && !found.IsNotFound()) return found;
  *if_there = found.ok() ? IfThere::kReplace : IfThere::kRefuse;
  if (found.IsNotFound()) {
    if (*id == 0) *id = RandomBits();
    return Status::OK();
  }
  X509Ptr there;
  uint64_t named = 0;
  Status status = ReadCertificate(file, &there);
  if (status.ok()) status = ReplicaIdOf(there.get(), &named);
  if (!status.ok()) {
    return Status::InvalidArgument(
        file + " is there, and no replica's certificate to renew",
        "choose another --output");
  }
  if (*id == 0) *id = named;
  if (*id == named) return Status::OK();
  return Status::InvalidArgument(
      file + " is there, the certificate of replica " + HexId(named),
      "choose another --output for replica " + HexId(*id));
}

// 0: the text is empty.
Status ParseId(const std::string& text, uint64_t* id) {
  if (text.empty()) {
    *id = 0;
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

// The certificate comes last: a replica that runs takes both up then.
Status WriteBoth(const CertificateAndKey& made, const std::string& certificate,
                 const std::string& key, IfThere if_there) {
  Status status = WritePrivateKey(made.key.get(), key, if_there);
  if (!status.ok()) return status;
  status = WriteCertificate(made.certificate.get(), certificate, if_there);
  if (!status.ok() && if_there == IfThere::kRefuse) {
    // A new key without its certificate is of no use, and in the way of a
    // retry.
    rocksdb::Env::Default()->DeleteFile(key).PermitUncheckedError();
  }
  return status;
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
  request.not_after = Days(options, kDaysOfCa);
  CertificateAndKey made;
  const Status status = MakeCa(request, &made);
  return status.ok() ? WriteBoth(made, options.ca_file, options.ca_key_file,
                                 IfThere::kRefuse)
                     : status;
}

Status Issue(const CertificateOptions& options, uint64_t* id) {
  CertificateAndKey ca;
  Status status = ReadCertificate(options.ca_file, &ca.certificate);
  if (status.ok()) status = ReadPrivateKey(options.ca_key_file, &ca.key);
  if (status.ok()) {
    status = CheckCa(ca, options.ca_file, options.ca_key_file);
  }
  IfThere if_there = IfThere::kRefuse;
  if (status.ok()) status = CheckOutput(options, id, &if_there);
  CertificateRequest request;
  request.common_name = "rocksync replica " + HexId(*id);
  request.uri = ReplicaUri(*id);
  request.not_after = Days(options, kDaysOfReplica);
  CertificateAndKey made;
  if (status.ok()) status = IssueCertificate(ca, request, &made);
  return status.ok() ? WriteBoth(made, CertificateFile(options),
                                 KeyFile(options), if_there)
                     : status;
}

}  // namespace

int RunCertificate(const CertificateOptions& options, std::ostream& out,
                   std::ostream& err) {
  Status status = CheckOptions(options);
  uint64_t id = 0;
  if (status.ok()) status = ParseId(options.replica_id, &id);
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
