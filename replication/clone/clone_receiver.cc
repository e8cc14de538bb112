#include "replication/clone/clone_receiver.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "replication/base/status.h"
#include "replication/clone/clone_messages.h"
#include "replication/peering/admission.h"
#include "replication/peering/heartbeat.h"
#include "replication/peering/open_connections.h"
#include "replication/peering/timeout_remedy.h"
#include "replication/store/open/newer_rocksdb.h"

namespace rocksync {
namespace {

using rocksdb::Status;
using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// How much is asked for ahead on each connection, since a request takes a round
// trip.
constexpr uint64_t kAskedAheadBytes = uint64_t{32} << 20;
constexpr size_t kAskedAheadFiles = 64;
// The most bytes written before they are sent on to the disk. Otherwise a
// file's sync at its end would wait for all of it.
constexpr uint64_t kSyncEveryBytes = uint64_t{16} << 20;
constexpr milliseconds kProgressEvery{100};
constexpr int kCheckpointPatience = 20;  // times io_timeout

// The threads and connections of one call. The first failure ends them all.
class Crew {
 public:
  void Fail(const Status& why) {
    {
      const std::lock_guard lock(mutex_);
      if (failed_.ok()) failed_ = why;
    }
    stopped_ = true;
    connections_.CloseAll();
  }
  bool stopped() const { return stopped_; }
  Status status() const {
    const std::lock_guard lock(mutex_);
    return failed_;
  }
  OpenConnections* connections() { return &connections_; }

  // Runs a task on a thread of its own. The call fails with the task's error.
  void Spawn(std::function<Status()> task) {
    {
      const std::lock_guard lock(mutex_);
      ++running_;
    }
    try {
      threads_.emplace_back([this, task = std::move(task)] { End(task()); });
    } catch (const std::system_error& error) {
      End(NoThread(error.what()));
    }
  }

  // Calls `meanwhile` until all threads have ended, and joins them.
  Status Await(const std::function<void()>& meanwhile) {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kProgressEvery,
                              [this] { return running_ == 0; })) {
      lock.unlock();
      meanwhile();
      lock.lock();
    }
    lock.unlock();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    return status();
  }

 private:
  void End(const Status& s) {
    if (!s.ok()) Fail(s);
    const std::lock_guard lock(mutex_);
    --running_;
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Status failed_;
  size_t running_ = 0;
  std::atomic<bool> stopped_{false};
  OpenConnections connections_;
  std::vector<std::thread> threads_;
};

// The files that are to be copied, and the progress. Thread-safe.
class Work {
 public:
  explicit Work(std::vector<CloneFile> files) : files_(std::move(files)) {
    for (size_t i = 0; i < files_.size(); ++i) order_.push_back(i);
    // The largest files first, so that no connection has one left at the end.
    std::sort(order_.begin(), order_.end(), [this](size_t a, size_t b) {
      return files_[a].size > files_[b].size;
    });
  }

  const CloneFile& file(size_t number) const { return files_[number]; }
  size_t size() const { return files_.size(); }
  uint64_t bytes() const {
    uint64_t bytes = 0;
    for (const CloneFile& file : files_) bytes += file.size;
    return bytes;
  }

  // Takes the next file to copy. Returns false if none is left.
  bool Next(size_t* number) {
    const std::lock_guard lock(mutex_);
    if (next_ >= order_.size()) return false;
    *number = order_[next_++];
    return true;
  }
  std::atomic<uint64_t> files_done{0};
  std::atomic<uint64_t> bytes_there{0};
  std::atomic<uint64_t> bytes_received{0};

 private:
  const std::vector<CloneFile> files_;
  std::vector<size_t> order_;
  std::mutex mutex_;
  size_t next_ = 0;
};

Status FromRefusal(std::string_view message) {
  CloneRefusal refusal;
  const Status s = ToRocksDb(DecodeCloneRefusal(message, &refusal));
  if (!s.ok()) return s;
  switch (refusal.kind) {
    case CloneRefusal::Kind::kLater:
      return Status::Busy("the source says", refusal.text);
    case CloneRefusal::Kind::kStorageFailed:
      return Status::IOError("the source says", refusal.text);
    default:
      return Status::InvalidArgument("the source says", refusal.text);
  }
}

// A connection to the source, from its first message on.
class CloneConnection {
 public:
  CloneConnection(const CloneOptions& options, Crew* crew)
      : options_(options), crew_(crew) {}

