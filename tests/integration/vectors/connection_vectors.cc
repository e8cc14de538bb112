// docs/protocol.md: the bundled transports, authentication, set-up.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "replication/admin/admin_messages.h"
#include "replication/clone/clone_messages.h"
#include "replication/membership/announcement.h"
#include "replication/membership/authentication.h"
#include "replication/membership/setup.h"
#include "replication/stream/stream_messages.h"
#include "replication/transport/frame.h"
#include "replication/transport/greeting.h"
#include "replication/transport/identity.h"
#include "tests/integration/vectors/connection.h"
#include "tests/integration/vectors/vectors.h"

namespace rocksync {
namespace {

class ConnectionVectors {
 public:
  explicit ConnectionVectors(Vectors* vectors) : vectors_(vectors) {}

  void AddTransport() {
    std::string header;
    AppendFrameHeader(300, &header);
    Add("frame.header.300", header);
    Add("preamble.plaintext", kPlaintextPreamble);
    Add("tls.uri", ReplicaUri(0x0102030405060708));
    Add("greeting.welcome", EncodeGreeting(rocksdb::Status::OK()));
    Add("greeting.refused",
        EncodeGreeting(rocksdb::Status::InvalidArgument("not a member")));
    Add("greeting.busy", EncodeGreeting(rocksdb::Status::Busy("later")));
  }

  void AddAuthentication() {
    constexpr AuthIds kTls = {0x0102030405060708, 0x1112131415161718};
    AddAuthentication("auth", {});
    AddAuthentication("auth.tls", kTls);
    Add("auth.farewell", FarewellMessage("another secret"));
    const std::vector<std::string> messages = Authenticate({}, kVectorSecret);
    Request request;
    request.kind = Request::Kind::kCompare;
    request.families = {std::string(kVectorFamily)};
    Add("request.compare",
        RequestMessage(kVectorSecret, messages[0], messages[1], request));
    Add("clone.ask", AskMessage(kVectorSecret, messages[0], messages[1],
                                {/*replica_id=*/9, /*ticket=*/0}));
    Add("reply", ReplyMessage({Reply::Kind::kDone, "{}"}));
  }

  void AddSetUp() {
    const std::vector<std::string> plain =
        SetUp(FactsOf(1), FactsOf(2), kVectorSecret);
    ASSERT_EQ(plain.size(), 4u);
    Add("setup.dialer", plain[0]);
    Add("setup.listener", plain[1]);
    Add("confirm.listener", plain[2]);
    Add("confirm.dialer", plain[3]);

    // With a member list, in the third incarnation.
    SetupFacts dialer = FactsOf(1);
    SetupFacts listener = FactsOf(2);
    ASSERT_TRUE(dialer.gc.SetMembers(300, {1, 2}, 1).ok());
    dialer.gc.stable_time = dialer.gc.purged = 0x0102;
    dialer.gc.stable_epoch = 300;
    dialer.gc.reached = {0x0102, 300};
    dialer.gc.max_acknowledged = 0x0102;
    for (Member& member : dialer.gc.members) {
      member.summary = member.acknowledged = 0x0102;
    }
    listener.gc = dialer.gc;
    dialer.incarnation = {.counter = 3, .random = 0x33};
    dialer.first_clock = 0x0203;
    dialer.clock = 0x0304;
    dialer.capabilities = kCapabilityStreams;
    dialer.past = {.since = 0,
                   .incarnations = {{{1, 0x11}, 0x0201}, {{2, 0x22}, 0x0203}}};
    dialer.gc.members[0].incarnation = {dialer.incarnation, dialer.first_clock,
                                        dialer.clock, dialer.past};
    const std::vector<std::string> members =
        SetUp(dialer, listener, kVectorSecret);
    ASSERT_EQ(members.size(), 4u);
    Add("setup.member", members[0]);
    Add("announcement", Announcement{0x0304, dialer.gc}.Encode());

    // A listener with another family refuses.
    listener = FactsOf(2);
    listener.families[0].name = "other";
    const std::vector<std::string> refused =
        SetUp(FactsOf(1), listener, kVectorSecret);
    ASSERT_EQ(refused.size(), 3u);
    Add("refusal.listener.setup", refused[1]);
    Add("refusal.listener", refused[2]);
  }

 private:
  void Add(std::string_view name, std::string_view bytes) {
    vectors_->push_back({std::string(name), std::string(bytes)});
  }

  void AddAuthentication(const std::string& name, const AuthIds& ids) {
    const std::vector<std::string> messages = Authenticate(ids, kVectorSecret);
    Add(name + ".hello", messages[0]);
    Add(name + ".challenge", messages[1]);
    Add(name + ".proof", messages[2]);
  }

  Vectors* const vectors_;
};

}  // namespace

void AddConnectionVectors(Vectors* vectors) {
  ConnectionVectors connection(vectors);
  connection.AddTransport();
  connection.AddAuthentication();
  connection.AddSetUp();
}

}  // namespace rocksync
