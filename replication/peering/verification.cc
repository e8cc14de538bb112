#include "replication/peering/verification.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

namespace rocksync {
namespace {

using std::chrono::milliseconds;

constexpr size_t kMaxHeldBytes = size_t{16} << 20;
constexpr size_t kDifferenceBytes = 150;
// The most keys held that differ at the first look. Most of them may be on
// their way, so more are held than may be reported.
constexpr uint64_t kMaxCandidates = 20'000;
// The pause before the second look. Each later pause is twice as long as the
// one before.
constexpr milliseconds kFirstPause{500};
constexpr int kMaxReconnections = 3;

HeldPair ToPublic(const Held& held) {
  HeldPair pair;
  switch (held.state) {
    case Held::State::kNothing:
      return pair;
    case Held::State::kTombstone:
      pair.state = HeldPair::State::kTombstone;
      break;
    case Held::State::kLive:
      pair.state = HeldPair::State::kLive;
      break;
  }
  pair.version = {held.version.time, held.version.replica};
  return pair;
}

KeyDifference::Kind ToPublic(DifferenceKind kind) {
  switch (kind) {
    case DifferenceKind::kMissingHere:
      return KeyDifference::Kind::kMissingHere;
    case DifferenceKind::kMissingThere:
      return KeyDifference::Kind::kMissingThere;
    case DifferenceKind::kVersion:
      return KeyDifference::Kind::kVersion;
    case DifferenceKind::kContent:
      break;
  }
  return KeyDifference::Kind::kContent;
}

bool IsLive(const Held& held) { return held.state == Held::State::kLive; }

// Returns true if a pair that one side held is in neither set any more: it was
// deleted, and its tombstone collected, between two looks; or both sides have
// quarantined it now.
bool Vanished(const Difference& first, const Difference& now) {
  return (IsLive(first.mine) || IsLive(first.theirs)) &&
         now.mine.state == Held::State::kNothing &&
         now.theirs.state == Held::State::kNothing;
}

class Verification {
 public:
  Verification(const VerifyOptions& options, const VerificationSteps& steps,
               VerifyResult* result)
      : options_(options), steps_(steps), result_(result) {}

  rocksdb::Status Run(const DifferenceCallback& differs) {
    rocksdb::Status s = Look();
    for (int i = 0; i < kMaxReconnections && peer_.reconnected; ++i) {
      StartOver();
      s = Look();
    }
    if (!s.ok()) {
      result_->complete = false;
      return s;
    }
    if (differing_.size() > options_.max_keys) {
      differing_.resize(options_.max_keys);
      result_->complete = false;
    }
    for (const Difference& difference : differing_) Tell(difference, differs);
    result_->differences = differing_.size();
    if (vanished_ > 0) result_->complete = false;
    result_->equal = result_->complete && differing_.empty();
    return NotCompared();
  }

 private:
  rocksdb::Status Look() {
    const rocksdb::Status s = FirstLook();
    return s.ok() && options_.in_flight_wait > milliseconds(0) ? LookAgain()
                                                               : s;
  }

  void StartOver() {
    peer_ = {};
    differing_.clear();
    held_bytes_ = 0;
    enough_ = false;
    vanished_ = 0;
    result_->in_flight = 0;
  }

  rocksdb::Status Session(const VerifyTask& task, SessionReport* report) {
    const rocksdb::Status s = steps_.session(task, &peer_, report);
    ++result_->looks;
    result_->bytes += report->bytes_sent + report->bytes_received;
    return s;
  }

  rocksdb::Status FirstLook() {
    const uint64_t most = MostHeld();
    VerifyTask task;
    task.found = [&](Difference difference) {
      if (differing_.size() == most || held_bytes_ > kMaxHeldBytes) {
        enough_ = true;
        return false;
      }
      held_bytes_ += difference.key.size() + kDifferenceBytes;
      differing_.push_back(std::move(difference));
      return true;
    };
    SessionReport report;
    const rocksdb::Status s = Session(task, &report);
    if (!s.ok()) return s;
    result_->elements = report.elements;
    if (report.compared) {
      result_->quarantined_here = report.left_out;
      result_->quarantined_there = report.peer_left_out;
    }
    result_->complete =
        report.compared && report.left_out == 0 && report.peer_left_out == 0;
    if (report.compared || enough_) return s;
    return EndedEarly(report);
  }

  static rocksdb::Status EndedEarly(const SessionReport& report) {
    if (report.expired) {
      return rocksdb::Status::Incomplete(
          "comparing took longer than a snapshot may be kept",
          "compare again while less is written");
    }
    return rocksdb::Status::Incomplete(
        std::string(report.pairs_unreadable > 0 ? "this replica" : "the peer") +
            " has pairs whose index entries do not read",
        "scrub it, and compare again");
  }

  uint64_t MostHeld() const {
    if (options_.in_flight_wait == milliseconds(0)) return options_.max_keys;
    // One more than may be reported, which shows that there are more.
    return std::max(kMaxCandidates,
                    std::min(options_.max_keys, UINT64_MAX - 1) + 1);
  }

