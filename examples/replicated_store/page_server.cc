#include "examples/replicated_store/page_server.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <random>
#include <string_view>
#include <utility>

#include "examples/replicated_store/page_fetch.h"
#include "examples/replicated_store/page_files.h"
#include "httplib.h"
#include "nlohmann/json.hpp"
#include "rocksync/metrics.h"
#include "rocksync/transport.h"
#include "tools/http/http_server.h"
#include "tools/http/page_guard.h"

namespace rocksync {
namespace {

using rocksdb::Status;

constexpr char kJson[] = "application/json";
constexpr char kBytes[] = "application/octet-stream";

uint64_t NowMs() {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(
          std::chrono::system_clock::now().time_since_epoch())
          .count());
}

// FNV-1a, of numbers instead of bytes; page.js does the same.
uint32_t DigestOf(const std::vector<uint32_t>& leaves) {
  uint32_t digest = 0x811c9dc5;
  for (const uint32_t leaf : leaves) digest = (digest ^ leaf) * 0x01000193;
  return digest;
}

std::string LittleEndian(const std::vector<uint32_t>& leaves) {
  std::string bytes;
  bytes.reserve(4 * leaves.size());
  for (const uint32_t leaf : leaves) {
    for (int shift = 0; shift < 32; shift += 8) {
      bytes.push_back(static_cast<char>(leaf >> shift & 0xff));
    }
  }
  return bytes;
}

void Fail(int code, const Status& status, httplib::Response* response) {
  response->status = code;
  response->set_content(status.ToString() + "\n", "text/plain; charset=utf-8");
}

bool IsAddress(int family, const std::string& text) {
  unsigned char address[sizeof(in6_addr)];
  return ::inet_pton(family, text.c_str(), address) == 1;
}

// A host name, with or without a dot at its end; what ends in a number has to
// be an IPv4 address.
bool HasLabels(const std::string& name) {
  size_t begin = 0;
  std::string label;
  while (begin < name.size()) {
    const size_t end = std::min(name.find('.', begin), name.size());
    label = name.substr(begin, end - begin);
    const bool fits =
        !label.empty() && label.size() < 64 &&
        std::all_of(label.begin(), label.end(), [](unsigned char c) {
          return std::isalnum(c) != 0 || c == '-' || c == '_';
        });
    if (!fits) return false;
    begin = end + 1;
  }
  const bool number =
      std::all_of(label.begin(), label.end(),
                  [](unsigned char c) { return std::isdigit(c) != 0; });
  return !name.empty() && (!number || IsAddress(AF_INET, name));
}

// `*host` without brackets.
bool ParsePeer(const std::string& peer, std::string* host, uint16_t* port) {
  if (!CheckHostPort(peer).ok()) return false;
  const size_t colon = peer.rfind(':');
  *host = peer.substr(0, colon);
  if (host->starts_with('[')) *host = host->substr(1, host->size() - 2);
  std::from_chars(peer.data() + colon + 1, peer.data() + peer.size(), *port);
  return IsPageHost(*host);
}

class HttpPageServer : public PageServer {
 public:
  HttpPageServer(const PageOptions& options, PageSource source)
      : options_(options),
        source_(std::move(source)),
        server_(PageGuard(NamesOf(options), "--http-name adds one")) {}

  Status Listen() {
    for (const std::string& peer : options_.peers) {
      if (!IsPageAddress(peer)) {
        return Status::InvalidArgument(peer, "is no host:port of a page");
      }
    }
    Route();
    std::string why;
    const int port = server_.Start(options_.host, options_.port, &why);
    if (port < 0) {
      return Status::IOError(
          "cannot listen on " + options_.host + ":" +
              std::to_string(options_.port),
          why + "; choose another --http-port or --http-host");
    }
    port_ = static_cast<uint16_t>(port);
    return Status::OK();
  }

  uint16_t port() const override { return port_; }

 private:
  using Request = httplib::Request;
  using Response = httplib::Response;

  static std::vector<std::string> NamesOf(const PageOptions& options) {
    std::vector<std::string> names = options.names;
    names.push_back(options.host);
    return names;
  }

