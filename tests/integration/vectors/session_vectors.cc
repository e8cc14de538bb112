// Sessions of two small replicas, message by message.

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "replication/session/difference.h"
#include "replication/session/session.h"
#include "tests/integration/vectors/vectors.h"
#include "tests/simulation/conversation.h"
#include "tests/simulation/memory_storage.h"

namespace rocksync {
namespace {

class SessionVectors {
 public:
  explicit SessionVectors(Vectors* vectors)
      : vectors_(vectors), dialer_(Replica(1)), listener_(Replica(2)) {
    options_.seed = {kDialerNonce, kListenerNonce, 0};
  }

  // The listener is empty.
  void Fill() {
    wall_ms_ = 1000;
    dialer_.Put(0, "apple", "red");
    dialer_.Put(0, "pear", "green");
    dialer_.Put(0, "plum", "blue");
    AddElements("pair.first", dialer_);
    Meet();
  }

  // An overwrite here, one there and one of the same key on both sides, a
  // delete, and a key that is new; then an exchange of Bloom filters.
  void Repair(bool bloom) {
    wall_ms_ = bloom ? 3000 : 2000;
    dialer_.Put(0, "apple", bloom ? "gold" : "crimson");
    if (bloom) {
      listener_.Delete(0, "quince");
    } else {
      dialer_.Delete(0, "pear");
    }
    listener_.Put(0, "plum", bloom ? "black" : "purple");
    if (!bloom) {
      listener_.Put(0, "quince", "yellow");
      listener_.Put(0, "apple", "pink");
    }
    AddElements(bloom ? "pair.third.dialer" : "pair.second.dialer", dialer_);
    AddElements(bloom ? "pair.third.listener" : "pair.second.listener",
                listener_);
    if (bloom) {
      options_.initiator.exchange.mode = ExchangeMode::kBloom;
      options_.initiator.exchange.false_positive_rate = 0.25;
    }
    Meet();
  }

  // Two elements at once are all that either side takes: leaves are searched
  // for.
  void RepairAfterSearch() {
    options_.initiator.exchange.mode = ExchangeMode::kAdaptive;
    options_.initiator.max_batch_elements = 2;
    options_.responder.max_batch_elements = 2;
    wall_ms_ = 4000;
    dialer_.Put(0, "apple", "ruby");
    Meet();
    // The search finds these by itself.
    dialer_.Put(0, "melon", "ripe");
    listener_.Put(0, "grape", "sour");
    AddElements("pair.fourth.dialer", dialer_);
    AddElements("pair.fourth.listener", listener_);
    Meet();
    options_.initiator.max_batch_elements = 100;
    options_.responder.max_batch_elements = 100;
  }

  // Nothing is shipped.
  void Compare() {
    wall_ms_ = 5000;
    listener_.Put(0, "pear", "ripe");
    dialer_.Put(0, "fig", "sweet");
    std::vector<Difference> found;
    VerifyTask task;
    task.found = [&found](Difference difference) {
      found.push_back(std::move(difference));
      return true;
    };
    options_.verify = &task;
    EXPECT_TRUE(Talk().initiator.compared);
    EXPECT_EQ(found.size(), 2u);
  }

  void Meet() {
    EXPECT_TRUE(Talk().proven()) << options_.seed.session_number;
    EXPECT_EQ(dialer_.records().size(), listener_.records().size());
  }

 private:
  SessionRunResult Talk() {
    const std::string session =
        absl::StrCat("session.", options_.seed.session_number);
    int number = 0;
    options_.tamper = [&](Role from, std::string* message) {
      ++number;
      const std::string name =
          absl::StrCat(session, number < 10 ? ".0" : ".", number,
                       from == Role::kInitiator ? ".dialer" : ".listener");
      vectors_->push_back({name, *message});
    };
    const SessionRunResult result =
        DriveSession(&dialer_, &listener_, options_);
    ++options_.seed.session_number;
    return result;
  }

  MemoryStorage Replica(uint64_t id) {
    MemoryStorage::Options options;
    options.replica_id = id;
    options.families = {std::string(kVectorFamily)};
    options.wall_ms = [this] { return ++wall_ms_; };
    return MemoryStorage(&hasher_, options);
  }

  void AddElements(const std::string& name, const MemoryStorage& replica) {
    for (const auto& [key, record] : replica.records()) {
      vectors_->push_back(
          {absl::StrCat(name, ".", key.second), Bytes(record.hash)});
    }
  }

  Vectors* const vectors_;
  uint64_t wall_ms_ = 0;
  const ElementHasher hasher_{kVectorSecret};
  MemoryStorage dialer_;
  MemoryStorage listener_;
  SessionRunOptions options_;
};

}  // namespace

void AddSessionVectors(Vectors* vectors) {
  SessionVectors session(vectors);
  session.Fill();
  session.Repair(/*bloom=*/false);
  session.Meet();
  session.Repair(/*bloom=*/true);
  session.RepairAfterSearch();
  session.Compare();
}

}  // namespace rocksync
