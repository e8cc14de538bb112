#include "replication/transport/certificate.h"

#include <fcntl.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

#include "replication/transport/certificates_lock.h"
#include "replication/transport/may_read.h"

namespace rocksync {
namespace {

rocksdb::Status OpenSslFailed(const std::string& doing) {
  return rocksdb::Status::Aborted(doing, TakeOpenSslError());
}

rocksdb::Status FileFailed(const std::string& doing, const std::string& path) {
  return rocksdb::Status::IOError(doing + " " + path, std::strerror(errno));
}

bool AddExtension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension =
      X509V3_EXT_nconf_nid(nullptr, &context, nid, value);
  if (extension == nullptr) return false;
  const bool added = X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

bool SetSerial(X509* certificate) {
  uint64_t serial = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) !=
      1) {
    return false;
  }
  return ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate),
                                 (serial >> 1) | 1) == 1;
}

bool SetName(X509* certificate, const std::string& common_name) {
  return X509_NAME_add_entry_by_txt(
             X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1,
             -1, 0) == 1;
}

bool SetValidity(X509* certificate, const CertificateRequest& request) {
  time_t now = std::time(nullptr);
  return X509_time_adj_ex(X509_getm_notBefore(certificate), 0,
                          request.not_before.count(), &now) != nullptr &&
         X509_time_adj_ex(X509_getm_notAfter(certificate), 0,
                          request.not_after.count(), &now) != nullptr;
}

bool AddCaExtensions(X509* certificate) {
  return AddExtension(certificate, certificate, NID_basic_constraints,
                      "critical,CA:TRUE,pathlen:0") &&
         AddExtension(certificate, certificate, NID_key_usage,
                      "critical,keyCertSign,cRLSign") &&
         AddExtension(certificate, certificate, NID_subject_key_identifier,
                      "hash");
}

bool AddReplicaExtensions(X509* certificate, X509* issuer,
                          const CertificateRequest& request) {
  const std::string& uri = request.uri;
  const std::string& usage = request.extended_key_usage;
  return AddExtension(certificate, issuer, NID_basic_constraints,
                      "critical,CA:FALSE") &&
         AddExtension(certificate, issuer, NID_key_usage,
                      "critical,digitalSignature") &&
         (usage.empty() || AddExtension(certificate, issuer, NID_ext_key_usage,
                                        usage.c_str())) &&
         AddExtension(certificate, issuer, NID_subject_key_identifier,
                      "hash") &&
         AddExtension(certificate, issuer, NID_authority_key_identifier,
                      "keyid:always") &&
         (uri.empty() || AddExtension(certificate, issuer, NID_subject_alt_name,
                                      ("URI:" + uri).c_str()));
}

// Makes what a CA's and a replica's certificate have in common, unsigned.
rocksdb::Status Begin(const CertificateRequest& request,
                      CertificateAndKey* made) {
  if (made->key == nullptr) made->key.reset(EVP_EC_gen("P-256"));
  made->certificate.reset(X509_new());
  if (made->key == nullptr || made->certificate == nullptr) {
    return OpenSslFailed("making a key");
  }
  X509* certificate = made->certificate.get();
  if (X509_set_version(certificate, X509_VERSION_3) != 1 ||
      !SetSerial(certificate) || !SetName(certificate, request.common_name) ||
      !SetValidity(certificate, request) ||
      X509_set_pubkey(certificate, made->key.get()) != 1) {
    return OpenSslFailed("making a certificate");
  }
  return rocksdb::Status::OK();
}

rocksdb::Status Sign(X509* certificate, EVP_PKEY* key) {
  if (X509_sign(certificate, key, EVP_sha256()) == 0) {
    return OpenSslFailed("signing a certificate");
  }
  return rocksdb::Status::OK();
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return true;
}

rocksdb::Status PutInPlace(const std::string& temporary,
                           const std::string& path, IfThere if_there) {
  if (if_there == IfThere::kReplace) {
    return std::rename(temporary.c_str(), path.c_str()) == 0
               ? rocksdb::Status::OK()
               : FileFailed("cannot write", path);
  }
  // Unlike rename, link fails if a file is there.
  if (::link(temporary.c_str(), path.c_str()) == 0) {
    ::unlink(temporary.c_str());
    return rocksdb::Status::OK();
  }
  return errno == EEXIST ? rocksdb::Status::InvalidArgument(
                               path + " is there already",
                               "move it away, or choose another name")
                         : FileFailed("cannot write", path);
}

