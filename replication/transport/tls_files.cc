#include "replication/transport/tls_files.h"

#include <sys/stat.h>

#include <utility>

#include "replication/transport/certificate.h"
#include "rocksync/replica_id.h"

namespace rocksync {

rocksdb::Status TlsFiles::Load(const std::string& ca_file,
                               const std::string& certificate_file,
                               const std::string& private_key_file,
                               std::function<void(const rocksdb::Status&)> told,
                               std::unique_ptr<TlsFiles>* files) {
  std::unique_ptr<TlsFiles> loaded(new TlsFiles);
  loaded->ca_file_ = ca_file;
  loaded->certificate_file_ = certificate_file;
  loaded->private_key_file_ = private_key_file;
  loaded->told_ = std::move(told);
  // Before the files are read: if they change meanwhile, they are read again.
  loaded->read_ = loaded->StatFiles();
  const rocksdb::Status s = loaded->Read(&loaded->context_);
  if (s.ok()) *files = std::move(loaded);
  return s;
}

std::shared_ptr<const TlsContext> TlsFiles::Current() {
  rocksdb::Status renewed;
  std::shared_ptr<const TlsContext> context;
  {
    const std::lock_guard lock(mutex_);
    const FileStamps now = StatFiles();
    // Unchanged files that were refused may be accepted now: their owner or
    // mode may have changed, or their validity may have begun.
    const bool changed = now != read_;
    if (!changed && error_.empty()) return context_;
    read_ = now;
    renewed = Read(&context);
    if (renewed.ok() && context->replica_id() != context_->replica_id()) {
      renewed = rocksdb::Status::InvalidArgument(
          "certificate " + certificate_file_ + " now names replica " +
              ReplicaIdHex(context->replica_id()) + ", before replica " +
              ReplicaIdHex(context_->replica_id()),
          "the earlier one stays in use: put a certificate of that replica "
          "back (a transport has one replica for life)");
    }
    if (renewed.ok()) {
      context_ = std::move(context);
      ++renewals_;
    }
    const std::string before = std::exchange(
        error_, renewed.ok() ? std::string() : renewed.ToString());
    if (!changed && error_ == before) return context_;
    context = context_;
  }
  ReportRenewal(renewed, *context);
  return context;
}

CertificateState TlsFiles::State() {
  const std::shared_ptr<const TlsContext> context = Current();
  const std::lock_guard lock(mutex_);
  return {context->expires_ms(), context->first_to_expire(), renewals_, error_};
}

void TlsFiles::SetLogger(std::shared_ptr<rocksdb::Logger> logger) {
  const std::lock_guard lock(log_mutex_);
  logger_ = std::move(logger);
}

void TlsFiles::LogRefusal(const rocksdb::Status& why) {
  constexpr std::chrono::seconds kBetween{1};
  const std::lock_guard lock(log_mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (logger_ == nullptr || now - refusal_logged_ < kBetween) return;
  refusal_logged_ = now;
  rocksdb::Log(rocksdb::InfoLogLevel::WARN_LEVEL, logger_,
               "rocksync: refused connection: %s", why.ToString().c_str());
}

void TlsFiles::ReportRenewal(const rocksdb::Status& renewed,
                             const TlsContext& used) const {
  if (told_) told_(renewed);
  const std::lock_guard lock(log_mutex_);
  if (logger_ == nullptr) return;
  if (renewed.ok()) {
    rocksdb::Log(rocksdb::InfoLogLevel::INFO_LEVEL, logger_,
                 "rocksync: renewed certificate files are in use; %s expires "
                 "on %s",
                 used.first_to_expire().c_str(),
                 UtcText(used.expires_ms()).c_str());
  } else {
    rocksdb::Log(rocksdb::InfoLogLevel::WARN_LEVEL, logger_,
                 "rocksync: the certificate files were changed and are not "
                 "used; the earlier ones stay in use, and expire on %s: %s",
                 UtcText(used.expires_ms()).c_str(),
                 renewed.ToString().c_str());
  }
}

TlsFiles::FileStamp TlsFiles::StampOf(const std::string& path) {
  struct stat status = {};
  FileStamp stamp;
  if (::stat(path.c_str(), &status) != 0) return stamp;
  stamp.device = status.st_dev;
  stamp.inode = status.st_ino;
  stamp.modified_s = status.st_mtim.tv_sec;
  stamp.modified_ns = status.st_mtim.tv_nsec;
  stamp.bytes = status.st_size;
  return stamp;
}

TlsFiles::FileStamps TlsFiles::StatFiles() const {
  return {StampOf(ca_file_), StampOf(certificate_file_),
          StampOf(private_key_file_)};
}

rocksdb::Status TlsFiles::Read(
    std::shared_ptr<const TlsContext>* context) const {
  return TlsContext::Load(ca_file_, certificate_file_, private_key_file_,
                          context);
}

}  // namespace rocksync
