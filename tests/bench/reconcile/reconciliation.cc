#include "tests/bench/reconcile/reconciliation.h"

#include <array>
#include <cstdio>
#include <memory>
#include <string>

#include "sketch/element/coding.h"
#include "sketch/element/sha256.h"
#include "tests/bench/reconcile/thread_clock.h"

namespace rocksync::bench {
namespace {

MappingSeed SeedOf(uint64_t seed, uint64_t round) {
  std::string number;
  PutFixed64(&number, seed);
  PutFixed64(&number, round);
  return Sha256({"bench_reconcile", number});
}

// The bodies of the session's hello and summary: count, digest (16).
std::string DigestBody(const Digest& digest) {
  std::string body;
  PutVarint64(&body, digest.count);
  PutFixed64(&body, digest.high);
  PutFixed64(&body, digest.low);
  return body;
}

// Bytes and turns of both sides: side 0 is a.
class Wire {
 public:
  explicit Wire(Outcome* outcome) : outcome_(outcome) {}

  // A session message with this body: head (1), length (varint), body.
  void Send(int side, std::string_view body) {
    std::string length;
    PutVarint64(&length, body.size());
    (side == 0 ? outcome_->bytes_a_to_b : outcome_->bytes_b_to_a) +=
        1 + length.size() + body.size();
    if (side != speaker_) {
      speaker_ = side;
      outcome_->round_trips += 0.5;
    }
  }

 private:
  Outcome* const outcome_;
  int speaker_ = -1;
};

class Session {
 public:
  Session(const Method& method, uint64_t seed, Workload* workload,
          Outcome* outcome)
      : method_(method),
        seed_(seed),
        replicas_{&workload->a, &workload->b},
        outcome_(outcome),
        wire_(outcome) {}

  void Run() {
    wire_.Send(0, DigestBody(replicas_[0]->digest));  // hello
    int decider = 1;
    for (uint32_t round = 0; round < method_.max_exchanges; ++round) {
      if (replicas_[0]->digest == replicas_[1]->digest) break;
      std::string differs;
      PutVarint64(&differs, replicas_[decider]->digest.count);
      wire_.Send(decider, differs);
      if (round > 0) ++outcome_->retries;
      if (!RunExchange(decider, round)) {
        outcome_->failed = true;
        return;
      }
      // The initiator hears last; its closing digest is judged by the other.
      wire_.Send(decider, DigestBody(replicas_[decider]->digest));  // summary
      decider ^= 1;
    }
    wire_.Send(decider, "");  // equal
  }

 private:
  bool RunExchange(int initiator, uint32_t round) {
    ExchangeOptions options = method_.options;
    options.expected_differences = expected_left_;
    options.retry = expected_left_ > 0;
    const MappingSeed seed = SeedOf(seed_, method_.fixed_mapping ? 0 : round);
    std::unique_ptr<Exchange> exchanges[2];
    for (int side = 0; side < 2; ++side) {
      const double start = ThreadCpuMs();
      exchanges[side] = NewExchange(
          side == initiator ? Role::kInitiator : Role::kResponder, options,
          seed, replicas_[side]->elements, replicas_[side ^ 1]->digest.count);
      Charge(side, start);
    }
    int silent = 0;
    for (int side = initiator; silent < 2; side ^= 1) {
      ++silent;
      std::string payload;
      while (Next(exchanges[side].get(), side, &payload)) {
        silent = 0;
        wire_.Send(side, payload);
        const double start = ThreadCpuMs();
        const absl::Status status = exchanges[side ^ 1]->Receive(payload);
        Charge(side ^ 1, start);
        if (!status.ok()) {
          std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
          return false;
        }
      }
    }
    if (!exchanges[0]->done() || !exchanges[1]->done()) return false;
    if (round == 0) outcome_->plan = exchanges[initiator]->report().plan;
    // The next initiator is the responder of this exchange.
    expected_left_ = exchanges[initiator ^ 1]->report().expected_left;
    outcome_->unconfirmed += exchanges[initiator]->report().unconfirmed;
    for (int side = 0; side < 2; ++side) {
      Ship(*replicas_[side], exchanges[side]->missing_there(),
           replicas_[side ^ 1]);
    }
    return true;
  }

  bool Next(Exchange* exchange, int side, std::string* payload) {
    payload->clear();
    const double start = ThreadCpuMs();
    const bool speaks = exchange->NextPayload(payload);
    Charge(side, start);
    return speaks;
  }

  void Ship(const Replica& from, const std::vector<uint32_t>& ordinals,
            Replica* to) {
    for (const uint32_t ordinal : ordinals) {
      const uint32_t number = from.numbers[ordinal];
      if (to->holds[number]) {
        ++outcome_->false_pairs;
      } else {
        to->Gain(from.elements[ordinal], number);
      }
    }
  }

  void Charge(int side, double start) {
    (side == 0 ? outcome_->cpu_ms_a : outcome_->cpu_ms_b) +=
        ThreadCpuMs() - start;
  }

  const Method& method_;
  const uint64_t seed_;
  Replica* const replicas_[2];
  Outcome* const outcome_;
  Wire wire_;
  double expected_left_ = 0;
};

}  // namespace

Outcome Reconcile(const Method& method, uint64_t seed, Workload* workload) {
  Outcome outcome;
  Session(method, seed, workload, &outcome).Run();
  outcome.missing_after = CountMissing(*workload);
  return outcome;
}

}  // namespace rocksync::bench