  // Connects, and asks for the list of the source's files.
  Status Open(const CloneCredentials& credentials, const CloneAsk& ask,
              CloneFiles* files) {
    std::unique_ptr<Connection> made;
    Status s = options_.transport->Connect(
        options_.source, options_.io_timeout,
        [this] { return crew_->stopped(); }, &made);
    if (!s.ok()) return s;
    connection_.emplace(crew_->connections(), std::move(made));
    Admission admission;
    s = AuthenticateAsDialer(
        {.cluster = credentials.cluster,
         .secret = credentials.secret,
         .shown_id = options_.transport->replica_id(),
         .timeout = std::min(kProveTimeout, options_.io_timeout)},
        connection_->get(), &admission);
    if (!s.ok()) return s;
    connection()->SetFrameLimit(kMaxFrameBytes);  // for the list
    s = Send(AskMessage(credentials.secret, admission.auth_hello,
                        admission.challenge, ask));
    std::string message;
    if (s.ok()) {
      s = AddTimeoutRemedy(connection()->Receive(
          &message, kCheckpointPatience * options_.io_timeout));
    }
    if (s.ok()) s = Expect(CloneMessage::kFiles, message);
    if (s.ok()) s = ToRocksDb(DecodeFiles(message, files));
    if (!s.ok()) return s;
    connection()->SetFrameLimit(kDataHeadBytes + kCloneChunkBytes);
    connection()->SetFrameTimeout(kMaxPatience * options_.io_timeout);
    return s;
  }

  Status Send(const std::string& message) {
    return AddTimeoutRemedy(connection()->Send(message, options_.io_timeout));
  }
  // Receives a message of this kind.
  Status Receive(CloneMessage kind, std::string* message) {
    const Status s = connection()->Receive(message, options_.io_timeout);
    return s.ok() ? Expect(kind, *message) : AddTimeoutRemedy(s);
  }
  // Receives a chunk of `size` bytes. `*bytes` is a view into `*message`.
  Status ReceiveChunk(size_t size, std::string* message,
                      std::string_view* bytes) {
    Status s = Receive(CloneMessage::kData, message);
    if (s.ok()) s = ToRocksDb(DecodeData(*message, bytes));
    if (s.ok() && bytes->size() != size) {
      s = Status::Corruption("the source sends a chunk of another size");
    }
    return s;
  }

 private:
  Connection* connection() { return connection_->get(); }
  static Status Expect(CloneMessage kind, std::string_view message) {
    CloneMessage found = kind;
    const Status s = ToRocksDb(KindOf(message, &found));
    if (!s.ok() || found == kind) return s;
    return found == CloneMessage::kRefusal
               ? FromRefusal(message)
               : Status::Corruption("the source answers what was not asked");
  }

  const CloneOptions& options_;
  Crew* const crew_;
  std::optional<ListedConnection> connection_;
};

// Copies files over one connection, until none is left.
class Copier {
 public:
  Copier(Work* work, CloneDirectory* directory, CloneConnection* connection)
      : work_(work), directory_(directory), connection_(connection) {}

  Status Run() {
    Status s = AskAhead();
    while (s.ok() && !asked_.empty()) {
      s = asked_.front().held > 0 ? TakeSame() : TakeFile();
      if (s.ok()) s = AskAhead();
    }
    return s;
  }

 private:
  // A request that was sent and is not answered yet.
  struct Asked {
    size_t file = 0;
    uint64_t held = 0;    // bytes held, of a Check; 0: it is a Read
    uint64_t offset = 0;  // of a Read
    uint64_t cost = 0;    // bytes that the answer will bring
  };

  Status AskAhead() {
    Status s;
    size_t file = 0;
    while (s.ok() && asked_.size() < kAskedAheadFiles &&
           (asked_.empty() || asked_bytes_ < kAskedAheadBytes) &&
           work_->Next(&file)) {
      s = AskFor(file);
    }
    return s;
  }

