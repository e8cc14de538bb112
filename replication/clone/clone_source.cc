#include "replication/clone/clone_source.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "replication/base/status.h"
#include "replication/peering/heartbeat.h"
#include "replication/store/store_access.h"
#include "replication/store/upkeep/index_build.h"
#include "replication/store/upkeep/peer_memory.h"
#include "rocksdb/env.h"

namespace rocksync {
namespace {

using rocksdb::Status;
using std::chrono::milliseconds;

// The most requests, and hashes in them, that a receiver may send ahead. More
// would only fill memory.
constexpr size_t kMaxAsked = 1024;
constexpr size_t kMaxAskedHashes = 2 * kMaxCloneHashes;
// How long to wait for a request: in effect without a limit, since a receiver
// whose disk is slow asks for nothing. The transport closes an idle connection
// sooner.
constexpr std::chrono::hours kBetweenQuestions{1};

std::string RefusalOf(const Status& why) {
  const CloneRefusal::Kind kind =
      why.IsBusy() || why.IsTryAgain() ? CloneRefusal::Kind::kLater
      : why.IsIOError()                ? CloneRefusal::Kind::kStorageFailed
                                       : CloneRefusal::Kind::kForGood;
  return CloneRefusalMessage({kind, ToldToPeer(why)});
}

using Question = std::variant<CloneRead, CloneCheck>;

Status ParseQuestion(std::string_view message, CloneMessage kind,
                     Question* question) {
  if (kind == CloneMessage::kRead) {
    return ToRocksDb(DecodeRead(message, &question->emplace<CloneRead>()));
  }
  if (kind == CloneMessage::kCheck) {
    return ToRocksDb(DecodeCheck(message, &question->emplace<CloneCheck>()));
  }
  return Status::InvalidArgument(
      absl::StrCat("the receiver of a clone sent a message of kind ",
                   static_cast<int>(kind), " where a question was due"));
}

size_t HashesIn(const Question& question) {
  const auto* const check = std::get_if<CloneCheck>(&question);
  return check == nullptr ? 0 : check->hashes.size();
}

uint64_t PerSecond(uint64_t count, std::chrono::steady_clock::duration time) {
  const auto ms = std::chrono::duration_cast<milliseconds>(time).count();
  return ms <= 0 ? 0 : count * 1000 / static_cast<uint64_t>(ms);
}

}  // namespace

// Prepares the source's leaf digests while its files are copied. The proof
// needs them, and after a long time without sessions preparing them takes as
// long as reading the index.
class CloneSource::Readying {
 public:
  explicit Readying(ReplicatorContext* replica) {
    try {
      thread_ = std::thread([replica] {
        const auto stops = [replica] { return replica->stopping.load(); };
        // The session of the proof reports any error.
        (void)StoreAccess::NewView(replica->db, replica->pay_for_reads)
            ->TakeSnapshot(stops);
      });
    } catch (const std::system_error&) {
      // Without a thread, the proof waits for the digests.
    }
  }
  // Waits until the digests are ready, which any session can use.
  ~Readying() {
    if (thread_.joinable()) thread_.join();
  }
  Readying(const Readying&) = delete;
  Readying& operator=(const Readying&) = delete;

 private:
  std::thread thread_;
};

// Serves one connection: receives requests, and answers them on a thread of its
// own.
class CloneSource::Conversation {
 public:
  Conversation(CloneSource* source, Connection* connection,
               const Checkpoints::Files& files)
      : source_(source), connection_(connection), files_(files) {}

  Status Run();

 private:
  // Receives requests and queues them. Returns OK once the peer is done.
  Status Listen();
  void AnswerAll();
  Status Answer(const Question& question);
  Status Answer(const CloneRead& read);
  Status Answer(const CloneCheck& check);
  Status Open(uint64_t number, uint64_t offset);
  // Reads the chunk at `offset`, which may be shorter at the end, into `to`.
  Status ReadChunk(uint64_t offset, char* to, size_t* size);
  Status Send(const rocksdb::Slice& message);

  CloneSource* const source_;
  Connection* const connection_;
  const Checkpoints::Files& files_;
  std::unique_ptr<rocksdb::RandomAccessFile> file_;
  uint64_t file_size_ = 0;
  std::string file_name_;
  std::string frame_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Question> asked_;
  size_t asked_hashes_ = 0;  // hashes in asked_
  bool over_ = false;        // no more requests come
  Status failed_;            // error of the thread that answers
};

Status CloneSource::Conversation::Run() {
  std::thread answers;
  try {
    answers = std::thread([this] { AnswerAll(); });
  } catch (const std::system_error& error) {
    return NoThread(error.what());
  }
  Status s = Listen();
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    asked_.clear();
  }
  changed_.notify_all();
  answers.join();
  // An error of the answering thread came first: it closed the connection.
  return failed_.ok() ? s : failed_;
}

