// The set-up of a connection with a peer that knows the secret and says what it
// likes of itself, or that sends arbitrary messages.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "replication/membership/setup.h"

namespace rocksync {
namespace {

SetupFacts Mine() {
  SetupFacts facts;
  facts.cluster = "cluster";
  facts.replica_id = 1;
  facts.incarnation = {1, 2};
  facts.clock = 100;
  facts.nonce.fill(3);
  facts.families = {{"default", "leveldb.BytewiseComparator"}};
  return facts;
}

// All that one says goes to the other one.
void Hear(Setup* from, Setup* to) {
  std::string message;
  while (from->NextMessage(&message)) {
    if (message.empty()) std::abort();
    // Bad or not, what has come of it is in its status.
    (void)to->Receive(message);
  }
}

// Two honest set-ups, of which one is of whatever the input says.
void Meet(std::string_view input) {
  SetupFacts theirs;
  if (!DecodeSetup(input, &theirs).ok()) return;
  ClusterSecret secret;
  secret.fill(7);
  Setup dialer(Role::kInitiator, Mine(), secret, {});
  Setup listener(Role::kResponder, theirs, secret, {});
  for (int turns = 0; turns < 4; ++turns) {
    Hear(&dialer, &listener);
    Hear(&listener, &dialer);
  }
  if (!dialer.done() || !listener.done()) std::abort();
  if (dialer.status().ok() != listener.status().ok()) std::abort();
  if (!dialer.status().ok()) return;
  // The two are of one cluster, of one mind which list is newer, and have the
  // seed of their sessions in common.
  if (theirs.cluster != Mine().cluster || theirs.families != Mine().families ||
      theirs.replica_id == Mine().replica_id) {
    std::abort();
  }
  if ((dialer.verdict() == PeerVerdict::kSameList) !=
          (listener.verdict() == PeerVerdict::kSameList) ||
      (dialer.verdict() != PeerVerdict::kSameList &&
       dialer.verdict() == listener.verdict())) {
    std::abort();
  }
  if (dialer.seed().dialer_nonce != listener.seed().dialer_nonce ||
      dialer.seed().listener_nonce != listener.seed().listener_nonce) {
    std::abort();
  }
}

// Frames, each a length (1) and its bytes. Nothing but a proof ends well.
void Hear(Role role, std::string_view input) {
  ClusterSecret secret;
  secret.fill(7);
  Setup setup(role, Mine(), secret, {});
  std::string message;
  while (!setup.done()) {
    while (setup.NextMessage(&message)) {
      if (message.empty()) std::abort();
    }
    if (setup.done() || input.empty()) break;
    const size_t size =
        std::min(input.size() - 1, size_t{static_cast<uint8_t>(input[0])});
    (void)setup.Receive(input.substr(1, size));
    input.remove_prefix(1 + size);
  }
  if (setup.done() && setup.status().ok()) std::abort();
}

void Fuzz(std::string_view input) {
  if (input.empty()) return;
  const auto choice = static_cast<uint8_t>(input[0]);
  input.remove_prefix(1);
  if ((choice & 1) != 0) {
    Meet(input);
  } else {
    Hear((choice & 2) != 0 ? Role::kInitiator : Role::kResponder, input);
  }
}

}  // namespace
}  // namespace rocksync

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rocksync::Fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}