  rocksdb::Status NotCompared() const {
    if (enough_ && differing_.empty()) {
      return rocksdb::Status::Incomplete(
          "the first " + std::to_string(result_->in_flight) +
              " keys that differed were on their way and have arrived, and "
              "what follows them was not compared",
          "compare again while less is written");
    }
    if (vanished_ > 0) {
      return rocksdb::Status::Incomplete(
          "at a second look neither set held anything of " +
              std::to_string(vanished_) + " keys that had differed",
          "compare again");
    }
    if (result_->quarantined_here == 0 && result_->quarantined_there == 0) {
      return rocksdb::Status::OK();
    }
    return rocksdb::Status::Incomplete(
        std::to_string(result_->differences) +
            " keys differ, and quarantined pairs were not compared: " +
            std::to_string(result_->quarantined_here) + " here, " +
            std::to_string(result_->quarantined_there) + " at the peer",
        QuarantineRemedy());
  }

  // Looks again until nothing differs any more, or until a look that began when
  // the time to wait was over.
  rocksdb::Status LookAgain() {
    // The time to wait counts from the first attempt, even after StartOver.
    if (!end_) end_ = steps_.now() + options_.in_flight_wait;
    const milliseconds end = *end_;
    bool last = false;
    for (milliseconds pause = kFirstPause; !differing_.empty() && !last;
         pause *= 2) {
      const milliseconds left = end - steps_.now();
      if (left > milliseconds(0) && !steps_.sleep(std::min(pause, left))) {
        return rocksdb::Status::Aborted(
            "the replicator was stopped between two looks");
      }
      last = steps_.now() >= end;
      const rocksdb::Status s = LookAgainOnce(last);
      if (!s.ok()) return s;
    }
    return rocksdb::Status::OK();
  }

  // Looks once more and keeps what still differs, in order. If there is time
  // for a further look, one key that differs is enough; the last look collects
  // as many keys as may be reported, and one more.
  rocksdb::Status LookAgainOnce(bool last) {
    const uint64_t wanted = last ? options_.max_keys : 0;
    std::vector<Difference> still;
    size_t looked = 0;
    VerifyTask task;
    for (const Difference& difference : differing_) {
      task.keys.emplace_back(difference.family, difference.key);
    }
    task.found = [&](Difference now) {
      if (looked == differing_.size()) return false;
      Difference& first = differing_[looked++];
      if (Vanished(first, now)) {
        ++vanished_;
      } else if (StillDiffers(first, now)) {
        still.push_back(std::move(first));
      } else {
        ++result_->in_flight;
      }
      return still.size() <= wanted;
    };
    SessionReport report;
    const rocksdb::Status s = Session(task, &report);
    if (!s.ok()) return s;
    const bool all = report.compared && looked == differing_.size();
    if (!all && still.size() <= wanted) {
      return EndedEarly(report);
    }
    if (!last) {
      std::move(differing_.begin() + static_cast<ptrdiff_t>(looked),
                differing_.end(), std::back_inserter(still));
    }
    differing_ = std::move(still);
    return s;
  }

  void Tell(const Difference& difference,
            const DifferenceCallback& differs) const {
    if (differs == nullptr) return;
    KeyDifference told;
    told.kind = ToPublic(KindOf(difference));
    told.family = peer_.families.at(difference.family);
    told.key = difference.key;
    told.here = ToPublic(difference.mine);
    told.there = ToPublic(difference.theirs);
    differs(told);
  }

  const VerifyOptions& options_;
  const VerificationSteps& steps_;
  VerifyResult* const result_;
  VerifiedPeer peer_;
  // The keys that differ as far as is known, in the order of the first look.
  std::vector<Difference> differing_;
  size_t held_bytes_ = 0;
  bool enough_ = false;  // the first look stopped, as it held enough keys
  uint64_t vanished_ = 0;
  std::optional<milliseconds> end_;  // when the time to wait is over
};

}  // namespace

const char* QuarantineRemedy() {
  return "they are resolved once the digests are equal with every peer of the "
         "replica that holds them; what does not read there stays until it is "
         "written again or deleted; `rocksync status` shows how many are left "
         "(quarantined_now)";
}

rocksdb::Status CheckVerifyOptions(const VerifyOptions& options) {
  if (options.max_keys == 0) {
    return rocksdb::Status::InvalidArgument(
        "VerifyOptions::max_keys must be above 0");
  }
  if (options.in_flight_wait < milliseconds(0)) {
    return rocksdb::Status::InvalidArgument(
        "VerifyOptions::in_flight_wait is negative");
  }
  return rocksdb::Status::OK();
}

rocksdb::Status RunVerification(const VerifyOptions& options,
                                const VerificationSteps& steps,
                                const DifferenceCallback& differs,
                                VerifyResult* result) {
  *result = VerifyResult{};
  const rocksdb::Status s = CheckVerifyOptions(options);
  if (!s.ok()) return s;
  return Verification(options, steps, result).Run(differs);
}

}  // namespace rocksync