Status CloneSource::Conversation::Listen() {
  for (;;) {
    std::string message;
    Status s = connection_->Receive(&message, kBetweenQuestions);
    CloneMessage kind = CloneMessage::kDone;
    if (s.ok()) s = ToRocksDb(KindOf(message, &kind));
    if (!s.ok()) return s;
    if (kind == CloneMessage::kDone) {
      source_->checkpoints_.Finish(files_.list.ticket);
      return s;
    }
    Question question;
    s = ParseQuestion(message, kind, &question);
    if (!s.ok()) return s;
    const std::lock_guard lock(mutex_);
    asked_hashes_ += HashesIn(question);
    if (asked_.size() >= kMaxAsked || asked_hashes_ > kMaxAskedHashes) {
      return Status::InvalidArgument("a clone asks for too much ahead");
    }
    asked_.push_back(std::move(question));
    changed_.notify_all();
  }
}

void CloneSource::Conversation::AnswerAll() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    if (asked_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const Question question = std::move(asked_.front());
    asked_.pop_front();
    asked_hashes_ -= HashesIn(question);
    lock.unlock();
    const Status s = Answer(question);
    if (!s.ok()) {
      (void)connection_->Send(RefusalOf(s),
                              source_->replica_->options.io_timeout);
      // Wakes Listen.
      connection_->Close();
      lock.lock();
      failed_ = s;
      return;
    }
    lock.lock();
  }
}

Status CloneSource::Conversation::Answer(const Question& question) {
  if (files_.withdrawn) {
    return Status::TryAgain("the source's disk is short of room",
                            "make room there, then clone on");
  }
  if (source_->replica_->stopping) {
    return Status::TryAgain("the source's replicator stops");
  }
  return std::visit([this](const auto& asked) { return Answer(asked); },
                    question);
}

Status CloneSource::Conversation::Open(uint64_t number, uint64_t offset) {
  if (number >= files_.list.files.size() ||
      offset > files_.list.files[number].size) {
    return Status::InvalidArgument(absl::StrCat(
        "the receiver of a clone asks for byte ", offset, " of file ", number,
        ", which is not there; start the clone again"));
  }
  const CloneFile& file = files_.list.files[number];
  if (file_ != nullptr && file_name_ == file.name) return Status::OK();
  file_.reset();
  file_name_ = file.name;
  file_size_ = file.size;
  rocksdb::Env* const env = source_->replica_->db->GetEnv();
  return env->NewRandomAccessFile(files_.directory + "/" + file.name, &file_,
                                  rocksdb::EnvOptions());
}

Status CloneSource::Conversation::ReadChunk(uint64_t offset, char* to,
                                            size_t* size) {
  *size = CloneChunkAt(file_size_, offset);
  size_t have = 0;
  while (have < *size) {
    rocksdb::Slice piece;
    const Status s =
        file_->Read(offset + have, *size - have, &piece, to + have);
    if (!s.ok()) return s;
    if (piece.empty()) {
      return Status::Corruption("the file " + file_name_ + " ends early");
    }
    if (piece.data() != to + have) {
      std::copy(piece.data(), piece.data() + piece.size(), to + have);
    }
    have += piece.size();
  }
  return Status::OK();
}

Status CloneSource::Conversation::Send(const rocksdb::Slice& message) {
  ReplicatorContext* const replica = source_->replica_;
  // As in a session, the wait is never so long that the peer would time out.
  if (!replica->bytes.Pay(message.size(), replica->options.io_timeout / 4,
                          replica->stopped)) {
    return Status::TryAgain("the source's replicator stops");
  }
  return connection_->Send(message, replica->options.io_timeout);
}

Status CloneSource::Conversation::Answer(const CloneRead& read) {
  Status s = Open(read.file, read.offset);
  uint64_t offset = read.offset;
  frame_.resize(kDataHeadBytes + kCloneChunkBytes);
  while (s.ok() && offset < file_size_) {
    if (files_.withdrawn) {
      return Status::TryAgain("the source's disk is short of room",
                              "make room there, then clone on");
    }
    char* const bytes = frame_.data() + kDataHeadBytes;
    size_t size = 0;
    s = ReadChunk(offset, bytes, &size);
    if (!s.ok()) break;
    PutDataHead(ElementHasher::HashIssuedValue({bytes, size}), frame_.data());
    s = Send({frame_.data(), kDataHeadBytes + size});
    offset += size;
    source_->Count(files_.list.ticket, size, size);
  }
  return s;
}

Status CloneSource::Conversation::Answer(const CloneCheck& check) {
  Status s = Open(check.file, check.size);
  uint64_t same = 0;
  std::string chunk(kCloneChunkBytes, '\0');
  for (const ValueHash& hash : check.hashes) {
    size_t size = 0;
    if (s.ok()) s = ReadChunk(same, chunk.data(), &size);
    if (!s.ok()) return s;
    size = static_cast<size_t>(std::min<uint64_t>(size, check.size - same));
    if (ElementHasher::HashIssuedValue({chunk.data(), size}) != hash) break;
    same += size;
  }
  s = Send(SameMessage(same));
  source_->Count(files_.list.ticket, same, 0);
  return s;
}

