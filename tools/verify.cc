#include "tools/verify.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <ostream>
#include <thread>

#include "nlohmann/json.hpp"
#include "replication/admin/admin_client.h"
#include "replication/admin/status_report.h"
#include "replication/peering/verification.h"
#include "replication/store/offline/offline_replica.h"
#include "rocksync/metrics.h"
#include "tools/counterpart.h"
#include "tools/difference_line.h"
#include "tools/json_fields.h"
#include "tools/offline_db.h"
#include "tools/with_noun.h"

namespace rocksync {
namespace {

using nlohmann::json;
using rocksdb::Status;
using std::chrono::milliseconds;

class Printer {
 public:
  Printer(bool as_json, std::ostream& out) : as_json_(as_json), out_(out) {}

  // `text` is an object of status_report.h.
  void Difference(const std::string& text) {
    if (as_json_) {
      out_ << PrintableAscii(text) << "\n";
      return;
    }
    const json object = ParseJson<json>(text);
    const JsonFields line(object);
    PrintDifference(
        out_, line.Text("difference"), line.Text("family"),
        line.HasText("key") ? line.Text("key") : "0x" + line.Text("key_hex"));
  }

  // Corruption: `text` is no object of status_report.h.
  Status Result(const std::string& text, bool* equal) {
    const json object = ParseJson<json>(text);
    const JsonFields result(object);
    if (!result.HasFlag("equal")) {
      return Status::Corruption("the answer is no result of a comparison");
    }
    *equal = result.Flag("equal");
    if (as_json_) {
      out_ << PrintableAscii(text) << "\n";
      return Status::OK();
    }
    if (*equal) {
      out_ << "equal: " << CountedElements(result.Number("elements"));
    } else {
      out_ << "different: " << (result.Flag("complete") ? "" : "at least ")
           << WithNoun(result.Number("differences"), "key");
    }
    const uint64_t in_flight = result.Number("in_flight");
    if (in_flight > 0) out_ << ", " << in_flight << " on the way";
    out_ << "\n";
    return Status::OK();
  }

 private:
  const bool as_json_;
  std::ostream& out_;
};

bool IsDirectory(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

Status VerifyRunning(const VerifyToolOptions& options, Printer* printer,
                     bool* equal) {
  AdminTarget target;
  Status status = CheckAddress(options.left, /*or_directory=*/true);
  if (status.ok() && IsDirectory(options.right)) {
    status = Status::InvalidArgument(
        options.right, "is a directory; give it first, and the replica second");
  }
  if (status.ok()) status = CheckAddress(options.right, /*or_directory=*/true);
  if (status.ok()) status = MakeTarget(options.credentials, &target);
  if (!status.ok()) return status;
  Request request;
  request.kind = Request::Kind::kVerify;
  request.peer = options.right;
  request.max_keys = options.max_keys;
  request.wait_ms = options.wait_ms;
  target.address = options.left;
  std::unique_ptr<AdminClient> admin_client;
  status = AdminClient::Open(target, request, &admin_client);
  std::string last;
  if (status.ok()) {
    bool begun = false;
    status = admin_client->Answer(
        [&](const std::string& line) {
          begun = true;
          printer->Difference(line);
        },
        &last);
    if (begun && status.IsIOError()) {
      status = Status::IOError(
          status.ToString(),
          "a replica gives up an asker that takes nothing for the replica's "
          "io_timeout: if the output was not read for as long, write it into a "
          "file");
    }
  }
  return status.ok() ? printer->Result(last, equal) : status;
}

Status VerifyOffline(const VerifyToolOptions& options, Printer* printer,
                     bool* equal) {
  ClusterSecret secret;
  std::unique_ptr<OfflineDB> db;
  std::unique_ptr<OfflineReplica> replica;
  std::unique_ptr<Counterpart> counterpart;
  Status status = CheckTwoDirectories(options.left, options.right);
  if (status.ok()) status = ReadClusterSecret(options.credentials, &secret);
  if (status.ok()) {
    status = CheckWalDirs(options.wal_dirs, {options.left, options.right});
  }
  if (status.ok()) {
    status = OfflineDB::Open(options.left, options.wal_dirs, &db);
  }
  if (status.ok()) {
    status = OfflineReplica::Open(
        db->db(), db->handles(), options.credentials.cluster, secret, &replica);
  }
  if (status.ok()) {
    status =
        Counterpart::Open(options.right, options.credentials, options.wal_dirs,
                          replica->family_names(), &counterpart);
  }
  if (!status.ok()) return status;

  const std::unique_ptr<StorageView> view = replica->NewView();
  VerificationSteps steps;
  steps.sleep = [](milliseconds time) {
    std::this_thread::sleep_for(time);
    return true;
  };
  steps.session = [&](const VerifyTask& task, VerifiedPeer* peer,
                      SessionReport* report) {
    // Over one connection, so with one view of one replica.
    peer->families = replica->family_names();
    return counterpart->Compare(view.get(), task, report);
  };
  VerifyOptions how;
  how.max_keys = options.max_keys;
  // Between two offline replicas nothing is on its way.
  how.in_flight_wait =
      milliseconds(IsDirectory(options.right) ? 0 : options.wait_ms);
  VerifyResult result;
  status = RunVerification(
      how, steps,
      [&](const KeyDifference& difference) {
        printer->Difference(ToJson(difference).Text());
      },
      &result);
  return status.ok() ? printer->Result(VerifyJson(result), equal) : status;
}

}  // namespace

int RunVerify(const VerifyToolOptions& options, std::ostream& out,
              std::ostream& err) {
  Printer printer(options.json, out);
  bool equal = false;
  const Status status = IsDirectory(options.left)
                            ? VerifyOffline(options, &printer, &equal)
                            : VerifyRunning(options, &printer, &equal);
  if (!status.ok()) {
    err << "rocksync verify: " << status.ToString() << "\n";
    return kVerifyError;
  }
  return equal ? kVerifyEqual : kVerifyDifferent;
}

}  // namespace rocksync