  Status AskFor(size_t file) {
    uint64_t held = 0;
    Status s = directory_->SizeHeld(work_->file(file), &held);
    if (!s.ok()) return s;
    if (held == 0) return AskToRead(file, 0);
    CloneCheck check;
    check.file = file;
    check.size = held;
    s = directory_->HashHeld(work_->file(file), &check);
    if (!s.ok()) return s;
    if (check.size == 0) return AskToRead(file, 0);
    asked_.push_back({file, held, 0, 0});
    return connection_->Send(CheckMessage(check));
  }

  Status AskToRead(size_t file, uint64_t offset) {
    const uint64_t cost = work_->file(file).size - offset;
    asked_.push_back({file, 0, offset, cost});
    asked_bytes_ += cost;
    return connection_->Send(ReadMessage({file, offset}));
  }

  // Takes the answer to a Check: the file is complete, is continued, or begins
  // anew.
  Status TakeSame() {
    const Asked asked = asked_.front();
    asked_.pop_front();
    std::string message;
    Status s = connection_->Receive(CloneMessage::kSame, &message);
    uint64_t same = 0;
    if (s.ok()) s = ToRocksDb(DecodeSame(message, &same));
    if (!s.ok()) return s;
    if (same != asked.held) return AskToRead(asked.file, 0);
    work_->bytes_there += same;
    return AskToRead(asked.file, same);
  }

  // Takes the rest of a file, which may be empty. A file that was complete is
  // synced too: the process that wrote it may have died before it did.
  Status TakeFile() {
    const Asked asked = asked_.front();
    asked_.pop_front();
    asked_bytes_ -= asked.cost;
    const CloneFile& file = work_->file(asked.file);
    std::unique_ptr<rocksdb::WritableFile> writer;
    Status s = directory_->Append(file, asked.offset, &writer);
    if (!s.ok()) return s;
    uint64_t synced = asked.offset;
    for (uint64_t at = asked.offset; at < file.size;) {
      const size_t wanted = CloneChunkAt(file.size, at);
      s = TakeChunk(wanted, writer.get());
      if (!s.ok()) return s;
      at += wanted;
      if (at - synced >= kSyncEveryBytes) {
        writer->RangeSync(synced, at - synced).PermitUncheckedError();
        synced = at;
      }
    }
    s = writer->Sync();
    if (s.ok()) s = writer->Close();
    if (s.ok()) ++work_->files_done;
    return s;
  }

  Status TakeChunk(size_t wanted, rocksdb::WritableFile* writer) {
    std::string_view bytes;
    Status s = connection_->ReceiveChunk(wanted, &message_, &bytes);
    if (!s.ok()) return s;
    s = writer->Append(rocksdb::Slice(bytes.data(), bytes.size()));
    work_->bytes_there += bytes.size();
    work_->bytes_received += bytes.size();
    return s;
  }

  Work* const work_;
  CloneDirectory* const directory_;
  CloneConnection* const connection_;
  std::deque<Asked> asked_;
  uint64_t asked_bytes_ = 0;
  std::string message_;
};

// Computes the rate over the last seconds.
class RateOverTime {
 public:
  uint64_t PerSecond(uint64_t total) {
    constexpr std::chrono::seconds kWindow{5};
    const auto now = Clock::now();
    samples_.emplace_back(now, total);
    while (now - samples_.front().first > kWindow) samples_.pop_front();
    const auto ms =
        std::chrono::duration_cast<milliseconds>(now - samples_.front().first)
            .count();
    if (ms < 200) return 0;
    return (total - samples_.front().second) * 1000 / static_cast<uint64_t>(ms);
  }

 private:
  std::deque<std::pair<Clock::time_point, uint64_t>> samples_;
};

// Runs one call of ReceiveFiles.
class Transfer {
 public:
  Transfer(const CloneOptions& options, const CloneCredentials& credentials,
           uint64_t min_free_bytes, CloneDirectory* directory,
           CloneProgress* progress)
      : options_(options),
        credentials_(credentials),
        min_free_bytes_(min_free_bytes),
        directory_(directory),
        progress_(progress),
        first_(options, &crew_) {}

