// The TLS context of certificate files that may be renewed on disk.

#ifndef ROCKSYNC_REPLICATION_TRANSPORT_TLS_FILES_H_
#define ROCKSYNC_REPLICATION_TRANSPORT_TLS_FILES_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "replication/transport/tls_context.h"
#include "rocksdb/env.h"
#include "rocksdb/status.h"
#include "rocksync/transport.h"

namespace rocksync {

// Thread-safe.
class TlsFiles {
 public:
  // `told` may be empty; it is told of each change of the files: OK, they are
  // in use, or why not.
  static rocksdb::Status Load(const std::string& ca_file,
                              const std::string& certificate_file,
                              const std::string& private_key_file,
                              std::function<void(const rocksdb::Status&)> told,
                              std::unique_ptr<TlsFiles>* files);

  // For a new connection. Looks whether a file has changed, and reads them anew
  // if so. While they cannot be used, as between the writing of a key and that
  // of its certificate, what was read before stays in use, and each call reads
  // them again.
  std::shared_ptr<const TlsContext> Current();

  // Of what Current() returns.
  CertificateState State();

  // Where each change of the files is told, too; null: nowhere.
  void SetLogger(std::shared_ptr<rocksdb::Logger> logger);

  // An accepted connection was turned away, before anybody else heard of it: a
  // line there, one a second at most.
  void LogRefusal(const rocksdb::Status& why);

 private:
  // Changes when a file is written or replaced.
  struct Signature {
    uint64_t device = 0;
    uint64_t inode = 0;
    int64_t modified_s = 0;
    int64_t modified_ns = 0;
    int64_t bytes = -1;  // -1: not there
    bool operator==(const Signature&) const = default;
  };
  using Signatures = std::array<Signature, 3>;

  TlsFiles() = default;
  static Signature SignatureOf(const std::string& path);
  Signatures Look() const;
  rocksdb::Status Read(std::shared_ptr<const TlsContext>* context) const;
  // The files were changed; OK: they are in use now. `used`: what is.
  void Tell(const rocksdb::Status& renewed, const TlsContext& used) const;

  std::string ca_file_;
  std::string certificate_file_;
  std::string private_key_file_;
  std::function<void(const rocksdb::Status&)> told_;

  std::mutex mutex_;
  Signatures read_;  // those of the latest attempt
  std::shared_ptr<const TlsContext> context_;
  uint64_t renewals_ = 0;
  std::string error_;             // why what was read last is not in use
  mutable std::mutex log_mutex_;  // held while writing there
  std::shared_ptr<rocksdb::Logger> logger_;
  std::chrono::steady_clock::time_point refusal_logged_{};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_TLS_FILES_H_
