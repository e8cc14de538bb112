#include "tools/http/http_server.h"

#include <poll.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tools/http/open_files.h"

namespace rocksync {

// The connections whose clients keep them waiting, who does so the longest
// first. Thread-safe.
class HttpServer::Clients {
 public:
  // Waits from now on: for a request, or for its response to be taken.
  void AddForRequest(int socket) { Add({socket, SHUT_RD}); }
  void AddForResponse(int socket) { Add({socket, SHUT_RDWR}); }
  // Waits no more, not even if it was given up: its client came in time.
  void SetBusy(int socket) {
    const std::lock_guard lock(mutex_);
    Erase(socket);
    MakePlace();
  }
  // Before the socket is closed, whose number may then be another's.
  void Remove(int socket) {
    const std::lock_guard lock(mutex_);
    Erase(socket);
  }
  bool IsGivenUp(int socket) {
    const std::lock_guard lock(mutex_);
    return Find(&given_up_, socket) != given_up_.end();
  }
  // So many connections have no thread: as many of those that wait end, now or
  // as soon as they wait.
  void SetWithoutThread(size_t count) {
    const std::lock_guard lock(mutex_);
    without_thread_ = count;
    MakePlace();
  }
  // Ends all, and those to come.
  void Close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    for (const Waiting& each : waiting_) ::shutdown(each.socket, SHUT_RDWR);
    waiting_.clear();
  }

 private:
  struct Waiting {
    int socket;
    int end;  // what of it ends if it is given up
  };
  using List = std::list<Waiting>;

  static List::iterator Find(List* list, int socket) {
    return std::find_if(
        list->begin(), list->end(),
        [socket](const Waiting& each) { return each.socket == socket; });
  }
  void Erase(int socket) {
    for (List* const list : {&waiting_, &given_up_}) {
      const auto found = Find(list, socket);
      if (found != list->end()) list->erase(found);
    }
  }
  void Add(const Waiting& waiting) {
    const std::lock_guard lock(mutex_);
    if (closed_) {
      ::shutdown(waiting.socket, SHUT_RDWR);
    } else {
      waiting_.push_back(waiting);
      MakePlace();
    }
  }
  void MakePlace() {
    while (without_thread_ > given_up_.size() && !waiting_.empty()) {
      ::shutdown(waiting_.front().socket, waiting_.front().end);
      given_up_.splice(given_up_.end(), waiting_, waiting_.begin());
    }
  }

  std::mutex mutex_;
  List waiting_;
  List given_up_;  // their threads are free soon
  size_t without_thread_ = 0;
  bool closed_ = false;
};

namespace {

using Clock = std::chrono::steady_clock;

// In the thread that listens, while it runs what serves a connection for which
// there is no place.
thread_local bool refusing = false;

// A thread for each connection, up to a limit; so many more wait for one.
class ConnectionThreads : public httplib::TaskQueue {
 public:
  ConnectionThreads(HttpServer::Clients* clients, const HttpLimits& limits)
      : clients_(clients), limits_(limits) {}

  void enqueue(std::function<void()> serve) override {
    if (Add(&serve)) return;
    refusing = true;
    serve();
    refusing = false;
  }

  void shutdown() override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  bool Add(std::function<void()>* serve) {
    const std::lock_guard lock(mutex_);
    const bool may_add = threads_.size() < limits_.connections;
    if (!may_add && waiting_.size() >= idle_ + limits_.waiting) return false;
    waiting_.push_back(std::move(*serve));
    if (waiting_.size() > idle_ && may_add) AddThread();
    TellWaiting();
    changed_.notify_one();
    return true;
  }

  void AddThread() {
    try {
      threads_.emplace_back([this] { Work(); });
      ++idle_;  // it is about to look
    } catch (const std::system_error&) {
      // The system has no more; those that are there take turns.
    }
  }

  // What came is served, so that its socket is closed.
  void Work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      --idle_;
      if (waiting_.empty()) return;
      const std::function<void()> serve = std::move(waiting_.front());
      waiting_.pop_front();
      TellWaiting();
      lock.unlock();
      serve();
      lock.lock();
      ++idle_;
      TellWaiting();
    }
  }

  void TellWaiting() {
    clients_->SetWithoutThread(waiting_.size() -
                               std::min(waiting_.size(), idle_));
  }

  HttpServer::Clients* const clients_;
  const HttpLimits limits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  std::vector<std::thread> threads_;
  size_t idle_ = 0;
  bool stopping_ = false;
};