// Gives the new file the owner and mode of the one that it replaces, so that
// the same users can read it, and no others. Without an old file: `mode`.
bool TakeOver(int fd, const std::string& replaced, mode_t mode) {
  struct stat old;
  if (::stat(replaced.c_str(), &old) != 0) return ::fchmod(fd, mode) == 0;
  // In this order, since a change of owner clears bits of the mode.
  return ::fchown(fd, old.st_uid, old.st_gid) == 0 &&
         ::fchmod(fd, old.st_mode & 0777) == 0;
}

// Makes the name of a file durable, by syncing its directory.
rocksdb::Status SyncDirectoryOf(const std::string& path) {
  const std::string directory = DirectoryOf(path);
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && ::fsync(fd) == 0;
  const rocksdb::Status status =
      synced ? rocksdb::Status::OK() : FileFailed("cannot sync", directory);
  if (fd >= 0) ::close(fd);
  return status;
}

std::string DraftOf(const std::string& path) {
  return path + ".rocksync-draft";
}

// Writes a draft beside the file and puts it in place, so that a reader sees
// all or nothing. `mode` is that of a file that is new.
rocksdb::Status WriteFile(std::string_view bytes, mode_t mode,
                          const std::string& given, IfThere if_there) {
  const std::string path =
      if_there == IfThere::kReplace ? FollowLink(given) : given;
  const std::string temporary = DraftOf(path);
  RemoveDraft(path);
  const int fd =
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return FileFailed("cannot create", temporary);
  const bool written =
      TakeOver(fd, path, mode) && WriteAll(fd, bytes) && ::fsync(fd) == 0;
  const int write_errno = errno;
  const bool closed = ::close(fd) == 0;
  if (!written) errno = write_errno;
  const rocksdb::Status status = written && closed
                                     ? PutInPlace(temporary, path, if_there)
                                     : FileFailed("cannot write", path);
  if (status.ok()) return SyncDirectoryOf(path);
  ::unlink(temporary.c_str());
  return status;
}

std::string_view Contents(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return {data, static_cast<size_t>(size)};
}

// Opens a PEM file. It must be a regular file: a pipe may have no end, or no
// writer.
rocksdb::Status OpenPem(const std::string& path, BioPtr* file) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) {
    return rocksdb::Status::IOError(
        "cannot read " + path,
        std::string(std::strerror(errno)) +
            "; give the PEM files of the cluster's CA, and of a certificate of "
            "it and its private key: `rocksync certificate` makes them");
  }
  if (fd < 0) {
    const rocksdb::Status failed = FileFailed("cannot read", path);
    const rocksdb::Status may_read = CheckUserMayRead(path);
    return may_read.ok() ? failed : may_read;
  }
  struct stat status = {};
  rocksdb::Status opened;
  if (::fstat(fd, &status) != 0) {
    opened = FileFailed("cannot read", path);
  } else if (!S_ISREG(status.st_mode)) {
    opened = rocksdb::Status::InvalidArgument(path + " is no regular file");
  } else {
    FILE* const stream = ::fdopen(fd, "r");
    if (stream != nullptr) file->reset(BIO_new_fp(stream, BIO_CLOSE));
    if (*file != nullptr) return opened;
    opened = FileFailed("cannot read", path);
  }
  ::close(fd);
  return opened;
}

// Keeps OpenSSL from asking for a passphrase on the terminal. `asked` is null,
// or points to a bool that is set to true.
int NoPassphrase(char*, int, int, void* asked) {
  if (asked != nullptr) *static_cast<bool*>(asked) = true;
  return -1;
}

}  // namespace

rocksdb::Status MakeCa(const CertificateRequest& request,
                       CertificateAndKey* made) {
  if (rocksdb::Status s = Begin(request, made); !s.ok()) return s;
  X509* certificate = made->certificate.get();
  if (X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) !=
          1 ||
      !AddCaExtensions(certificate)) {
    return OpenSslFailed("making a CA");
  }
  return Sign(certificate, made->key.get());
}

rocksdb::Status IssueCertificate(const CertificateAndKey& ca,
                                 const CertificateRequest& request,
                                 CertificateAndKey* made) {
  if (rocksdb::Status s = Begin(request, made); !s.ok()) return s;
  X509* certificate = made->certificate.get();
  X509* issuer = ca.certificate.get();
  if (X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) != 1 ||
      !AddReplicaExtensions(certificate, issuer, request)) {
    return OpenSslFailed("making a certificate");
  }
  return Sign(certificate, ca.key.get());
}

