// The port, with literal bytes over real sockets.

#include "examples/replicated_store/server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rocksdb/db.h"
#include "tests/support/open_plain.h"
#include "tests/support/temporary_directory.h"

namespace rocksync {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// A client that reads and writes bytes and waits at most ten seconds.
class Client {
 public:
  explicit Client(uint16_t port) {
    fd_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(
        ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address),
        0);
  }
  ~Client() { ::close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // As much as is taken at once; the number of bytes.
  size_t SendSome(std::string_view bytes) {
    const ssize_t sent =
        ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent > 0 ? static_cast<size_t>(sent) : 0;
  }
  void Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent =
          ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      ASSERT_GT(sent, 0);
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  // `size` bytes, or what came until the end.
  std::string Receive(size_t size) {
    std::string bytes;
    while (bytes.size() < size) {
      pollfd poll{fd_, POLLIN, 0};
      if (::poll(&poll, 1, 10'000) != 1) break;
      char buffer[65536];
      const ssize_t received =
          ::recv(fd_, buffer, std::min(sizeof buffer, size - bytes.size()), 0);
      if (received <= 0) break;
      bytes.append(buffer, static_cast<size_t>(received));
    }
    return bytes;
  }
  std::string ReceiveAll() { return Receive(std::string::npos); }
  // Without its end.
  std::string ReceiveLine() {
    std::string line;
    for (;;) {
      const std::string next = Receive(1);
      if (next.empty() || next == "\n") return line;
      line += next;
    }
  }
  // All, unless the connection ends meanwhile.
  void SendAnyhow(std::string_view bytes) {
    ssize_t sent = 1;
    while (!bytes.empty() && sent > 0) {
      sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent > 0) bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  // The one that is told something, or whose connection ends; null: neither.
  static Client* FirstToHear(Client* left, Client* right) {
    pollfd polls[] = {{left->fd_, POLLIN, 0}, {right->fd_, POLLIN, 0}};
    if (::poll(polls, 2, 10'000) < 1) return nullptr;
    return polls[0].revents != 0 ? left : right;
  }

 private:
  int fd_;
};

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    rocksdb::Options options;
    options.create_if_missing = true;
    rocksdb::DB* db = nullptr;
    const rocksdb::Status status = OpenPlain(options, directory_.path(), &db);
    EXPECT_TRUE(status.ok()) << status.ToString();
    db_.reset(db);
    commands_ = std::make_unique<Commands>(db, nullptr, CommandOptions{});
    options_.port = 0;
    options_.max_connections = 3;
  }
  ~ServerTest() override {
    server_.reset();
    db_.reset();
  }

  void Start() {
    const rocksdb::Status status =
        Server::Start(options_, commands_.get(), &server_);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }

  const TemporaryDirectory directory_;
  std::unique_ptr<rocksdb::DB> db_;
  std::unique_ptr<Commands> commands_;
  ServerOptions options_;
  std::unique_ptr<Server> server_;
};

TEST_F(ServerTest, AnswersPipelinesInOrder) {
  Start();
  Client client(server_->port());
  client.Send("PING\r\n*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\nv\r\nDBSIZE\r\nGE");
  EXPECT_EQ(client.Receive(16), "+PONG\r\n+OK\r\n:1\r\n");
  client.Send("T k\r\nQUIT\r\nPING\r\n");
  EXPECT_EQ(client.ReceiveAll(), "$1\r\nv\r\n+OK\r\n");
}

TEST_F(ServerTest, ProtocolErrorsEndTheConnection) {
  Start();
  Client client(server_->port());
  client.Send("PING\r\n*x\r\nPING\r\n");
  EXPECT_EQ(client.ReceiveAll(),
            "+PONG\r\n-ERR Protocol error: invalid number of arguments\r\n");
  Client other(server_->port());
  other.Send("PING\r\n");
  EXPECT_EQ(other.Receive(7), "+PONG\r\n");
}

// It hears why, although it sends all of the request before it listens.
TEST_F(ServerTest, AValueThatIsTooLargeIsRefusedByName) {
  Start();
  Client client(server_->port());
  const size_t size = options_.limits.max_argument_bytes + 1;
  client.Send("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$" + std::to_string(size) +
              "\r\n");
  client.Send(std::string(size, 'x'));
  EXPECT_THAT(client.ReceiveAll(), StartsWith("-ERR Protocol error"));
}

TEST_F(ServerTest, ExecutesNothingOfAnHttpRequest) {
  Start();
  Client browser(server_->port());
  browser.Send(
      "POST / HTTP/1.1\r\nHost: 127.0.0.1:6379\r\n"
      "Origin: http://evil.example\r\nContent-Length: 21\r\n\r\n"
      "\r\nSET pwned by-a-page\r\n");
  EXPECT_THAT(browser.ReceiveAll(), StartsWith("-ERR Protocol error"));
  Client other(server_->port());
  other.Send("GET pwned\r\n");
  EXPECT_EQ(other.Receive(5), "$-1\r\n");
}

TEST_F(ServerTest, RefusesOneClientTooMany) {
  Start();
  Client a(server_->port()), b(server_->port()), c(server_->port());
  for (Client* client : {&a, &b, &c}) {
    client->Send("PING\r\n");
    EXPECT_EQ(client->Receive(7), "+PONG\r\n");
  }
  Client d(server_->port());
  EXPECT_EQ(d.ReceiveAll(), "-ERR max number of clients reached\r\n");
}

TEST_F(ServerTest, LargeValues) {
  Start();
  Client client(server_->port());
  const std::string value(size_t{20} << 20, 'v');
  client.Send("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$" + std::to_string(value.size()) +
              "\r\n" + value + "\r\n");
  EXPECT_EQ(client.Receive(5), "+OK\r\n");
  client.Send("GET k\r\n");
  const std::string reply =
      "$" + std::to_string(value.size()) + "\r\n" + value + "\r\n";
  EXPECT_TRUE(client.Receive(reply.size()) == reply);
}

TEST_F(ServerTest, RepliesThatNobodyTakesAreBoundedTogether) {
  options_.max_unsent_bytes = size_t{50} << 20;
  Start();
  const std::string value(size_t{40} << 20, 'v');
  Client first(server_->port()), second(server_->port());
  first.Send("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$" + std::to_string(value.size()) +
             "\r\n" + value + "\r\n");
  EXPECT_EQ(first.Receive(5), "+OK\r\n");
  const std::string reply =
      "$" + std::to_string(value.size()) + "\r\n" + value + "\r\n";
  first.Send("GET k\r\n");
  EXPECT_EQ(first.Receive(1), "$");  // so the rest waits
  second.Send("PING\r\nGET k\r\nPING\r\n");
  EXPECT_EQ(second.Receive(7), "+PONG\r\n");
  EXPECT_THAT(second.ReceiveLine(),
              HasSubstr("ERR replies that clients have not taken"));
  EXPECT_EQ(second.Receive(7), "+PONG\r\n");
  EXPECT_TRUE(first.Receive(reply.size() - 1) == reply.substr(1));
  // Once that is taken, which the server may notice a moment later.
  bool given = false;
  for (int attempt = 0; attempt < 1000 && !given; ++attempt) {
    if (attempt > 0) ::usleep(10'000);
    second.Send("GET k\r\n");
    given = second.ReceiveLine().starts_with("$");
  }
  EXPECT_TRUE(given);
}

TEST_F(ServerTest, UnfinishedRequestsAreBoundedTogether) {
  options_.max_unfinished_bytes = size_t{3} << 20;
  Start();
  const std::string head = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4000000\r\n";
  const std::string part(size_t{2} << 20, 'v');
  {
    Client first(server_->port()), second(server_->port());
    for (Client* client : {&first, &second}) client->SendAnyhow(head + part);
    // The one whose bytes came last; it may be cut before it has read why.
    Client* const ended = Client::FirstToHear(&first, &second);
    ASSERT_NE(ended, nullptr);
    EXPECT_THAT(ended->ReceiveAll(),
                AnyOf("", HasSubstr("unfinished requests hold")));
    Client small(server_->port());
    small.Send("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$4\r\nca");
    small.Send("fe\r\n");
    EXPECT_EQ(small.Receive(5), "+OK\r\n");
  }
  // What they held is given back, once the server has seen that they are gone.
  const std::string value(size_t{2} << 20, 'w');
  const std::string set = "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$" +
                          std::to_string(value.size()) + "\r\n" + value +
                          "\r\n";
  std::optional<Client> third;
  std::string reply;
  for (int attempt = 0; attempt < 1000 && reply != "+OK\r\n"; ++attempt) {
    if (attempt > 0) ::usleep(10'000);
    third.emplace(server_->port());
    third->SendAnyhow(set);
    reply = third->Receive(5);
  }
  EXPECT_EQ(reply, "+OK\r\n");
  // By each request.
  for (int i = 0; i < 2; ++i) {
    third->Send(set);
    EXPECT_EQ(third->Receive(5), "+OK\r\n");
  }
}

// A client that asks and never reads holds up itself: its replies do not pile
// up in memory, and others are served.
TEST_F(ServerTest, WhoDoesNotReadIsNotHeard) {
  Start();
  Client reader(server_->port());
  const std::string value(size_t{1} << 20, 'v');
  reader.Send("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$" + std::to_string(value.size()) +
              "\r\n" + value + "\r\n");
  EXPECT_EQ(reader.Receive(5), "+OK\r\n");

  Client greedy(server_->port());
  std::string requests;
  for (int i = 0; i < 10'000; ++i) requests += "GET k\r\n";
  size_t taken = 0;
  for (int i = 0; i < 200; ++i) {
    taken += greedy.SendSome(requests);
    ::usleep(1000);
  }
  // Had all been answered, that were 10 GB for every 70 kB taken; what is
  // taken waits in the kernel's buffers.
  EXPECT_LT(taken, size_t{64} << 20);
  reader.Send("PING\r\n");
  EXPECT_EQ(reader.Receive(7), "+PONG\r\n");
}

TEST_F(ServerTest, PortTaken) {
  Start();
  options_.port = server_->port();
  std::unique_ptr<Server> second;
  const rocksdb::Status status =
      Server::Start(options_, commands_.get(), &second);
  EXPECT_TRUE(status.IsIOError());
  EXPECT_THAT(status.ToString(),
              HasSubstr("127.0.0.1:" + std::to_string(options_.port)));
  EXPECT_THAT(status.ToString(), HasSubstr("--redis-port"));
}

TEST_F(ServerTest, AnAddressOfAnotherMachine) {
  options_.host = "192.0.2.1";  // of documents
  std::unique_ptr<Server> server;
  const rocksdb::Status status =
      Server::Start(options_, commands_.get(), &server);
  EXPECT_TRUE(status.IsIOError());
  EXPECT_THAT(status.ToString(), HasSubstr("correct --redis-host"));
}

TEST_F(ServerTest, NotAnAddress) {
  options_.host = "nowhere.";
  std::unique_ptr<Server> second;
  EXPECT_TRUE(
      Server::Start(options_, commands_.get(), &second).IsInvalidArgument());
}

TEST_F(ServerTest, StopsWithClientsConnected) {
  Start();
  Client client(server_->port());
  client.Send("PING\r\n");
  EXPECT_EQ(client.Receive(7), "+PONG\r\n");
  server_.reset();
  EXPECT_EQ(client.ReceiveAll(), "");
}

}  // namespace
}  // namespace rocksync
