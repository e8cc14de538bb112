#include "tools/certificate.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <ostream>
#include <utility>
#include <vector>

#include "replication/base/random_bits.h"
#include "replication/transport/certificate.h"
#include "replication/transport/certificates_lock.h"
#include "replication/transport/identity.h"
#include "rocksdb/env.h"
#include "rocksync/replica_id.h"
#include "tools/credentials.h"

namespace rocksync {
namespace {

using rocksdb::Status;

constexpr uint64_t kDaysOfCa = 3650;
constexpr uint64_t kDaysOfReplica = 365;

constexpr uint64_t kMaxDays = 36500;

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

// It is shown in one line, and in the logs of peers.
bool HasControlCharacter(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return (c >= 0 && c < ' ') || c == '\x7f'; });
}

// A key alone is nobody's who could use it, and yet it may be somebody's.
Status CheckNoLoneKey(const std::string& key, const std::string& certificate) {
  const Status there = rocksdb::Env::Default()->FileExists(key);
  if (!there.ok()) return there.IsNotFound() ? Status::OK() : there;
  return Status::InvalidArgument(
      key + " is there already, without " + certificate,
      "put the certificate beside it, if there is one of this key; or, if not, "
      "as after a run that was interrupted, move it away, and try again, which "
      "makes a new key");
}