// A connection with an end to each of its waits: a client that sends or takes a
// byte now and then has no more time than others.
class BoundedStream : public httplib::Stream {
 public:
  BoundedStream(int socket, const HttpLimits& limits,
                HttpServer::Clients* clients)
      : socket_(socket), limits_(limits), clients_(clients) {}
  ~BoundedStream() override { clients_->Remove(socket_); }
  BoundedStream(const BoundedStream&) = delete;
  BoundedStream& operator=(const BoundedStream&) = delete;

  // The request is there; answering it may take its time.
  void Received() { clients_->SetBusy(socket_); }
  // Another connection has its place, and nothing was answered.
  bool IsGivenUp() const { return !writing_ && clients_->IsGivenUp(socket_); }

  bool is_readable() const override {
    return begin_ < end_ || Await(POLLIN, request_end_);
  }
  bool is_writable() const override {
    return Await(POLLOUT, Clock::now() + limits_.response_time);
  }

  ssize_t read(char* data, size_t size) override {
    if (begin_ == end_ && !Fill()) return -1;
    const size_t taken = std::min(size, end_ - begin_);
    std::copy_n(buffer_.begin() + static_cast<ptrdiff_t>(begin_), taken, data);
    begin_ += taken;
    return static_cast<ssize_t>(taken);
  }

  ssize_t write(const char* data, size_t size) override {
    if (IsGivenUp()) return -1;
    if (!writing_) {
      writing_ = true;
      response_end_ = Clock::now() + limits_.response_time;
    }
    for (;;) {
      const ssize_t sent =
          ::send(socket_, data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent >= 0) return sent;
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) return -1;
      if (!AwaitAck()) return -1;
    }
  }

  // Nobody here asks who it is.
  void get_remote_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  void get_local_ip_and_port(std::string& ip, int& port) const override {
    ip.clear();
    port = 0;
  }
  socket_t socket() const override { return socket_; }

 private:
  bool Await(int16_t event, Clock::time_point end) const {
    for (;;) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          end - Clock::now());
      if (left.count() <= 0) return false;
      pollfd waited{socket_, event, 0};
      const int ready = ::poll(&waited, 1, static_cast<int>(left.count()));
      if (ready > 0) return true;
      if (ready == 0 || errno != EINTR) return false;
    }
  }

  bool AwaitRequest() {
    if (!late_) {
      if (Await(POLLIN, std::min(request_end_, late_from_))) return true;
      late_ = true;
      clients_->AddForRequest(socket_);
    }
    return Await(POLLIN, request_end_);
  }

  bool AwaitAck() {
    const Clock::time_point late_from = Clock::now() + limits_.grace;
    if (Await(POLLOUT, std::min(response_end_, late_from))) return true;
    clients_->AddForResponse(socket_);
    const bool taken =
        Await(POLLOUT, response_end_) && !clients_->IsGivenUp(socket_);
    if (taken) clients_->SetBusy(socket_);
    return taken;
  }

  bool Fill() {
    if (received_ >= limits_.request_bytes) return false;
    for (;;) {
      if (!AwaitRequest()) return false;
      const ssize_t size =
          ::recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
      if (size < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (size <= 0) return false;
      begin_ = 0;
      end_ = static_cast<size_t>(size);
      received_ += end_;
      return true;
    }
  }

  const int socket_;
  const HttpLimits& limits_;
  HttpServer::Clients* const clients_;
  const Clock::time_point request_end_ = Clock::now() + limits_.request_time;
  const Clock::time_point late_from_ = Clock::now() + limits_.grace;
  bool late_ = false;
  Clock::time_point response_end_;
  bool writing_ = false;
  std::array<char, 4096> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  size_t received_ = 0;
};