Status CloneSource::MayClone(const CloneAsk& ask) const {
  if (replica_->slots.paused()) {
    return Status::Busy("the source is paused",
                        "Replicator::Resume there, of the store REPLICATION "
                        "RESUME, ends that");
  }
  const auto not_new = [&](const char* who) {
    char id[17];
    std::snprintf(id, sizeof id, "%016llx",
                  static_cast<unsigned long long>(ask.replica_id));
    return Status::InvalidArgument(
        std::string("replica ") + id + " is " + who,
        ask.resync ? "resync from another replica"
                   : "a clone is a new replica: give it an id and a "
                     "certificate of its own, and where databases share a "
                     "port, a listen_address of its own");
  };
  if (ask.replica_id == replica_->identity.replica_id) {
    return not_new("the source itself");
  }
  // A replica that was met before must not be replaced by a clone: another
  // history under its id would look rolled back.
  if (!ask.resync &&
      StoreAccess::PeersOf(replica_->db)->Recall(ask.replica_id).has_value()) {
    return not_new("known to the source already");
  }
  const IndexBuildProgress build = replica_->db->GetIndexBuildProgress();
  if (build.done) return Status::OK();
  return Status::Busy("the source", InProgressText(build));
}

Status CloneSource::CheckAsk(const CloneAsk& ask, Connection* connection) {
  const uint64_t shown = connection->peer_replica_id();
  if (shown != 0 && shown != ask.replica_id) {
    return Status::InvalidArgument(
        "the certificate of the replica that asks for a clone names another "
        "replica than "
        "the clone is to be",
        "give the clone's own certificate");
  }
  if (replica_->options.allow_clones) return MayClone(ask);
  const Status refused = Status::InvalidArgument(
      "clones are refused: the option allow_clones is false (rocksync-store: "
      "--no-clones)",
      ask.resync ? "resync from another replica, or let sessions bring what is "
                   "missing"
                 : "clone another replica, or begin with an empty one, which "
                   "sessions fill");
  replica_->stats.RecordRefusal(connection->peer_name(), ask.replica_id,
                                StatsBoard::Standing::kNotNamed, refused);
  return refused;
}

Status CloneSource::Begin(Connection* connection, const Admission& admission,
                          std::string_view message, CloneAsk* ask,
                          Checkpoints::Use* use) {
  Status s = ToRocksDb(
      DecodeAsk(replica_->db->replication_options().cluster_secret,
                admission.auth_hello, admission.challenge, message, ask));
  if (s.ok()) s = CheckAsk(*ask, connection);
  return s.ok() ? checkpoints_.Get(ask->ticket, use) : s;
}

Status CloneSource::Serve(Connection* connection, const Admission& admission,
                          std::string_view message) {
  CloneAsk ask;
  Checkpoints::Use use;
  const milliseconds timeout = replica_->options.io_timeout;
  Status s = Begin(connection, admission, message, &ask, &use);
  if (!s.ok()) {
    (void)connection->Send(RefusalOf(s), timeout);
    return s;
  }
  rocksdb::Log(rocksdb::InfoLogLevel::INFO_LEVEL, replica_->log,
               "rocksync: replica %016llx at %s clones this replica: "
               "%zu files, %llu bytes",
               static_cast<unsigned long long>(ask.replica_id),
               connection->peer_name().c_str(), use->list.files.size(),
               static_cast<unsigned long long>(use->bytes));
  connection->SetFrameTimeout(kMaxPatience * timeout);
  s = connection->Send(FilesMessage(use->list), timeout);
  if (!s.ok()) return s;
  const uint64_t ticket = use->list.ticket;
  std::optional<Readying> readying;
  if (Enter(ask, connection->peer_name(), *use)) readying.emplace(replica_);
  s = Conversation(this, connection, *use).Run();
  Leave(ticket);
  return s;
}

bool CloneSource::Enter(const CloneAsk& ask, const std::string& address,
                        const Checkpoints::Files& files) {
  const std::lock_guard lock(mutex_);
  Counted* const counted = &served_[files.list.ticket];
  if (counted->connections++ > 0) return false;
  counted->clone = {};
  counted->clone.replica_id = ask.replica_id;
  counted->clone.address = address;
  counted->clone.bytes = files.bytes;
  counted->begun = Clock::now();
  return true;
}

void CloneSource::Leave(uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  const auto counted = served_.find(ticket);
  if (--counted->second.connections == 0) served_.erase(counted);
}

void CloneSource::Count(uint64_t ticket, uint64_t there, uint64_t sent) {
  const std::lock_guard lock(mutex_);
  ServedClone* const clone = &served_.at(ticket).clone;
  clone->bytes_there += there;
  clone->bytes_sent += sent;
}

std::vector<ServedClone> CloneSource::Served() const {
  std::vector<ServedClone> served;
  const std::lock_guard lock(mutex_);
  for (const auto& [ticket, counted] : served_) {
    ServedClone clone = counted.clone;
    clone.bytes_there = std::min(clone.bytes_there, clone.bytes);
    clone.bytes_per_second =
        PerSecond(clone.bytes_sent, Clock::now() - counted.begun);
    if (clone.bytes_per_second > 0) {
      clone.seconds_left =
          (clone.bytes - clone.bytes_there) / clone.bytes_per_second;
    }
    served.push_back(std::move(clone));
  }
  return served;
}

}  // namespace rocksync