  void Route() {
    server_.set_default_headers(
        {{"Cache-Control", "no-store"},
         {"X-Content-Type-Options", "nosniff"},
         {"Cross-Origin-Resource-Policy", "same-origin"},
         {"Referrer-Policy", "no-referrer"},
         {"Content-Security-Policy",
          "default-src 'none'; script-src 'self'; style-src 'self'; "
          "connect-src 'self'; img-src 'self' data:; base-uri 'none'; "
          "form-action 'none'; frame-ancestors 'none'"}});
    for (const PageFile& file : PageFiles()) ServeFile(file);
    server_.Get("/status.json", [this](const Request&, Response& response) {
      response.set_content(StatusText(), kJson);
    });
    server_.Get("/leaves", [this](const Request&, Response& response) {
      std::vector<uint32_t> leaves;
      if (Leaves(&leaves, &response)) {
        response.set_content(LittleEndian(leaves), kBytes);
      }
    });
    server_.Get("/leaves/digest", [this](const Request&, Response& response) {
      std::vector<uint32_t> leaves;
      if (Leaves(&leaves, &response)) {
        response.set_content(std::to_string(DigestOf(leaves)), kJson);
      }
    });
    server_.Get("/metrics", [this](const Request&, Response& response) {
      response.set_content(PrometheusText({source_.stats()}),
                           kPrometheusContentType);
    });
    server_.Get(R"(/peers/(\d{1,4})/(status\.json|leaves|leaves/digest))",
                [this](const Request& request, Response& response) {
                  AskPeer(std::stoul(request.matches[1]),
                          "/" + request.matches[2].str(), &response);
                });
  }

  void ServeFile(const PageFile& file) {
    const bool is_html = file.path.ends_with(".html");
    const std::string type = is_html                       ? "text/html"
                             : file.path.ends_with(".css") ? "text/css"
                                                           : "text/javascript";
    const auto serve = [text = file.text, type](const Request&,
                                                Response& response) {
      response.set_content(text.data(), text.size(), type + "; charset=utf-8");
    };
    server_.Get(std::string(file.path), serve);
    if (is_html) server_.Get("/", serve);
  }

  std::string StatusText() const {
    return "{\"name\":" + Quoted(source_.name) + ",\"page_id\":\"" + page_id_ +
           "\"" + ",\"wall_clock_ms\":" + std::to_string(NowMs()) +
           ",\"session_interval_ms\":" +
           std::to_string(source_.session_interval_ms) +
           ",\"tombstones_held_up_since_ms\":" +
           std::to_string(source_.tombstone_wait->since_ms()) +
           ",\"peer_pages\":" + nlohmann::json(options_.peers).dump() +
           ",\"traffic\":" + source_.traffic->Json() +
           ",\"stats\":" + StatsJson(source_.stats()) + "}";
  }

  static std::string Quoted(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', true,
                                     nlohmann::json::error_handler_t::replace);
  }

  // False: `*response` says why there are none.
  bool Leaves(std::vector<uint32_t>* leaves, Response* response) const {
    const Status status = source_.leaves(leaves);
    if (!status.ok()) Fail(503, status, response);
    return status.ok();
  }

  void AskPeer(size_t number, const std::string& path,
               Response* response) const {
    std::string host;
    uint16_t port = 0;
    if (number >= options_.peers.size() ||
        !ParsePeer(options_.peers[number], &host, &port)) {
      response->status = 404;
      return;
    }
    std::string body;
    const Status status = FetchPage(host, port, path, {}, &body);
    if (!status.ok()) return Fail(502, status, response);
    // Its words, but not its word for what they are.
    response->set_content(body, path == "/leaves" ? kBytes : kJson);
  }

  const PageOptions options_;
  const PageSource source_;
  // Of this process: by it the page finds that two addresses are one store's.
  const std::string page_id_ = std::to_string(std::random_device{}()) +
                               std::to_string(std::random_device{}());
  uint16_t port_ = 0;
  HttpServer server_;  // last: its threads use the rest
};

}  // namespace

bool IsPageHost(const std::string& host) {
  const bool brackets = host.starts_with('[') && host.ends_with(']');
  const std::string name = brackets ? host.substr(1, host.size() - 2) : host;
  if (brackets || name.find(':') != std::string::npos) {
    return IsAddress(AF_INET6, name.substr(0, name.find('%')));
  }
  return HasLabels(name);
}

bool IsPageAddress(const std::string& peer) {
  std::string host;
  uint16_t port = 0;
  return ParsePeer(peer, &host, &port);
}

Status PageServer::Start(const PageOptions& options, PageSource source,
                         std::unique_ptr<PageServer>* server) {
  auto started = std::make_unique<HttpPageServer>(options, std::move(source));
  const Status status = started->Listen();
  if (status.ok()) *server = std::move(started);
  return status;
}

}  // namespace rocksync
