// The two halves of a stream against a peer that says what it likes, in any
// order, while the replica writes, time goes by and the terms change.
//
// What has to hold beside no crash: the peer's window bounds what is under way
// to it, but for one message more; and what a message has queued for the
// sending half is bounded.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "replication/stream/incoming_changes.h"
#include "replication/stream/outgoing_changes.h"
#include "tests/support/spreading_host.h"

namespace rocksync {
namespace {

constexpr uint64_t kThird = 3;
constexpr uint32_t kFamilies = 2;
constexpr uint64_t kWindowBytes = 4096;

// What a run consumes, byte by byte; 0 once nothing is left.
class Input {
 public:
  explicit Input(std::string_view bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  uint8_t Byte() {
    const std::string_view byte = Bytes(1);
    return byte.empty() ? 0 : static_cast<uint8_t>(byte[0]);
  }
  std::string_view Bytes(size_t most) {
    const std::string_view taken = bytes_.substr(0, most);
    bytes_.remove_prefix(taken.size());
    return taken;
  }

 private:
  std::string_view bytes_;
};

// A replica in memory that keeps no pairs: of each key it says the same.
class Host final : public SpreadingHost {
 public:
  // Of `flags` bit 0: this side has dialed; bit 1: there is a third replica,
  // so that hashes count.
  explicit Host(uint8_t flags) {
    facts_ = {.peer_id = kPeer,
              .peer_name = "peer",
              .dialed = (flags & 1) != 0,
              .mine = {kWindowBytes, 10'000, ""},
              .theirs = {kWindowBytes, 10'000, ""}};
    if ((flags & 2) != 0) spread_.Connect({kThird, ""});
  }

  void Write(uint8_t key, uint8_t what) {
    keys_.push_back(std::string(1, static_cast<char>(key)));
    BufferedChange change;
    change.family = what % kFamilies;
    change.key = keys_.back();
    change.version = {++last_, kSelf};
    change.tombstone = (what & 2) != 0;
    change.value = change.tombstone ? "" : "value";
    change.left_out = (what & 4) != 0;
    if ((what & 8) != 0) change.source = (what & 16) != 0 ? kPeer : kThird;
    log_.push_back(change);
  }
  void Lose(uint8_t changes) { lost_ += changes; }
  void Pass(uint64_t ms) { now_ms_ += ms; }
  void EndTerms() { terms_hold_ = false; }

  void Check() {
    if (dues_.bytes_under_way() > kWindowBytes + largest_sent_) std::abort();
    if (dues_.lists.asked_for.size() > 2 * kMaxListed) std::abort();
    if (dues_.lists.to_ask_for.size() > SpreadOptions().max_missing) {
      std::abort();
    }
  }

  // StreamHost.
  const StreamFacts& facts() const override { return facts_; }
  uint64_t NowMs() const override { return now_ms_; }
  absl::Status Take(size_t max_bytes, ChangeBatch* taken) override {
    taken->changes = std::exchange(log_, {});
    taken_keys_ = std::exchange(keys_, {});
    taken->lost = std::exchange(lost_, 0);
    taken->last = last_;
    taken->oldest_ms = now_ms_;
    return absl::OkStatus();
  }
  absl::Status MakeDurable(uint64_t number) override {
    if (number > last_) std::abort();
    return absl::OkStatus();
  }
  absl::Status MakeAllDurable() override { return absl::OkStatus(); }
  absl::Status Send(std::string_view message) override {
    if (message.empty()) std::abort();
    largest_sent_ = std::max<uint64_t>(largest_sent_, message.size());
    return absl::OkStatus();
  }
  bool TermsHold() const override { return terms_hold_; }
  uint32_t FamilyCount() const override { return kFamilies; }
  ElementHash HashOf(const Pair& pair) const override {
    // Few, so that what the peer asks for was often announced to it.
    const auto first = static_cast<uint8_t>(pair.key.c_str()[0]);
    return {first, 0};
  }
  absl::Status ReadPair(uint32_t family, std::string_view key,
                        Pair* pair) const override {
    if (family >= kFamilies) std::abort();
    if (key == "n") return absl::NotFoundError("none");
    *pair = {family, std::string(key), {5, kSelf}, false, "value"};
    return absl::OkStatus();
  }
  absl::Status Apply(std::vector<Pair>* pairs,
                     std::vector<ApplyOutcome>* outcomes) override {
    if (!terms_hold_) return absl::UnavailableError("other terms");
    outcomes->clear();
    for (const Pair& pair : *pairs) {
      if (pair.family >= kFamilies) std::abort();
      outcomes->push_back(pair.key.size() % 2 == 0 ? ApplyOutcome::kSuperseded
                                                   : ApplyOutcome::kApplied);
    }
    return absl::OkStatus();
  }
  void BeginRepair() override {
    if (!facts_.dialed) std::abort();
  }
  void Wake() override {}
  bool AskForMissing(uint64_t now_ms) override {
    for (const auto& [peer, hashes] : spread_.DueGrafts(now_ms)) {
      if (peer != kPeer) continue;
      std::vector<ShortHash>* const to_ask = &dues_.lists.to_ask_for;
      to_ask->insert(to_ask->end(), hashes.begin(), hashes.end());
    }
    return std::exchange(missed_, spread_.lost()) != spread_.lost();
  }

 private:
  StreamFacts facts_;
  // The log's keys stay where they are until the next Take.
  std::deque<std::string> keys_;
  std::deque<std::string> taken_keys_;
  std::vector<BufferedChange> log_;
  uint64_t last_ = 0;
  uint64_t lost_ = 0;
  uint64_t missed_ = 0;
  uint64_t largest_sent_ = 0;
  uint64_t now_ms_ = 1000;
  bool terms_hold_ = true;
};

void Run(std::string_view bytes) {
  Input input(bytes);
  Host host(input.Byte());
  IncomingChanges incoming(&host);
  OutgoingChanges outgoing(&host);
  outgoing.Begin();
  absl::Status status;
  while (status.ok() && !input.empty()) {
    const uint8_t what = input.Byte();
    switch (what % 8) {
      case 0:
      case 1:
      case 2: {  // the peer's messages are what it is about
        const size_t size = 1 + input.Byte() + 256 * (what / 128);
        const std::string message(input.Bytes(size));
        if (!message.empty()) status = incoming.Receive(message);
        break;
      }
      case 3:
      case 4:
        status = outgoing.Step();
        if (outgoing.Window() > kWindowBytes) std::abort();
        break;
      case 5:
        for (int i = 0; i <= what / 8; ++i) host.Write(input.Byte(), what / 8);
        break;
      case 6:
        host.Pass(uint64_t{what} * what / 4);
        break;
      case 7:
        host.Lose(what / 8);
        if (what == 255) host.EndTerms();
        break;
    }
    host.Check();
  }
}

}  // namespace
}  // namespace rocksync

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  rocksync::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
