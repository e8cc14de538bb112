// What an operator's tool asks of a running replica, and what a replica answers
// to a tool, once both have proven the cluster's secret.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "replication/admin/admin_client.h"
#include "replication/admin/admin_messages.h"
#include "replication/admin/admin_server.h"
#include "replication/clone/clone_source.h"
#include "replication/membership/authentication.h"
#include "replication/metrics/json.h"
#include "replication/peering/admission.h"
#include "replication/session/messages.h"
#include "replication/store/store_access.h"
#include "tests/fuzz/fed_connection.h"
#include "tests/fuzz/fed_transport.h"
#include "tests/fuzz/served_database.h"

namespace rocksync {
namespace {

using rocksdb::Status;

void Require(bool condition) {
  if (!condition) std::abort();
}

class Replica {
 public:
  Replica() {
    database_.replica()->scrub_stats = [] { return ScrubStats(); };
  }

  // The request's body, of which a byte says how long it is, and then frames.
  void Serve(std::string_view input) {
    if (input.empty()) return;
    const auto size = static_cast<uint8_t>(input[0]);
    const std::string_view body = input.substr(1, size);
    input.remove_prefix(1 + body.size());
    const Admission admission;
    const std::string message =
        std::string(1, static_cast<char>(MessageType::kRequest)) +
        ProofOf(FuzzSecret(), "rocksync request",
                {admission.auth_hello, admission.challenge, body}) +
        std::string(body);
    FedConnection connection(input);
    const Status s = server_.Serve(&connection, admission, message);
    // Whatever was asked, it is answered; by what the answer says, if it is one
    // and not refused.
    Reply reply;
    Require(ReadReply(connection.said(), &reply).ok());
    Require(!s.ok() || reply.kind != Reply::Kind::kError);
  }

  // A replica's answers, as frames, to each kind of request.
  void Ask(Request::Kind kind, std::string_view input) {
    AdminTarget target;
    target.transport = std::make_shared<FedTransport>(input);
    target.address = "replica";
    target.cluster = "cluster";
    target.secret = FuzzSecret();
    Request request;
    request.kind = kind;
    std::unique_ptr<AdminClient> client;
    Require(AdminClient::Open(target, request, &client).ok());
    const auto line = [](const std::string& text) {
      Require(text.size() <= kMaxReplyBytes);
    };
    std::string last;
    const Status s = kind == Request::Kind::kVerify
                         ? client->Answer(line, &last)
                         : client->Answer(nullptr, &last);
    if (!s.ok()) {
      Require(s.ToString() == PrintableAscii(s.ToString()));
    } else if (kind == Request::Kind::kCompare) {
      SessionReport report;
      VerifyTask task;
      task.found = [](const Difference&) { return true; };
      client->Compare(view_.get(), task, &report).PermitUncheckedError();
      Require(!report.proven_equal);
    }
  }

 private:
  ServedDatabase database_;
  CloneSource clones_{database_.replica()};
  AdminServer server_{
      database_.replica(), &clones_,
      [](const std::string&, const VerifyOptions&, const DifferenceCallback&,
         const std::function<bool()>&, VerifyResult*) { return Status::OK(); }};
  const std::unique_ptr<ReplicaView> view_ =
      StoreAccess::NewView(database_.replica()->db);
};

}  // namespace
}  // namespace rocksync

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using rocksync::Request;
  static auto* const replica = new rocksync::Replica;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.empty()) return 0;
  const auto choice = static_cast<uint8_t>(input[0]);
  input.remove_prefix(1);
  if (choice % 4 == 0) {
    replica->Serve(input);
  } else {
    replica->Ask(static_cast<Request::Kind>(choice % 4), input);
  }
  return 0;
}
