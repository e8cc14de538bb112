#include "examples/replicated_store/page_fetch.h"

#include <strings.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

#include "asio/buffer.hpp"
#include "asio/connect.hpp"
#include "asio/io_context.hpp"
#include "asio/ip/tcp.hpp"
#include "asio/read.hpp"
#include "asio/write.hpp"

namespace rocksync {
namespace {

using asio::ip::tcp;
using rocksdb::Status;

constexpr std::string_view kEndOfHead = "\r\n\r\n";

Status NoAnswer(const std::string& address, const std::string& why) {
  return Status::IOError("the page of " + address + " does not answer", why);
}

// One request on a connection of its own, which the other side closes: HTTP/1.0
// has neither chunks nor further answers.
class Fetch {
 public:
  Fetch(const std::string& address, const std::string& path, size_t bytes)
      : request_("GET " + path + " HTTP/1.0\r\nHost: " + address + "\r\n\r\n"),
        answer_(bytes, '\0') {}

  // Empty: nothing arrived in time. What was received, otherwise.
  std::optional<std::string_view> Run(const std::string& host, uint16_t port,
                                      std::chrono::milliseconds time,
                                      std::error_code* error) {
    resolver_.async_resolve(host, std::to_string(port),
                            [this](const std::error_code& failed,
                                   const tcp::resolver::results_type& found) {
                              if (!Failed(failed)) Connect(found);
                            });
    io_.run_for(time);
    *error = error_;
    if (!ended_) return std::nullopt;
    return std::string_view(answer_.data(), received_);
  }
  size_t most() const { return answer_.size(); }

 private:
  bool Failed(const std::error_code& error) {
    ended_ = static_cast<bool>(error);
    error_ = error;
    return ended_;
  }
  void Connect(const tcp::resolver::results_type& found) {
    asio::async_connect(
        socket_, found,
        [this](const std::error_code& failed, const tcp::endpoint&) {
          if (!Failed(failed)) Ask();
        });
  }
  void Ask() {
    asio::async_write(socket_, asio::buffer(request_),
                      [this](const std::error_code& failed, size_t) {
                        if (!Failed(failed)) Receive();
                      });
  }
  // Up to the end, or until the answer is too long.
  void Receive() {
    asio::async_read(
        socket_, asio::buffer(answer_),
        [this](const std::error_code& failed, size_t bytes) {
          received_ = bytes;
          Failed(failed == asio::error::eof ? std::error_code() : failed);
          ended_ = true;
        });
  }

  const std::string request_;
  std::string answer_;
  size_t received_ = 0;
  bool ended_ = false;
  std::error_code error_;
  // Last: what they were to call goes with them, and is not called.
  asio::io_context io_;
  tcp::resolver resolver_{io_};
  tcp::socket socket_{io_};
};

// What a header says, without spaces before it; nullopt: it is not there.
std::optional<std::string_view> Header(std::string_view head,
                                       std::string_view name) {
  for (size_t at = head.find("\r\n"); at != std::string_view::npos;
       at = head.find("\r\n", at + 1)) {
    std::string_view line = head.substr(at + 2);
    if (line.size() <= name.size() || line[name.size()] != ':' ||
        ::strncasecmp(line.data(), name.data(), name.size()) != 0) {
      continue;
    }
    line = line.substr(name.size() + 1, line.find("\r\n") - name.size() - 1);
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    return line;
  }
  return std::nullopt;
}

// The body, if the answer is a whole one of status 200.
std::optional<std::string_view> BodyOf(std::string_view answer) {
  const size_t end = answer.find(kEndOfHead);
  if (end == std::string_view::npos || !answer.starts_with("HTTP/1.") ||
      answer.substr(0, end).find(" 200 ") !=
          std::string_view("HTTP/1.1").size()) {
    return std::nullopt;
  }
  const std::string_view body = answer.substr(end + kEndOfHead.size());
  const std::optional<std::string_view> said =
      Header(answer.substr(0, end), "Content-Length");
  size_t length = 0;
  if (!said.has_value() ||
      std::from_chars(said->data(), said->data() + said->size(), length).ec !=
          std::errc() ||
      length != body.size()) {
    return std::nullopt;
  }
  return body;
}

// For people, from somebody who is not trusted.
std::string FirstLine(std::string_view text) {
  constexpr size_t kMost = 200;
  std::string line(text.substr(0, std::min(text.find_first_of("\r\n"), kMost)));
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return line;
}

// The status other than 200 and the first line of its text, which may name the
// remedy: "HTTP 403: ...". Empty: there is no such status.
std::string RefusalIn(std::string_view answer) {
  constexpr size_t kBegin = std::string_view("HTTP/1.1 ").size();
  if (!answer.starts_with("HTTP/1.") || answer.size() < kBegin + 3) return "";
  const std::string_view status = answer.substr(kBegin, 3);
  const bool number = std::all_of(status.begin(), status.end(),
                                  [](char c) { return '0' <= c && c <= '9'; });
  if (!number || status == "200") return "";
  const size_t end = answer.find(kEndOfHead);
  const std::string line =
      end == std::string_view::npos
          ? ""
          : FirstLine(answer.substr(end + kEndOfHead.size()));
  return "HTTP " + std::string(status) + (line.empty() ? "" : ": " + line);
}

}  // namespace

Status FetchPage(const std::string& host, uint16_t port,
                 const std::string& path, const FetchLimits& limits,
                 std::string* body) {
  const std::string address =
      (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" +
      std::to_string(port);
  Fetch fetch(address, path, limits.bytes);
  std::error_code error;
  const std::optional<std::string_view> answer =
      fetch.Run(host, port, limits.time, &error);
  if (!answer.has_value()) {
    return NoAnswer(
        address, "not within " + std::to_string(limits.time.count()) + " ms");
  }
  if (error) return NoAnswer(address, error.message());
  if (answer->size() == fetch.most()) {
    return NoAnswer(address, "its answer has more than " +
                                 std::to_string(fetch.most()) + " bytes");
  }
  const std::string refusal = RefusalIn(*answer);
  if (!refusal.empty()) {
    return Status::IOError("the page of " + address + " answers", refusal);
  }
  const std::optional<std::string_view> found = BodyOf(*answer);
  if (!found.has_value()) {
    return NoAnswer(address, "its answer is no whole one of a store's page");
  }
  *body = *found;
  return Status::OK();
}

}  // namespace rocksync
