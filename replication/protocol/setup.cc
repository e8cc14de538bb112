#include "replication/protocol/setup.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "replication/protocol/life.h"
#include "replication/protocol/messages.h"
#include "sketch/coding.h"
#include "sketch/sha256.h"

namespace rocksync {
namespace {

constexpr std::string_view kMagic = "rocksync";
constexpr size_t kMaxNameBytes = 1024;
constexpr uint64_t kMaxFamilies = 4096;
constexpr size_t kConfirmBytes = 16;

absl::string_view View(std::string_view text) {
  return {text.data(), text.size()};
}

bool SameBytes(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;  // no early exit: takes the same time for all
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<uint8_t>(a[i]) ^ static_cast<uint8_t>(b[i]);
  }
  return difference == 0;
}

bool GetName(std::string_view* input, std::string* name) {
  std::string_view view;
  if (!GetLengthPrefixed(input, kMaxNameBytes, &view)) return false;
  name->assign(view);
  return true;
}

bool GetIdentity(std::string_view* input, SetupFacts* facts) {
  std::string_view nonce;
  if (!GetName(input, &facts->cluster) ||
      !GetFixed64(input, &facts->replica_id) ||
      !GetVarint64(input, &facts->incarnation.counter) ||
      !GetFixed64(input, &facts->incarnation.random) ||
      !GetFixed64(input, &facts->first_clock) ||
      !GetFixed64(input, &facts->clock) ||
      !GetVarint64(input, &facts->forgetting.list.epoch) ||
      !GetFixed64(input, &facts->forgetting.horizon) ||
      !GetVarint64(input, &facts->capabilities) ||
      !GetBytes(input, facts->nonce.size(), &nonce)) {
    return false;
  }
  std::copy(nonce.begin(), nonce.end(), facts->nonce.begin());
  return true;
}

absl::Status GetFamilies(std::string_view* input, SetupFacts* facts) {
  uint64_t count = 0;
  if (!GetVarint64(input, kMaxFamilies, &count)) {
    return Malformed(MessageType::kSetup, "too many families");
  }
  facts->families.clear();
  for (uint64_t i = 0; i < count; ++i) {
    SetupFamily family;
    if (!GetName(input, &family.name) || !GetName(input, &family.comparator)) {
      return Malformed(MessageType::kSetup, "truncated family");
    }
    if (!facts->families.empty() &&
        facts->families.back().name >= family.name) {
      return Malformed(MessageType::kSetup, "families not in order");
    }
    facts->families.push_back(std::move(family));
  }
  return absl::OkStatus();
}

absl::Status GetForgetting(std::string_view* input, SetupFacts* facts) {
  const uint64_t epoch = facts->forgetting.list.epoch;
  const uint64_t horizon = facts->forgetting.horizon;
  if (epoch == 0) return absl::OkStatus();
  std::string_view bytes;
  if (!GetLengthPrefixed(input, kMaxForgettingBytes, &bytes) ||
      !DecodeForgetting(bytes, &facts->forgetting) ||
      facts->forgetting.list.epoch != epoch ||
      facts->forgetting.horizon != horizon) {
    return Malformed(MessageType::kSetup, "no member list");
  }
  return absl::OkStatus();
}

RefusalReason ReasonOf(Meeting meeting) {
  switch (meeting) {
    case Meeting::kNotMember:
      return RefusalReason::kNotMember;
    // Not kRolledBack, which would mark the replica as superseded for good: two
    // set-ups of one life may cross on two connections, and then the next
    // attempt goes through.
    case Meeting::kRolledBack:
    case Meeting::kOutOfReach:
      return RefusalReason::kOutOfReach;
    default:
      return RefusalReason::kEpoch;
  }
}

}  // namespace

std::string Hmac128(const ClusterSecret& secret, std::string_view text) {
  std::string inner(64, '\x36');
  std::string outer(64, '\x5c');
  for (size_t i = 0; i < secret.size(); ++i) {
    inner[i] = static_cast<char>(inner[i] ^ secret[i]);
    outer[i] = static_cast<char>(outer[i] ^ secret[i]);
  }
  const Sha256Digest digest = Sha256({inner, text});
  const Sha256Digest result = Sha256({outer, AsPiece(digest)});
  return std::string(AsPiece(result).substr(0, kConfirmBytes));
}

void EncodeSetup(const SetupFacts& facts, std::string* out) {
  out->append(kMagic);
  PutVarint64(out, kOldestProtocol);
  PutVarint64(out, kNewestProtocol);
  PutLengthPrefixed(out, facts.cluster);
  PutFixed64(out, facts.replica_id);
  PutVarint64(out, facts.incarnation.counter);
  PutFixed64(out, facts.incarnation.random);
  PutFixed64(out, facts.first_clock);
  PutFixed64(out, facts.clock);
  PutVarint64(out, facts.forgetting.list.epoch);
  PutFixed64(out, facts.forgetting.horizon);
  PutVarint64(out, facts.capabilities);
  out->append(AsPiece(facts.nonce));
  PutVarint64(out, facts.families.size());
  for (const SetupFamily& family : facts.families) {
    PutLengthPrefixed(out, family.name);
    PutLengthPrefixed(out, family.comparator);
  }
  if (facts.forgetting.list.epoch != 0) {
    std::string forgetting;
    EncodeForgetting(facts.forgetting, &forgetting);
    PutLengthPrefixed(out, forgetting);
  }
  EncodePast(facts.past, out);
}

