#include "tools/exporter.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "httplib.h"
#include "replication/admin/admin_client.h"
#include "replication/metrics/prometheus.h"
#include "replication/transport/address.h"
#include "rocksync/metrics.h"
#include "tools/ask_replicas.h"
#include "tools/http/http_server.h"
#include "tools/http/page_guard.h"
#include "tools/shared_page.h"

namespace rocksync {
namespace {

using rocksdb::Status;

using std::chrono::milliseconds;

constexpr milliseconds kLongestScrape{86'400'000};

// Prometheus takes no page that has a series twice.
std::vector<std::string> WithoutRepetitions(
    const std::vector<std::string>& replicas) {
  std::vector<std::string> once;
  for (const std::string& replica : replicas) {
    if (std::find(once.begin(), once.end(), replica) == once.end()) {
      once.push_back(replica);
    }
  }
  return once;
}

// When the exporter's own certificate expires. Once it has, no replica answers,
// and none of them is to blame.
void AddCertificate(uint64_t expires_ms, std::string* page) {
  PrometheusMetric("rocksync_exporter_certificate_expiry_timestamp_seconds",
                   PrometheusMetric::Type::kGauge,
                   "When the exporter's own certificate expires, or its CA if "
                   "that is earlier.",
                   page)
      .Sample("", std::to_string(expires_ms / 1000));
}

std::string Page(const ExporterOptions& options, const AdminTarget& target,
                 const std::vector<ReplicaAnswer>& answers) {
  const std::vector<std::string>& targets = options.replicas;
  std::string page;
  AddCertificate(target.transport->certificate().expires_ms, &page);
  std::vector<ReplicationStats> replicas;
  {
    PrometheusMetric up("rocksync_up", PrometheusMetric::Type::kGauge,
                        "1 if the replica answered.", &page);
    for (size_t i = 0; i < answers.size(); ++i) {
      up.Sample(PrometheusLabel("target", targets[i]),
                answers[i].stats ? "1" : "0");
      if (answers[i].stats) replicas.push_back(*answers[i].stats);
    }
  }
  PrometheusMetric seconds(
      "rocksync_scrape_duration_seconds", PrometheusMetric::Type::kGauge,
      "How long the replica took to answer, or was waited for.", &page);
  for (size_t i = 0; i < answers.size(); ++i) {
    seconds.Sample(PrometheusLabel("target", targets[i]),
                   std::to_string(answers[i].seconds));
  }
  return page + PrometheusText(replicas);
}

int PrintOnce(const ExporterOptions& options, const AdminTarget& target,
              std::ostream& out, std::ostream& err) {
  const std::vector<ReplicaAnswer> answers =
      AskReplicas(target, options.replicas, {});
  out << Page(options, target, answers);
  int code = 0;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].status.ok()) continue;
    err << "rocksync exporter: " << options.replicas[i] << ": "
        << answers[i].status.ToString() << "\n";
    code = 2;
  }
  return code;
}

// Why replicas do not answer, on `err`: a line when it begins, one for each
// other reason, and one when they answer again; a few a minute for each
// replica, as a slow one does for those who wait for long and does not for
// others. Thread-safe.
class AnswerLog {
 public:
  explicit AnswerLog(std::ostream* err) : err_(err) {}

  void Tell(const ExporterOptions& options, const AdminTarget& target,
            const std::vector<ReplicaAnswer>& answers) {
    const std::lock_guard lock(mutex_);
    const std::string unused = target.transport->certificate().error;
    Tell("the certificate files on disk are not in use", unused, unused,
         "the certificate files on disk are in use again");
    for (size_t i = 0; i < answers.size(); ++i) {
      const Status& status = answers[i].status;
      Tell(options.replicas[i] + " does not answer",
           status.ok() ? "" : status.ToString(), Reason(status),
           options.replicas[i] + " answers again");
    }
  }

 private:
  // For what was waited at the end is no other reason, nor how a connection
  // ended.
  static std::string Reason(const Status& status) {
    if (status.ok()) return "";
    if (status.IsTimedOut()) return "silence";
    const std::string text = status.ToString();
    for (const char* end : {"closed the connection", "Connection reset"}) {
      if (text.find(end) != std::string::npos) return "connection lost";
    }
    return text;
  }