  Status Run() {
    crew_.Spawn([this] { return Ask(); });
    Status s = Wait();
    if (!s.ok()) return s;
    progress_->stage = CloneProgress::Stage::kCopying;
    progress_->files = work_->size();
    progress_->bytes = work_->bytes();
    crew_.Spawn(
        [this] { return Copier(work_.get(), directory_, &first_).Run(); });
    for (size_t i = 1; i < std::min(options_.connections, work_->size()); ++i) {
      crew_.Spawn([this] { return CopyOverAnother(); });
    }
    s = Wait();
    if (s.ok()) s = directory_->Finish();
    // If the message is lost, the source drops the checkpoint after a while.
    if (s.ok()) (void)first_.Send(DoneMessage());
    return s;
  }

 private:
  CloneAsk AskOf(uint64_t ticket) const {
    const CloneRecord& record = directory_->record();
    return {record.replica_id, ticket, record.purpose == ClonePurpose::kResync};
  }

  Status Ask() {
    CloneFiles list;
    Status s =
        first_.Open(credentials_, AskOf(directory_->record().ticket), &list);
    // Checked before anything is written.
    if (s.ok()) s = CheckVersion(list.files);
    if (s.ok()) s = directory_->Begin(list, min_free_bytes_);
    if (!s.ok()) return s;
    ticket_ = list.ticket;
    work_ = std::make_unique<Work>(std::move(list.files));
    return s;
  }

  // Checks which RocksDB the source runs with, by its OPTIONS file, which a
  // checkpoint need not have.
  Status CheckVersion(const std::vector<CloneFile>& files) {
    const auto file = std::find_if(
        files.begin(), files.end(),
        [](const CloneFile& f) { return f.name.starts_with("OPTIONS-"); });
    if (file == files.end() || file->size == 0) return Status::OK();
    Status s = first_.Send(
        ReadMessage({static_cast<uint64_t>(file - files.begin()), 0}));
    Status version;
    std::string message;
    for (uint64_t at = 0; s.ok() && at < file->size;) {
      std::string_view bytes;
      s = first_.ReceiveChunk(CloneChunkAt(file->size, at), &message, &bytes);
      if (s.ok() && at == 0) version = CheckSourceIsNotNewer(bytes);
      at += bytes.size();
    }
    // This receiver does not come back, so the source need not keep the
    // checkpoint.
    if (!version.ok()) (void)first_.Send(DoneMessage());
    return s.ok() ? version : s;
  }

  Status CopyOverAnother() {
    CloneConnection connection(options_, &crew_);
    CloneFiles same;
    Status s = connection.Open(credentials_, AskOf(ticket_), &same);
    // One connection fewer is no failure.
    if (s.IsBusy()) return Status::OK();
    if (s.ok() && same.ticket != ticket_) {
      s = Status::TryAgain("the source's checkpoint is gone", "clone on");
    }
    return s.ok() ? Copier(work_.get(), directory_, &connection).Run() : s;
  }

  Status Wait() {
    const Status s = crew_.Await([this] {
      if (progress_->stage == CloneProgress::Stage::kCopying) Note();
      if (options_.progress) options_.progress(*progress_);
      if (options_.cancelled && options_.cancelled()) {
        crew_.Fail(Status::Aborted("the copy was cancelled"));
      }
    });
    if (work_ != nullptr) Note();
    return s;
  }

  void Note() {
    progress_->files_done = work_->files_done;
    progress_->bytes_done = work_->bytes_there;
    progress_->bytes_received = work_->bytes_received;
    progress_->bytes_per_second = rate_.PerSecond(progress_->bytes_done);
    progress_->seconds_left = progress_->bytes_per_second == 0
                                  ? 0
                                  : (progress_->bytes - progress_->bytes_done) /
                                        progress_->bytes_per_second;
  }

  const CloneOptions& options_;
  const CloneCredentials& credentials_;
  const uint64_t min_free_bytes_;
  CloneDirectory* const directory_;
  CloneProgress* const progress_;
  Crew crew_;
  CloneConnection first_;
  uint64_t ticket_ = 0;
  std::unique_ptr<Work> work_;
  RateOverTime rate_;
};

}  // namespace

Status ReceiveFiles(const CloneOptions& options,
                    const CloneCredentials& credentials,
                    uint64_t min_free_bytes, CloneDirectory* directory,
                    CloneProgress* copied) {
  return Transfer(options, credentials, min_free_bytes, directory, copied)
      .Run();
}

}  // namespace rocksync
