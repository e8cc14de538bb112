// Keeps the TLS context of certificate files that may be renewed on disk.

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

// The certificate files and their current context. Thread-safe.
class TlsFiles {
 public:
  // Reads the files. `told`, which may be empty, is called for each later
  // change of the files: with OK if they are in use, or with why not.
  static rocksdb::Status Load(const std::string& ca_file,
                              const std::string& certificate_file,
                              const std::string& private_key_file,
                              std::function<void(const rocksdb::Status&)> told,
                              std::unique_ptr<TlsFiles>* files);

  // Returns the context for a new connection. Checks whether a file has
  // changed, and reads the files anew if so. While they cannot be used, as
  // between the writing of a key and of its certificate, the earlier context
  // stays in use, and each call reads the files again.
  std::shared_ptr<const TlsContext> Current();

  // Returns the state of the certificate in the context that Current() returns.
  CertificateState State();

  // Sets a logger to which changes of the files are logged too; null: none.
  void SetLogger(std::shared_ptr<rocksdb::Logger> logger);

  // Logs that an accepted connection was refused before it reached the
  // application, in at most one line a second.
  void LogRefusal(const rocksdb::Status& why);

 private:
  // Changes when a file is written or replaced.
  struct FileStamp {
    uint64_t device = 0;
    uint64_t inode = 0;
    int64_t modified_s = 0;
    int64_t modified_ns = 0;
    int64_t bytes = -1;  // -1: not there
    bool operator==(const FileStamp&) const = default;
  };
  using FileStamps = std::array<FileStamp, 3>;

  TlsFiles() = default;
  static FileStamp StampOf(const std::string& path);
  FileStamps StatFiles() const;
  rocksdb::Status Read(std::shared_ptr<const TlsContext>* context) const;
  // Reports a change of the files. `renewed` is OK if they are in use now.
  // `used` is the context in use.
  void ReportRenewal(const rocksdb::Status& renewed,
                     const TlsContext& used) const;

  std::string ca_file_;
  std::string certificate_file_;
  std::string private_key_file_;
  std::function<void(const rocksdb::Status&)> told_;

  std::mutex mutex_;
  FileStamps read_;  // of the latest attempt to read the files
  std::shared_ptr<const TlsContext> context_;
  uint64_t renewals_ = 0;
  std::string error_;             // why the files read last are not in use
  mutable std::mutex log_mutex_;  // held while a line is logged
  std::shared_ptr<rocksdb::Logger> logger_;
  std::chrono::steady_clock::time_point refusal_logged_{};
};

}  // namespace rocksync

#endif  // ROCKSYNC_REPLICATION_TRANSPORT_TLS_FILES_H_