void RemoveDraft(const std::string& path) {
  ::unlink(DraftOf(FollowLink(path)).c_str());
}

rocksdb::Status WriteCertificate(const X509* certificate,
                                 const std::string& path, IfThere if_there) {
  const BioPtr memory(BIO_new(BIO_s_mem()));
  if (memory == nullptr || PEM_write_bio_X509(memory.get(), certificate) != 1) {
    return OpenSslFailed("encoding a certificate");
  }
  return WriteFile(Contents(memory.get()), 0644, path, if_there);
}

rocksdb::Status WritePrivateKey(const EVP_PKEY* key, const std::string& path,
                                IfThere if_there) {
  const BioPtr memory(BIO_new(BIO_s_secmem()));
  if (memory == nullptr ||
      PEM_write_bio_PKCS8PrivateKey(memory.get(), key, nullptr, nullptr, 0,
                                    nullptr, nullptr) != 1) {
    return OpenSslFailed("encoding a private key");
  }
  return WriteFile(Contents(memory.get()), 0600, path, if_there);
}

rocksdb::Status ReadCertificate(const std::string& path, X509Ptr* certificate) {
  BioPtr file;
  if (rocksdb::Status s = OpenPem(path, &file); !s.ok()) return s;
  certificate->reset(
      PEM_read_bio_X509(file.get(), nullptr, NoPassphrase, nullptr));
  if (*certificate != nullptr) return rocksdb::Status::OK();
  return rocksdb::Status::InvalidArgument(path + " holds no PEM certificate",
                                          TakeOpenSslError());
}

uint64_t ExpiresMs(const X509* certificate) {
  std::tm utc = {};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &utc) != 1) return 0;
  const time_t seconds = timegm(&utc);
  return seconds > 0 ? static_cast<uint64_t>(seconds) * 1000 : 0;
}

std::string UtcText(uint64_t unix_ms) {
  const auto seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm utc = {};
  char text[32] = "";
  if (gmtime_r(&seconds, &utc) != nullptr) {
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &utc);
  }
  return text;
}

bool HoldsIssuerOf(const std::string& path, X509* certificate) {
  BioPtr file;
  bool found = false;
  if (!OpenPem(path, &file).ok()) return found;
  while (!found) {
    const X509Ptr ca(
        PEM_read_bio_X509(file.get(), nullptr, NoPassphrase, nullptr));
    if (ca == nullptr) break;
    found = X509_verify(certificate, X509_get0_pubkey(ca.get())) == 1;
  }
  ERR_clear_error();
  return found;
}

bool IsPair(const CertificateAndKey& pair) {
  const bool is_pair =
      X509_check_private_key(pair.certificate.get(), pair.key.get()) == 1;
  ERR_clear_error();
  return is_pair;
}

rocksdb::Status ReadPrivateKey(const std::string& path, PkeyPtr* key) {
  BioPtr file;
  if (rocksdb::Status s = OpenPem(path, &file); !s.ok()) return s;
  bool is_encrypted = false;
  key->reset(PEM_read_bio_PrivateKey(file.get(), nullptr, NoPassphrase,
                                     &is_encrypted));
  if (*key != nullptr) return rocksdb::Status::OK();
  if (is_encrypted) {
    ERR_clear_error();
    return rocksdb::Status::InvalidArgument(
        "the private key in " + path + " is encrypted",
        "decrypt it, into a file that nobody else may read: (umask 077; "
        "openssl pkey -in " +
            path + " -out FILE)");
  }
  return rocksdb::Status::InvalidArgument(
      path + " holds no unencrypted PEM private key", TakeOpenSslError());
}

rocksdb::Status CheckCa(const CertificateAndKey& ca, const std::string& file,
                        const std::string& key_file) {
  // 1 means a CA by its basic constraints; other answers are guesses.
  if (X509_check_ca(ca.certificate.get()) != 1) {
    return rocksdb::Status::InvalidArgument(file +
                                            " is not the certificate of a CA");
  }
  if (!IsPair(ca)) {
    return rocksdb::Status::InvalidArgument(
        key_file + " is not the private key of the CA " + file,
        "give the key of the CA whose certificate is the file's first");
  }
  if (X509_cmp_current_time(X509_get0_notAfter(ca.certificate.get())) < 0) {
    return rocksdb::Status::InvalidArgument(
        "the CA " + file + " has expired",
        "make a new one, and certificates of it: \"Another CA\" in "
        "operating.md");
  }
  return rocksdb::Status::OK();
}

}  // namespace rocksync
