#include "tools/exporter.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
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
#include "tools/http/http_server.h"
#include "tools/http/page_guard.h"
#include "tools/stats_from_json.h"

namespace rocksync {
namespace {

using rocksdb::Status;

// What came of asking one replica.
struct Answer {
  Status status;
  std::optional<ReplicationStats> stats;
  double seconds = 0;
};

Answer Ask(AdminTarget target, const std::string& replica) {
  const auto start = std::chrono::steady_clock::now();
  Answer answer;
  target.address = replica;
  std::unique_ptr<AdminClient> client;
  std::string text;
  answer.status = AdminClient::Open(target, Request(), &client);
  if (answer.status.ok()) {
    answer.status = client->Answer(target.timeout, {}, &text);
  }
  if (answer.status.ok()) {
    answer.stats = StatsFromJson(text);
    if (!answer.stats) {
      answer.status = Status::Corruption("the answer tells no replica id");
    }
  }
  answer.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  return answer;
}

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

std::vector<Answer> AskAll(const AdminTarget& target,
                           const std::vector<std::string>& replicas) {
  std::vector<Answer> answers(replicas.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < replicas.size(); ++i) {
    threads.emplace_back([&, i] { answers[i] = Ask(target, replicas[i]); });
  }
  for (std::thread& thread : threads) thread.join();
  return answers;
}

std::string Page(const std::vector<std::string>& targets,
                 const std::vector<Answer>& answers) {
  std::string page;
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
  PrometheusMetric seconds("rocksync_scrape_duration_seconds",
                           PrometheusMetric::Type::kGauge,
                           "How long the replica took to answer.", &page);
  for (size_t i = 0; i < answers.size(); ++i) {
    seconds.Sample(PrometheusLabel("target", targets[i]),
                   std::to_string(answers[i].seconds));
  }
  return page + PrometheusText(replicas);
}

int PrintOnce(const ExporterOptions& options, const AdminTarget& target,
              std::ostream& out, std::ostream& err) {
  const std::vector<Answer> answers = AskAll(target, options.replicas);
  out << Page(options.replicas, answers);
  int code = 0;
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].status.ok()) continue;
    err << "rocksync exporter: " << options.replicas[i] << ": "
        << answers[i].status.ToString() << "\n";
    code = 2;
  }
  return code;
}

// One page for all clients that ask at once. A client that asks during a round
// of questions to the replicas gets the page of the next round.
class SharedPage {
 public:
  explicit SharedPage(std::function<std::string()> make)
      : make_(std::move(make)) {}

  std::string Get() {
    std::unique_lock lock(mutex_);
    const uint64_t wanted = begun_ + 1;
    while (made_ < wanted) {
      if (begun_ > made_) {
        changed_.wait(lock);
        continue;
      }
      const uint64_t number = ++begun_;
      lock.unlock();
      std::string page = make_();
      lock.lock();
      page_ = std::move(page);
      made_ = number;
      changed_.notify_all();
    }
    return page_;
  }

 private:
  const std::function<std::string()> make_;
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t begun_ = 0;
  uint64_t made_ = 0;
  std::string page_;
};

// Behind another address than loopback Prometheus comes by any name.
PageGuard GuardOf(const HostPort& where) {
  return IsLoopback(where.host) ? PageGuard({}) : PageGuard::OfAnyHost();
}

int Serve(const ExporterOptions& options, const AdminTarget& target,
          const HostPort& where, const std::function<bool()>& stop,
          std::ostream& out, std::ostream& err) {
  SharedPage page(
      [&] { return Page(options.replicas, AskAll(target, options.replicas)); });
  HttpServer server(GuardOf(where));
  server.Get("/metrics",
             [&page](const httplib::Request&, httplib::Response& response) {
               response.set_content(page.Get(), kPrometheusContentType);
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
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
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
