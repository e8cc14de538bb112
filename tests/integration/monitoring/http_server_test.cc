// The HTTP port, with clients that do not do their part.

#include "tools/http/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tools/http/page_guard.h"

namespace rocksync {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class RawClient {
 public:
  explicit RawClient(int port, int receive_buffer = 0) {
    fd_ = ::socket(AF_INET, SOCK_STREAM, 0);
    if (receive_buffer > 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer,
                   sizeof receive_buffer);
    }
    const timeval patience{60, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(
        ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address),
        0);
  }
  ~RawClient() { ::close(fd_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool Send(std::string_view bytes) {
    return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  // Until the other side ends it.
  std::string ReceiveAll() {
    std::string all;
    char bytes[4096];
    for (;;) {
      const ssize_t size = ::recv(fd_, bytes, sizeof bytes, 0);
      if (size <= 0) return all;
      all.append(bytes, static_cast<size_t>(size));
    }
  }

 private:
  int fd_ = -1;
};

// No deadline comes to pass unless a test says so.
HttpLimits Patient() {
  HttpLimits limits;
  limits.connections = 8;
  limits.request_time = std::chrono::hours(1);
  limits.response_time = std::chrono::hours(1);
  return limits;
}

class HttpServerTest : public ::testing::Test {
 protected:
  // The library, which is not instrumented, makes its statics with the first
  // request, and TSan does not see what orders that before the later ones.
  static void SetUpTestSuite() {
    HttpServer server((PageGuard({})));
    RawClient client(server.Start("127.0.0.1", 0));
    EXPECT_TRUE(client.Send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    EXPECT_THAT(client.ReceiveAll(), StartsWith("HTTP/1.1 404"));
  }

  void Start(const HttpLimits& limits) {
    server_ = std::make_unique<HttpServer>(PageGuard({}), limits);
    server_->Get("/", [](const httplib::Request&, httplib::Response& response) {
      response.set_content("here", "text/plain");
    });
    server_->Get(
        "/large", [](const httplib::Request&, httplib::Response& response) {
          response.set_content(std::string(8 << 20, 'x'), "text/plain");
        });
    port_ = server_->Start("127.0.0.1", 0);
    ASSERT_GT(port_, 0);
  }
  std::string Request(const std::string& path, const std::string& headers = "",
                      const std::string& method = "GET") const {
    return method + " " + path +
           " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port_) + "\r\n" +
           headers + "\r\n";
  }
  std::string Ask(const std::string& request) const {
    RawClient client(port_);
    EXPECT_TRUE(client.Send(request));
    return client.ReceiveAll();
  }
  void ExpectServes() const {
    const std::string answer = Ask(Request("/"));
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(answer, HasSubstr("\r\n\r\nhere"));
  }

  std::unique_ptr<HttpServer> server_;
  int port_ = 0;
};

using Clients = std::vector<std::unique_ptr<RawClient>>;

TEST_F(HttpServerTest, AnswersBesideManySilentOnes) {
  Start(Patient());
  Clients clients;
  for (int i = 0; i < 100; ++i) {
    clients.push_back(std::make_unique<RawClient>(port_));
    if (i % 2 == 0) clients.back()->Send("GET / HTTP/1.1\r\nX: ");
    if (i % 25 == 24) ExpectServes();
  }
  ExpectServes();
  // Those that waited the longest made place, and were told.
  EXPECT_THAT(clients.front()->ReceiveAll(), StartsWith("HTTP/1.1 503"));
  EXPECT_THAT(clients[1]->ReceiveAll(),
              EndsWith("\r\n\r\nToo many connections.\n"));
}

// However many there are at once.
TEST_F(HttpServerTest, WhoDoesItsPartIsAnswered) {
  HttpLimits limits = Patient();
  limits.connections = 2;
  limits.grace = std::chrono::hours(1);
  Start(limits);
  std::vector<std::thread> threads;
  for (int i = 0; i < 32; ++i) {
    threads.emplace_back([this] {
      for (int j = 0; j < 8; ++j) ExpectServes();
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(HttpServerTest, AResponseThatIsTakenIsNotCut) {
  HttpLimits limits = Patient();
  limits.grace = std::chrono::hours(1);
  Start(limits);
  Clients clients;
  for (size_t i = 0; i < limits.connections; ++i) {
    clients.push_back(std::make_unique<RawClient>(port_, 2048));
    clients.back()->Send(Request("/large"));
  }
  RawClient one_more(port_);
  one_more.Send(Request("/"));
  for (const auto& client : clients) {
    EXPECT_GT(client->ReceiveAll().size(), size_t{8} << 20);
  }
  EXPECT_THAT(one_more.ReceiveAll(), EndsWith("here"));
}

TEST_F(HttpServerTest, ThoseWithoutAPlaceAreBounded) {
  HttpLimits limits = Patient();
  limits.connections = 2;
  limits.waiting = 1;
  limits.grace = std::chrono::hours(1);
  Start(limits);
  Clients clients;
  for (int i = 0; i < 3; ++i) {
    clients.push_back(std::make_unique<RawClient>(port_));
  }
  EXPECT_THAT(RawClient(port_).ReceiveAll(), StartsWith("HTTP/1.1 503"));
  for (const auto& client : clients) {
    EXPECT_TRUE(client->Send(Request("/")));
    EXPECT_THAT(client->ReceiveAll(), EndsWith("here"));
  }
}

TEST_F(HttpServerTest, AnswersBesideManyThatDoNotRead) {
  Start(Patient());
  Clients clients;
  for (int i = 0; i < 30; ++i) {
    clients.push_back(std::make_unique<RawClient>(port_, 2048));
    clients.back()->Send(Request("/large"));
  }
  ExpectServes();
}

// One that keeps its connection open after the answer holds nothing up: there
// is none to be kept.
TEST_F(HttpServerTest, AnswersOneRequestAConnection) {
  Start(Patient());
  const std::string twice =
      Ask(Request("/", "Connection: keep-alive\r\n") + Request("/"));
  EXPECT_THAT(twice, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(twice, HasSubstr("Connection: close"));
  EXPECT_EQ(twice.find("HTTP/1.1", 1), std::string::npos);
}

// A byte now and then buys no time.
TEST_F(HttpServerTest, ARequestHasToBeThereInTime) {
  HttpLimits limits = Patient();
  limits.request_time = std::chrono::milliseconds(200);
  Start(limits);
  RawClient client(port_);
  client.Send("GET / HTTP/1.1\r\nX: ");
  // Ends once the server has closed, and the kernel says so.
  while (client.Send("a")) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ExpectServes();
}

TEST_F(HttpServerTest, AResponseHasToBeTakenInTime) {
  HttpLimits limits = Patient();
  limits.response_time = std::chrono::milliseconds(200);
  Start(limits);
  RawClient client(port_, 2048);
  client.Send(Request("/large"));
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  EXPECT_LT(client.ReceiveAll().size(), size_t{8} << 20);
}

TEST_F(HttpServerTest, ARequestIsBounded) {
  Start(Patient());
  RawClient client(port_);
  client.Send("GET / HTTP/1.1\r\n");
  const std::string header = "X: " + std::string(1000, 'x') + "\r\n";
  while (client.Send(header)) {
  }
  ExpectServes();
}

TEST_F(HttpServerTest, StopsWhileClientsWait) {
  Start(Patient());
  Clients clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(std::make_unique<RawClient>(port_, 2048));
    clients.back()->Send(i % 2 == 0 ? Request("/large") : "GET / HTT");
  }
  server_.reset();
}

TEST_F(HttpServerTest, SendsAPageOnceWhateverPartsAreAskedFor) {
  Start(Patient());
  const std::string whole = Ask(Request("/"));
  for (const char* parts : {"0-", "0-,0-,0-,0-,0-,0-", "-5", "1-2,1-2"}) {
    EXPECT_EQ(Ask(Request("/", "Range: bytes=" + std::string(parts) + "\r\n")),
              whole)
        << parts;
  }
}

// As RFC 9112 (3.2.2) has it: what the target says is the host, and not Host.
TEST_F(HttpServerTest, ATargetMayBeAWholeUrl) {
  Start(Patient());
  const auto ask = [this](const std::string& target,
                          const std::string& headers) {
    return Ask("GET " + target + " HTTP/1.1\r\n" + headers + "\r\n");
  };
  const std::string here = "http://127.0.0.1:" + std::to_string(port_);
  for (const std::string& target :
       {here + "/", here, here + "?x=1", here + "/?x=/large",
        std::string("HTTP://LOCALHOST/")}) {
    EXPECT_THAT(ask(target, "Host: localhost\r\n"),
                AllOf(StartsWith("HTTP/1.1 200"), EndsWith("here")))
        << target;
  }
  EXPECT_THAT(ask(here + "/", "Host: evil.example\r\n"),
              StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(Ask("GET " + here + "/ HTTP/1.0\r\n\r\n"), EndsWith("here"));
  for (const char* target :
       {"http://evil.example/", "http://evil.example",
        "http://localhost@evil.example/", "http://evil.example?@localhost/",
        "http://evil.example%2f@localhost/", "http:///", "http://"}) {
    EXPECT_THAT(ask(target, "Host: localhost\r\n"),
                AnyOf(StartsWith("HTTP/1.1 403"), StartsWith("HTTP/1.1 404")))
        << target;
  }
  EXPECT_THAT(ask(here + "/", "Host: localhost\r\nHost: localhost\r\n"),
              StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(ask(here + "/", ""), StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(
      ask(here + "/", "Host: localhost\r\nOrigin: http://evil.example\r\n"),
      StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(ask("https://localhost/", "Host: localhost\r\n"),
              StartsWith("HTTP/1.1 404"));
}

TEST_F(HttpServerTest, RefusesOthersWithAnAnswer) {
  Start(Patient());
  for (const char* method : {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"}) {
    EXPECT_THAT(Ask(Request("/", "Content-Length: 3\r\n", method) + "abc"),
                StartsWith("HTTP/1.1 403"))
        << method;
  }
  EXPECT_THAT(Ask(Request("/", "Origin: http://evil.example\r\n")),
              StartsWith("HTTP/1.1 403"));
  EXPECT_THAT(Ask("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"),
              StartsWith("HTTP/1.1 403"));
  // Which of two would a browser mean?
  for (const char* more :
       {"Host: evil.example\r\n", "host: localhost\r\n",
        "Origin: http://localhost\r\nOrigin: http://evil.example\r\n"}) {
    EXPECT_THAT(Ask("GET / HTTP/1.1\r\nHost: localhost\r\n" +
                    std::string(more) + "\r\n"),
                StartsWith("HTTP/1.1 403"))
        << more;
  }
}

TEST(PageGuard, ALoopbackNameIsOneAtEveryPort) {
  const PageGuard guard({"Db1.Example", "b.Example."}, "a remedy");
  for (const char* host :
       {"localhost:8080", "LOCALHOST:1", "127.0.0.1:7480", "127.0.0.1",
        "[::1]:8080", "[::1]", "db1.example:80", "LOCALHOST.",
        "localhost.:8080", "DB1.Example.", "127.0.0.1.:80", "b.example"}) {
    EXPECT_EQ(guard.Refusal(host, ""), "") << host;
    EXPECT_EQ(guard.Refusal(host, std::string("http://") + host), "") << host;
  }
  for (const char* host :
       {"", "evil.example", "evil.example:7480", "127.0.0.1:7480.evil.example",
        "localhost.evil.example", "localhost:", "1:80", "db1.example:x",
        "localhost..", ".", "localhost.evil.example.", ".localhost"}) {
    EXPECT_THAT(guard.Refusal(host, ""), HasSubstr("a remedy")) << host;
  }
  EXPECT_NE(guard.Refusal("localhost:8080", "http://localhost:7480"), "");
  EXPECT_NE(guard.Refusal("localhost:8080", "null"), "");
}

TEST(PageGuard, OfAnyHostKnowsOtherOriginsAllTheSame) {
  const PageGuard guard = PageGuard::OfAnyHost();
  EXPECT_EQ(guard.Refusal("db7:9742", ""), "");
  EXPECT_NE(guard.Refusal("db7:9742", "http://evil.example"), "");
  EXPECT_TRUE(IsLoopback("127.0.0.1"));
  EXPECT_TRUE(IsLoopback("::1"));
  EXPECT_FALSE(IsLoopback("0.0.0.0"));
}

}  // namespace
}  // namespace rocksync