absl::Status DecodeSetup(std::string_view body, SetupFacts* facts) {
  std::string_view magic;
  uint64_t oldest = 0;
  uint64_t newest = 0;
  if (!GetBytes(&body, kMagic.size(), &magic) || magic != kMagic) {
    return Malformed(MessageType::kSetup, "the peer does not speak rocksync");
  }
  if (!GetVarint64(&body, &oldest) || !GetVarint64(&body, &newest) ||
      oldest > newest) {
    return Malformed(MessageType::kSetup, "no versions");
  }
  if (oldest > kNewestProtocol || newest < kOldestProtocol) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the peer speaks protocol versions ", oldest, " to ", newest,
        ", this replica ", kOldestProtocol, " to ", kNewestProtocol,
        "; run releases of rocksync that overlap"));
  }
  if (!GetIdentity(&body, facts)) {
    return Malformed(MessageType::kSetup, "truncated");
  }
  absl::Status status = GetFamilies(&body, facts);
  if (status.ok()) status = GetForgetting(&body, facts);
  if (status.ok() && !DecodePast(&body, &facts->past)) {
    status = Malformed(MessageType::kSetup, "no past lives");
  }
  return status;
}

Setup::Setup(Role role, SetupFacts mine, const ClusterSecret& secret,
             SetupPolicy policy)
    : role_(role),
      mine_(std::move(mine)),
      secret_(secret),
      policy_(std::move(policy)) {
  my_setup_.push_back(static_cast<char>(MessageType::kSetup));
  EncodeSetup(mine_, &my_setup_);
  if (role_ == Role::kInitiator) outbox_.push_back(my_setup_);
}

bool Setup::NextMessage(std::string* out) {
  out->clear();
  if (outbox_.empty()) return false;
  *out = std::move(outbox_.front());
  outbox_.pop_front();
  return true;
}

absl::Status Setup::Receive(std::string_view message) {
  if (state_ == State::kOver) {
    return absl::InvalidArgumentError("a message after the set-up");
  }
  absl::Status status = absl::InvalidArgumentError(
      "the peer does not speak rocksync, or speaks out of turn");
  if (!message.empty()) {
    const auto type = static_cast<MessageType>(message[0]);
    if (type == MessageType::kRefusal) {
      status = ReceiveRefusal(message.substr(1));
    } else if (type == MessageType::kSetup && state_ == State::kExpectSetup) {
      status = ReceiveSetup(message);
    } else if (type == MessageType::kConfirm &&
               state_ == State::kExpectConfirm) {
      status = ReceiveConfirm(message.substr(1));
    }
  }
  if (!status.ok()) {
    status_ = status;
    state_ = State::kOver;
  }
  return status;
}

absl::Status Setup::ReceiveSetup(std::string_view message) {
  absl::Status status = DecodeSetup(message.substr(1), &peer_);
  if (absl::IsFailedPrecondition(status)) {
    return Refuse(RefusalReason::kProtocol, std::string(status.message()));
  }
  if (!status.ok()) return status;
  peer_setup_.assign(message);
  // The dialer judges once the listener has shown that it knows the secret;
  // the listener at once, since it speaks next.
  if (role_ == Role::kResponder) {
    status = CheckPeer();
    if (!status.ok()) return status;
    outbox_.push_back(my_setup_);
    SendConfirm();
  }
  state_ = State::kExpectConfirm;
  return absl::OkStatus();
}

absl::Status Setup::ReceiveConfirm(std::string_view body) {
  const Role peer =
      role_ == Role::kInitiator ? Role::kResponder : Role::kInitiator;
  // A wrong cluster name explains a wrong secret, so it is told first.
  if (peer_.cluster == mine_.cluster && !SameBytes(body, Confirmation(peer))) {
    return Refuse(
        RefusalReason::kSecret,
        absl::StrCat("the cluster secret of replica ", HexOf(peer_.replica_id),
                     " differs from that of ", HexOf(mine_.replica_id),
                     "; configure the same 32 bytes on both"));
  }
  if (role_ == Role::kInitiator) {
    const absl::Status status = CheckPeer();
    if (!status.ok()) return status;
    SendConfirm();
  }
  state_ = State::kOver;
  return absl::OkStatus();
}