// Another process that listens there keeps the port, which is an error.
void OneListenerAtATime(socket_t socket) {
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

// What was sent and not read makes the kernel reset the connection, by which
// the client may lose the response.
void DropInput(int socket) {
  std::array<char, 4096> dropped;
  for (int i = 0; i < 16; ++i) {
    if (::recv(socket, dropped.data(), dropped.size(), MSG_DONTWAIT) <= 0) {
      return;
    }
  }
}

void SendBusy(int socket) {
  static constexpr std::string_view kBusy =
      "HTTP/1.1 503 Service Unavailable\r\n"
      "Retry-After: 1\r\n"
      "Content-Type: text/plain; charset=utf-8\r\n"
      "Content-Length: 22\r\n"
      "Connection: close\r\n"
      "\r\n"
      "Too many connections.\n";
  // Nothing was sent before, so there is room.
  ::send(socket, kBusy.data(), kBusy.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

// A target that is a whole URL, as RFC 9112 (3.2.2) has it: its host counts,
// and not that of the header. Several headers are left to be refused, and so is
// a request that has to have one, and has none.
void TakeHostOutOfTarget(httplib::Request* request) {
  constexpr std::string_view kScheme = "http://";
  const std::string_view target = request->target;
  const size_t headers = request->get_header_value_count("Host");
  const bool may_lack_host = request->version == "HTTP/1.0";
  if (headers > 1 || (headers == 0 && !may_lack_host) ||
      target.size() < kScheme.size() ||
      ::strncasecmp(target.data(), kScheme.data(), kScheme.size()) != 0) {
    return;
  }
  const size_t end =
      std::min(target.find_first_of("/?#", kScheme.size()), target.size());
  const std::string host(target.substr(kScheme.size(), end - kScheme.size()));
  // The path was decoded, and no host has anything to be decoded.
  if (host.find('%') != std::string::npos) return;
  request->path.erase(0, end);
  if (!request->path.starts_with('/')) request->path.insert(0, "/");
  request->headers.erase("Host");
  request->set_header("Host", host);
}

// Of what a browser sends once, and a proxy may read otherwise than we do.
// Empty: all is well.
std::string RefusalOfSeveral(const httplib::Request& request) {
  for (const char* const header : {"Host", "Origin"}) {
    if (request.get_header_value_count(header) > 1) {
      return std::string("This page does not answer to several headers ") +
             header + ".";
    }
  }
  return "";
}

// Half of the files that the process may open are left to it.
HttpLimits WithinOpenFiles(HttpLimits limits) {
  const size_t quarter = QuarterOfOpenFiles();
  limits.connections = std::min(limits.connections, quarter);
  limits.waiting = std::min(limits.waiting, quarter);
  return limits;
}

}  // namespace

HttpServer::HttpServer(PageGuard guard, const HttpLimits& limits)
    : guard_(std::move(guard)),
      limits_(WithinOpenFiles(limits)),
      clients_(std::make_unique<Clients>()) {
  set_socket_options(OneListenerAtATime);
  set_payload_max_length(0);
  set_pre_routing_handler(
      [this](const httplib::Request& request, httplib::Response& response) {
        return Admit(request, response);
      });
  new_task_queue = [this] {
    return new ConnectionThreads(clients_.get(), limits_);
  };
}

HttpServer::~HttpServer() {
  stop();
  clients_->Close();
  if (listener_.joinable()) listener_.join();
}

int HttpServer::Start(const std::string& host, uint16_t port,
                      std::string* why) {
  errno = 0;  // the library looks a name up and tells no error of that
  const int bound = port == 0                  ? bind_to_any_port(host)
                    : bind_to_port(host, port) ? static_cast<int>(port)
                                               : -1;
  // The library's backlog is 5: of more that come at once, some would wait a
  // second to be heard.
  if (bound < 0 || ::listen(svr_sock_, SOMAXCONN) != 0) {
    if (why != nullptr) {
      *why = errno != 0 ? std::strerror(errno) : "no address of this machine";
    }
    return -1;
  }
  listener_ = std::thread([this] {
    listen_after_bind();
    ended_ = true;
  });
  // Before it runs, stop() does nothing, and the thread would never end.
  while (!is_running() && !ended_) std::this_thread::yield();
  return bound;
}

bool HttpServer::process_and_close_socket(socket_t socket) {
  bool closed = false;
  bool served = false;
  bool busy = refusing;
  if (!busy) {
    BoundedStream stream(socket, limits_, clients_.get());
    served = process_request(stream, /*close_connection=*/true, closed,
                             [&](httplib::Request& request) {
                               stream.Received();
                               // Any part may be asked for any number of
                               // times, and the library would send them all.
                               request.ranges.clear();
                               TakeHostOutOfTarget(&request);
                             });
    busy = stream.IsGivenUp();
  }
  if (busy) SendBusy(socket);
  ::shutdown(socket, SHUT_WR);
  DropInput(socket);
  ::close(socket);
  return served;
}

httplib::Server::HandlerResponse HttpServer::Admit(
    const httplib::Request& request, httplib::Response& response) const {
  std::string refusal = RefusalOfSeveral(request);
  if (refusal.empty()) {
    refusal = guard_.Refusal(request.get_header_value("Host"),
                             request.get_header_value("Origin"));
  }
  if (refusal.empty() && request.method != "GET" && request.method != "HEAD") {
    refusal = "This page is for reading only.";
  }
  if (refusal.empty()) return HandlerResponse::Unhandled;
  response.status = 403;
  response.set_content(refusal + "\n", "text/plain; charset=utf-8");
  return HandlerResponse::Handled;
}

}  // namespace rocksync