Status CheckOptions(const CertificateOptions& options) {
  if (options.make_ca.empty() && options.stem.empty()) {
    return Status::InvalidArgument(
        "nothing to make",
        "--make-ca NAME for the CA, --output STEM for a certificate");
  }
  for (const char* end : {".pem", ".key", "/"}) {
    if (!options.stem.ends_with(end)) continue;
    return Status::InvalidArgument(
        "--output " + options.stem,
        "give the name of both files without their ends: --output NAME, for "
        "NAME.pem and NAME.key");
  }
  if (HasControlCharacter(options.make_ca)) {
    return Status::InvalidArgument("--make-ca",
                                   "the name has a control character");
  }
  if (options.days && (*options.days == 0 || *options.days > kMaxDays)) {
    return Status::InvalidArgument("--days " + std::to_string(*options.days),
                                   "must be 1 to " + std::to_string(kMaxDays));
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

// `there`, which is in `file`, is the replica's own certificate, of this CA.
// `*id`, if it is 0: that of the certificate.
Status CheckRenewal(const CertificateOptions& options, const std::string& file,
                    X509* there, uint64_t* id) {
  uint64_t named = 0;
  if (there == nullptr || !ReplicaIdOf(there, &named).ok()) {
    return Status::InvalidArgument(
        file + " is there, and no replica's certificate to renew",
        "choose another --output, or move it and its key away, for a new "
        "certificate with a new key");
  }
  if (*id == 0) *id = named;
  if (*id != named) {
    return Status::InvalidArgument(
        file + " is there, the certificate of replica " + ReplicaIdHex(named),
        "choose another --output for replica " + ReplicaIdHex(*id) +
            ", or, if it takes the place of the former one, move this "
            "certificate and its key away");
  }
  if (HoldsIssuerOf(options.ca_file, there)) return Status::OK();
  return Status::InvalidArgument(
      file + " is there, of another CA than " + options.ca_file,
      "append that CA to " + options.ca_file +
          " if this one takes its place; else choose another --output");
}

// The key of the certificate that is there. It may lie elsewhere, and a
// certificate for another one would not fit it.
Status ReadKeyToKeep(const CertificateOptions& options,
                     CertificateAndKey* pair) {
  const std::string file = KeyFile(options);
  const Status found = rocksdb::Env::Default()->FileExists(file);
  if (found.IsNotFound()) {
    return Status::InvalidArgument(
        CertificateFile(options) + " is there, without " + file,
        "bring the key; or move the certificate away, and a new one with a new "
        "key is made (--id: the replica's)");
  }
  if (!found.ok()) return found;
  const Status status = ReadPrivateKey(file, &pair->key);
  if (!status.ok() || IsPair(*pair)) return status;
  return Status::InvalidArgument(
      file + " is not the private key of " + CertificateFile(options),
      "bring that key; or move both files away, and new ones are made (--id: "
      "the replica's)");
}

// What is there is replaced only by what renews it. `*key`: of what is renewed.
Status CheckOutput(const CertificateOptions& options, uint64_t* id,
                   IfThere* if_there, PkeyPtr* key) {
  const std::string file = CertificateFile(options);
  const Status found = rocksdb::Env::Default()->FileExists(file);
  if (!found.ok() && !found.IsNotFound()) return found;
  *if_there = found.ok() ? IfThere::kReplace : IfThere::kRefuse;
  if (found.IsNotFound()) {
    if (*id == 0) *id = RandomBits();
    return CheckNoLoneKey(KeyFile(options), file);
  }
  CertificateAndKey there;
  ReadCertificate(file, &there.certificate).PermitUncheckedError();
  Status status = CheckRenewal(options, file, there.certificate.get(), id);
  if (status.ok()) status = ReadKeyToKeep(options, &there);
  *key = std::move(there.key);
  return status;
}

// 0: the text is empty.
Status ParseId(const std::string& text, uint64_t* id) {
  if (text.empty()) {
    *id = 0;
    return Status::OK();
  }
  *id = ParseReplicaId(text).value_or(0);
  return *id != 0
             ? Status::OK()
             : Status::InvalidArgument(
                   "'" + text + "' is no replica id",
                   "16 hex digits, not all of them 0, as `rocksync id` prints "
                   "them");
}

// A key that is there stays, so that readers find a pair at every moment. A new
// one comes before its certificate, without which nobody uses it.
Status WriteBoth(const CertificateAndKey& made, bool has_key,
                 const std::string& certificate, const std::string& key,
                 IfThere if_there) {
  RemoveDraft(key);
  Status status = has_key
                      ? Status::OK()
                      : WritePrivateKey(made.key.get(), key, IfThere::kRefuse);
  if (!status.ok()) return status;
  status = WriteCertificate(made.certificate.get(), certificate, if_there);
  if (!status.ok() && !has_key) {
    // It is of no use, and in the way of a retry.
    rocksdb::Env::Default()->DeleteFile(key).PermitUncheckedError();
  }
  return status;
}

Status MakeNewCa(const CertificateOptions& options) {
  CertificatesLock lock;
  Status status = lock.Acquire(DirectoryOf(options.ca_file));
  if (!status.ok()) return status;
  const Status there = rocksdb::Env::Default()->FileExists(options.ca_file);
  if (there.ok()) {
    return Status::InvalidArgument(
        options.ca_file + " is there already",
        "a new CA makes the certificates of the old one void; move it away");
  }
  if (!there.IsNotFound()) return there;
  status = CheckNoLoneKey(options.ca_key_file, options.ca_file);
  CertificateRequest request;
  request.common_name = options.make_ca;
  request.not_after = Days(options, kDaysOfCa);
  CertificateAndKey made;
  if (status.ok()) status = MakeCa(request, &made);
  return status.ok() ? WriteBoth(made, /*has_key=*/false, options.ca_file,
                                 options.ca_key_file, IfThere::kRefuse)
                     : status;
}

Status CheckCaIsThere(const CertificateOptions& options) {
  for (const std::string& file : {options.ca_file, options.ca_key_file}) {
    if (!rocksdb::Env::Default()->FileExists(file).IsNotFound()) continue;
    return Status::InvalidArgument(
        file + " is not there",
        "make the CA first: --make-ca NAME; or give the files of the "
        "cluster's by --ca and --ca-key");
  }
  return Status::OK();
}

Status ReadCa(const CertificateOptions& options, CertificateAndKey* ca) {
  Status status = CheckCaIsThere(options);
  if (status.ok()) status = ReadCertificate(options.ca_file, &ca->certificate);
  if (status.ok()) status = ReadPrivateKey(options.ca_key_file, &ca->key);
  return status.ok() ? CheckCa(*ca, options.ca_file, options.ca_key_file)
                     : status;
}

// Until then the CA is valid, from now; not after that is what it signs.
std::chrono::seconds LeftOf(const CertificateAndKey& ca) {
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
  return std::chrono::seconds(ExpiresMs(ca.certificate.get()) / 1000) - now;
}

// `*ends`: when the certificate does, if its CA ends before the days are over,
// and it with it; else empty.
Status Issue(const CertificateOptions& options, uint64_t* id,
             std::string* ends) {
  CertificateAndKey ca;
  Status status = ReadCa(options, &ca);
  CertificatesLock lock;
  if (status.ok()) {
    status = lock.Acquire(DirectoryOf(FollowLink(CertificateFile(options))));
  }
  IfThere if_there = IfThere::kRefuse;
  CertificateAndKey made;
  if (status.ok()) status = CheckOutput(options, id, &if_there, &made.key);
  const bool has_key = made.key != nullptr;
  CertificateRequest request;
  request.common_name = "rocksync replica " + ReplicaIdHex(*id);
  request.uri = ReplicaUri(*id);
  request.not_after = Days(options, kDaysOfReplica);
  if (status.ok() && LeftOf(ca) < request.not_after) {
    request.not_after = LeftOf(ca);
    *ends = UtcText(ExpiresMs(ca.certificate.get()));
  }
  if (status.ok()) status = IssueCertificate(ca, request, &made);
  return status.ok() ? WriteBoth(made, has_key, CertificateFile(options),
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
  std::string ends;
  if (status.ok() && !options.stem.empty()) status = Issue(options, &id, &ends);
  if (!status.ok()) {
    err << "rocksync certificate: " << status.ToString() << "\n";
    return 2;
  }
  WarnIfOpenToAll(options.ca_key_file, err);
  if (!options.stem.empty()) {
    WarnIfOpenToAll(KeyFile(options), err);
    out << options.stem << ".pem and " << options.stem << ".key: id "
        << ReplicaIdHex(id) << "\n";
  }
  if (!ends.empty()) {
    err << "rocksync certificate: warning: " << options.stem
        << ".pem ends with its CA " << options.ca_file << ", on " << ends
        << "; replace the CA of all replicas before: \"Another CA\" in "
           "operating.md\n";
  }
  return 0;
}

}  // namespace rocksync