absl::Status Setup::ReceiveRefusal(std::string_view body) {
  uint8_t reason = 0;
  if (!GetFixed8(&body, &reason) || body.size() > kMaxTextBytes) {
    return Malformed(MessageType::kRefusal, "no reason, or too long a text");
  }
  refused_ = static_cast<RefusalReason>(reason);
  if (body.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the peer refuses, by number ", static_cast<int>(reason), " alone"));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("the peer refuses: ", View(body)));
}

absl::Status Setup::Refuse(RefusalReason reason, const std::string& text) {
  std::string message(1, static_cast<char>(MessageType::kRefusal));
  message.push_back(static_cast<char>(reason));
  message.append(text, 0, kMaxTextBytes);
  outbox_.push_back(std::move(message));
  return absl::FailedPreconditionError(text);
}

absl::Status Setup::CheckPeer() {
  if (peer_.cluster != mine_.cluster) {
    return Refuse(RefusalReason::kCluster,
                  absl::StrCat("cluster \"", peer_.cluster, "\" met cluster \"",
                               mine_.cluster,
                               "\"; correct the peer's address, or the cluster"
                               " name"));
  }
  if (peer_.replica_id == mine_.replica_id) {
    return Refuse(
        RefusalReason::kSameReplica,
        absl::StrCat("replica id ", HexOf(mine_.replica_id),
                     " exists twice: a copied directory, or an address that"
                     " leads back here; open the copy as a new replica"));
  }
  if (policy_.authenticated_id != 0 &&
      policy_.authenticated_id != peer_.replica_id) {
    return Refuse(
        RefusalReason::kIdentity,
        absl::StrCat("the certificate is of replica ",
                     HexOf(policy_.authenticated_id),
                     ", but the peer says that it is ", HexOf(peer_.replica_id),
                     "; give each replica its own certificate"));
  }
  const absl::Status status = CheckMembership();
  return status.ok() ? CheckFamilies() : status;
}

absl::Status Setup::CheckMembership() {
  SaidByBoth said;
  if (policy_.said) {
    said = policy_.said(peer_.replica_id, peer_.incarnation,
                        peer_.forgetting.list.epoch);
  }
  const MeetingVerdict verdict =
      Judge(mine_.forgetting, mine_.replica_id, peer_.forgetting,
            peer_.replica_id, said);
  meeting_ = verdict.meeting;
  if (!verdict.why.empty()) return Refuse(ReasonOf(meeting_), verdict.why);
  if (policy_.remembered) {
    const absl::Status status =
        CheckLife(policy_.remembered(peer_.replica_id).value_or(Life{}));
    if (!status.ok()) return status;
  }
  const std::optional<size_t> heard =
      mine_.forgetting.list.Find(peer_.replica_id);
  return heard && meeting_ == Meeting::kAlike
             ? CheckLife(mine_.forgetting.lives[*heard])
             : absl::OkStatus();
}

// `known` from before, by this replica itself or by what others said.
absl::Status Setup::CheckLife(const Life& known) {
  const Life now = {peer_.incarnation, peer_.first_clock, peer_.clock,
                    peer_.past};
  const Succession succession = Compare(known, now);
  if (succession == Succession::kFollows) return absl::OkStatus();
  return Refuse(RefusalReason::kRolledBack,
                absl::StrCat("replica ", HexOf(peer_.replica_id), " ",
                             Describe(succession, known, now),
                             ": a restored backup or a copy; open it as a new"
                             " replica (open_copy_as_new_replica)"));
}

absl::Status Setup::CheckFamilies() {
  const auto name_of = [](const std::vector<SetupFamily>& families, size_t i) {
    return i < families.size() ? absl::StrCat("\"", families[i].name, "\"")
                               : std::string("no further one");
  };
  const size_t count = std::max(peer_.families.size(), mine_.families.size());
  for (size_t i = 0; i < count; ++i) {
    const std::string theirs = name_of(peer_.families, i);
    const std::string ours = name_of(mine_.families, i);
    if (theirs != ours) {
      return Refuse(
          RefusalReason::kFamilies,
          absl::StrCat("replicated families differ: replica ",
                       HexOf(peer_.replica_id), " has ", theirs,
                       " where replica ", HexOf(mine_.replica_id), " has ",
                       ours, "; replicate the same families on both"));
    }
    if (peer_.families[i] != mine_.families[i]) {
      return Refuse(RefusalReason::kComparator,
                    absl::StrCat("family ", ours, " is ordered by ",
                                 peer_.families[i].comparator, " on replica ",
                                 HexOf(peer_.replica_id), " and by ",
                                 mine_.families[i].comparator, " on replica ",
                                 HexOf(mine_.replica_id),
                                 "; open it with one comparator"));
    }
  }
  return absl::OkStatus();
}

std::string Setup::Confirmation(Role of) const {
  const bool dialer = role_ == Role::kInitiator;
  std::string text = "rocksync confirm";
  text.push_back(of == Role::kInitiator ? 'd' : 'l');
  PutLengthPrefixed(&text, dialer ? my_setup_ : peer_setup_);
  PutLengthPrefixed(&text, dialer ? peer_setup_ : my_setup_);
  return Hmac128(secret_, text);
}

void Setup::SendConfirm() {
  std::string message(1, static_cast<char>(MessageType::kConfirm));
  message += Confirmation(role_);
  outbox_.push_back(std::move(message));
}

SessionSeed Setup::seed() const {
  const bool dialer = role_ == Role::kInitiator;
  return {.dialer_nonce = dialer ? mine_.nonce : peer_.nonce,
          .listener_nonce = dialer ? peer_.nonce : mine_.nonce,
          .session_number = 0};
}

}  // namespace rocksync