  // `why`, and `reason`, by which it is told from another one, whatever numbers
  // are in it: empty if all is well.
  void Tell(const std::string& what, const std::string& why,
            const std::string& reason, const std::string& again) {
    std::string now = reason;
    std::erase_if(now, [](char c) { return c >= '0' && c <= '9'; });
    Told& told = told_[what];
    if (told.reason == now) return;
    const auto time = Clock::now();
    if (time - told.since >= std::chrono::minutes(1)) {
      told.since = time;
      told.lines = 0;
    }
    // What it is then is told after the minute.
    if (++told.lines > kMaxLines) return;
    told.reason = std::move(now);
    *err_ << "rocksync exporter: " + (why.empty() ? again : what + ": " + why) +
                 "\n"
          << std::flush;
  }

  using Clock = std::chrono::steady_clock;
  static constexpr int kMaxLines = 6;  // a minute, of each

  struct Told {
    std::string reason;
    Clock::time_point since;  // of this minute
    int lines = 0;
  };

  std::mutex mutex_;
  std::ostream* const err_;
  std::map<std::string, Told> told_;
};

// ms; in less no replica could answer, and all would be said to be silent.
constexpr double kShortestScrape = 100;

// What Prometheus says of how long it waits, less what the page takes on its
// way. Others do not say.
std::optional<milliseconds> TimeOf(const httplib::Request& request) {
  const std::string text =
      request.get_header_value("X-Prometheus-Scrape-Timeout-Seconds");
  const double seconds = std::strtod(text.c_str(), nullptr);
  if (!(seconds > 0)) return std::nullopt;
  const double ms = std::max(kShortestScrape,
                             seconds * 1000 - std::min(500.0, seconds * 100));
  return milliseconds(static_cast<int64_t>(
      std::min(ms, static_cast<double>(kLongestScrape.count()))));
}

// Behind another address than loopback Prometheus comes by any name.
PageGuard GuardOf(const HostPort& where) {
  return IsLoopback(where.host)
             ? PageGuard({where.host},
                         "--listen with another address than loopback answers "
                         "to every name")
             : PageGuard::OfAnyHost();
}

int Serve(const ExporterOptions& options, const AdminTarget& target,
          const HostPort& where, const std::function<bool()>& stop,
          std::ostream& out, std::ostream& err) {
  AnswerLog log(&err);
  std::atomic<bool> stopped{false};
  const auto make = [&](std::optional<milliseconds> time) {
    const std::vector<ReplicaAnswer> answers =
        AskReplicas(target, options.replicas,
                    {.time = time, .stop = [&] { return stopped.load(); }});
    if (!stopped) log.Tell(options, target, answers);
    return Page(options, target, answers);
  };
  SharedPage page(make);
  SharedPage page_of_hasty(make);  // who cannot wait for the other's round
  HttpServer server(GuardOf(where));
  server.Get("/metrics", [&](const httplib::Request& request,
                             httplib::Response& response) {
    const std::optional<milliseconds> time = TimeOf(request);
    SharedPage& chosen = time && page.IsBusyFor(*time) ? page_of_hasty : page;
    response.set_content(chosen.Get(time), kPrometheusContentType);
  });
  server.Get("/", [](const httplib::Request&, httplib::Response& response) {
    response.set_content(
        "<!doctype html><title>rocksync exporter</title>"
        "<p><a href=\"/metrics\">metrics</a>",
        "text/html; charset=utf-8");
  });
  std::string why;
  const int port = server.Start(where.host, where.port, &why);
  if (port < 0) {
    err << "rocksync exporter: cannot listen on " << options.listen << ": "
        << why << "; choose another --listen\n";
    return 2;
  }
  out << "http://" << FormatAddress({where.host, static_cast<uint16_t>(port)})
      << "/metrics" << std::endl;
  while (!stop || !stop()) {
    std::this_thread::sleep_for(milliseconds(100));
  }
  stopped = true;  // a page that is being made waits for no replica any more
  return 0;
}

}  // namespace

int RunExporter(const ExporterOptions& given, const std::function<bool()>& stop,
                std::ostream& out, std::ostream& err) {
  ExporterOptions options = given;
  options.replicas = WithoutRepetitions(given.replicas);
  AdminTarget target;
  HostPort where;
  Status status = ParseAddress(options.listen, &where);
  for (const std::string& replica : options.replicas) {
    if (status.ok()) status = CheckAddress(replica, /*or_directory=*/false);
  }
  if (status.ok()) status = MakeTarget(options.credentials, &target);
  if (!status.ok()) {
    err << "rocksync exporter: " << status.ToString() << "\n";
    return 2;
  }
  if (options.once) return PrintOnce(options, target, out, err);
  return Serve(options, target, where, stop, out, err);
}

}  // namespace rocksync
