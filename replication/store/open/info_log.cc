#include "replication/store/open/info_log.h"

#include <sys/time.h>

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "rocksdb/file_system.h"

namespace rocksync {
namespace {

using rocksdb::FileSystem;
using rocksdb::FSWritableFile;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

// Formats one line as RocksDB writes it: time, thread, text.
std::string Line(const char* format, va_list arguments) {
  timeval now;
  gettimeofday(&now, nullptr);
  tm date;
  localtime_r(&now.tv_sec, &date);
  char begin[80];
  std::snprintf(begin, sizeof begin, "%04d/%02d/%02d-%02d:%02d:%02d.%06d %llu ",
                date.tm_year + 1900, date.tm_mon + 1, date.tm_mday,
                date.tm_hour, date.tm_min, date.tm_sec,
                static_cast<int>(now.tv_usec),
                static_cast<unsigned long long>(
                    std::hash<std::thread::id>()(std::this_thread::get_id())));
  va_list again;
  va_copy(again, arguments);
  const int size = std::vsnprintf(nullptr, 0, format, again);
  va_end(again);
  std::string text(size > 0 ? static_cast<size_t>(size) + 1 : 1, '\0');
  std::vsnprintf(text.data(), text.size(), format, arguments);
  text.pop_back();  // the final zero
  std::string line = begin + text;
  if (line.back() != '\n') line.push_back('\n');
  return line;
}

class InfoLog final : public rocksdb::Logger {
 public:
  // `file` is null if it could not be made.
  explicit InfoLog(std::unique_ptr<FSWritableFile> file)
      : file_(std::move(file)) {}
  ~InfoLog() override { Close().PermitUncheckedError(); }

  using Logger::Logv;
  void Logv(const char* format, va_list arguments) override {
    const std::string line = Line(format, arguments);
    const std::lock_guard lock(mutex_);
    if (file_ == nullptr) return;
    IODebugContext debug;
    if (file_->Append(line, IOOptions(), &debug).ok()) bytes_ += line.size();
  }
  size_t GetLogFileSize() const override {
    const std::lock_guard lock(mutex_);
    return bytes_;
  }

 protected:
  rocksdb::Status CloseImpl() override {
    const std::lock_guard lock(mutex_);
    if (file_ == nullptr) return rocksdb::Status::OK();
    IODebugContext debug;
    IOStatus status = file_->Close(IOOptions(), &debug);
    file_ = nullptr;
    return status;
  }

 private:
  mutable std::mutex mutex_;
  std::unique_ptr<FSWritableFile> file_;
  size_t bytes_ = 0;
};

class InfoLogFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;
  const char* Name() const override { return "rocksync.InfoLogFileSystem"; }

  IOStatus NewLogger(const std::string& name, const IOOptions&,
                     std::shared_ptr<rocksdb::Logger>* log,
                     IODebugContext* debug) override {
    std::unique_ptr<FSWritableFile> file;
    if (!target()
             ->NewWritableFile(name, rocksdb::FileOptions(), &file, debug)
             .ok()) {
      file = nullptr;
    }
    *log = std::make_shared<InfoLog>(std::move(file));
    return IOStatus::OK();
  }
};

}  // namespace

std::shared_ptr<rocksdb::Logger> NewInfoLog(const rocksdb::DBOptions& options,
                                            const std::string& name) {
  rocksdb::DBOptions with_ours = options;
  const std::unique_ptr<rocksdb::Env> env = rocksdb::NewCompositeEnv(
      std::make_shared<InfoLogFileSystem>(options.env->GetFileSystem()));
  with_ours.env = env.get();
  std::shared_ptr<rocksdb::Logger> log;
  // RocksDB chooses the directory, the names of older files and when a new one
  // begins.
  const rocksdb::Status status =
      rocksdb::CreateLoggerFromOptions(name, with_ours, &log);
  if (!status.ok() || log == nullptr) log = std::make_shared<InfoLog>(nullptr);
  log->SetInfoLogLevel(options.info_log_level);
  return log;
}

}  // namespace rocksync
