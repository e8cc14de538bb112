#include "replication/membership/setup.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "replication/membership/authentication.h"
#include "replication/membership/incarnation.h"
#include "replication/session/messages.h"
#include "replication/text/escape_text.h"
#include "rocksync/limits.h"
#include "rocksync/replica_id.h"
#include "sketch/element/coding.h"
#include "sketch/element/sha256.h"

namespace rocksync {
namespace {

constexpr std::string_view kMagic = "rocksync";
constexpr size_t kConfirmBytes = 16;

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
      !GetVarint64(input, &facts->gc.epoch) ||
      !GetFixed64(input, &facts->gc.stable_time) ||
      !GetFixed64(input, &facts->gc.purged) ||
      !GetVarint64(input, &facts->capabilities) ||
      !GetBytes(input, facts->nonce.size(), &nonce)) {
    return false;
  }
  std::copy(nonce.begin(), nonce.end(), facts->nonce.begin());
  return true;
}

absl::Status GetFamilies(std::string_view* input, SetupFacts* facts) {
  uint64_t count = 0;
  if (!GetVarint64(input, kMaxReplicatedFamilies, &count)) {
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

absl::Status GetGcState(std::string_view* input, SetupFacts* facts) {
  const uint64_t epoch = facts->gc.epoch;
  const Terms terms = facts->gc.terms();
  if (terms.purged < terms.stable_time) {
    return Malformed(MessageType::kSetup, "a stable time that was not purged");
  }
  if (epoch == 0) return absl::OkStatus();
  std::string_view bytes;
  if (!GetLengthPrefixed(input, kMaxGcStateBytes, &bytes) ||
      !facts->gc.DecodeFrom(bytes) || facts->gc.epoch != epoch ||
      facts->gc.stable_time != terms.stable_time ||
      facts->gc.purged != terms.purged) {
    return Malformed(MessageType::kSetup, "no member list");
  }
  return absl::OkStatus();
}

RefusalReason ReasonOf(PeerVerdict verdict) {
  switch (verdict) {
    case PeerVerdict::kNotMember:
      return RefusalReason::kNotMember;
    // This reason marks no replica as superseded permanently: two set-ups of
    // one incarnation may cross on two connections, and then the next attempt
    // goes through.
    case PeerVerdict::kAcknowledgedMore:
      return RefusalReason::kAcknowledgedMore;
    case PeerVerdict::kOutOfReach:
      return RefusalReason::kOutOfReach;
    default:
      return RefusalReason::kEpoch;
  }
}

// Returns a text such as 'replica 1 alone has "log"': a few of the families
// that the other lacks, their names cut so that a refusal has room for them.
// Empty: there are none.
std::string OfOneAlone(const SetupFacts& one, const SetupFacts& other) {
  constexpr size_t kMaxNames = 3;
  constexpr size_t kMaxBytes = 40;
  size_t count = 0;
  std::string names;
  for (const SetupFamily& family : one.families) {
    const bool shared = std::any_of(
        other.families.begin(), other.families.end(),
        [&](const SetupFamily& theirs) { return theirs.name == family.name; });
    if (shared || ++count > kMaxNames) continue;
    absl::StrAppend(&names, count > 1 ? ", \"" : "\"",
                    EscapeText(family.name.substr(0, kMaxBytes)),
                    family.name.size() > kMaxBytes ? "...\"" : "\"");
  }
  if (count == 0) return "";
  const std::string more =
      count > kMaxNames ? absl::StrCat(" and ", count - kMaxNames, " more")
                        : "";
  return absl::StrCat("replica ", ReplicaIdHex(one.replica_id), " alone has ",
                      names, more);
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
  PutVarint64(out, kProtocolVersion);
  PutVarint64(out, kProtocolVersion);
  PutLengthPrefixed(out, facts.cluster);
  PutFixed64(out, facts.replica_id);
  PutVarint64(out, facts.incarnation.counter);
  PutFixed64(out, facts.incarnation.random);
  PutFixed64(out, facts.first_clock);
  PutFixed64(out, facts.clock);
  PutVarint64(out, facts.gc.epoch);
  PutFixed64(out, facts.gc.stable_time);
  PutFixed64(out, facts.gc.purged);
  PutVarint64(out, facts.capabilities);
  out->append(AsPiece(facts.nonce));
  PutVarint64(out, facts.families.size());
  for (const SetupFamily& family : facts.families) {
    PutLengthPrefixed(out, family.name);
    PutLengthPrefixed(out, family.comparator);
  }
  if (facts.gc.epoch != 0) {
    std::string gc;
    facts.gc.EncodeTo(&gc);
    PutLengthPrefixed(out, gc);
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
  if (kProtocolVersion < oldest || kProtocolVersion > newest) {
    return absl::FailedPreconditionError(
        absl::StrCat("the peer speaks protocol versions ", oldest, " to ",
                     newest, ", this replica speaks version ", kProtocolVersion,
                     "; run releases of rocksync that overlap"));
  }
  if (!GetIdentity(&body, facts)) {
    return Malformed(MessageType::kSetup, "truncated");
  }
  absl::Status status = GetFamilies(&body, facts);
  if (status.ok()) status = GetGcState(&body, facts);
  if (status.ok() && !DecodePast(&body, &facts->past)) {
    status = Malformed(MessageType::kSetup, "no past incarnations");
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
      "the peer does not speak rocksync, or sent something else than what the "
      "set-up awaits");
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
  // The dialer judges the peer once the listener has shown that it knows the
  // secret; the listener does so at once, since it speaks next. The listener's
  // Setup goes first: a refusal is proven by what is random in both.
  if (role_ == Role::kResponder) {
    outbox_.push_back(my_setup_);
    status = CheckPeer();
    if (!status.ok()) return status;
    SendConfirm();
  }
  state_ = State::kExpectConfirm;
  return absl::OkStatus();
}

absl::Status Setup::ReceiveConfirm(std::string_view body) {
  const Role peer =
      role_ == Role::kInitiator ? Role::kResponder : Role::kInitiator;
  // A wrong cluster name explains a wrong secret, so it is reported first.
  if (peer_.cluster == mine_.cluster && !SameProof(body, Confirmation(peer))) {
    return Refuse(
        RefusalReason::kSecret,
        absl::StrCat("the cluster secret of replica ",
                     ReplicaIdHex(peer_.replica_id), " differs from that of ",
                     ReplicaIdHex(mine_.replica_id),
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
  std::string_view proof;
  if (!GetFixed8(&body, &reason) || !GetBytes(&body, kConfirmBytes, &proof) ||
      body.size() > kMaxTextBytes) {
    return Malformed(MessageType::kRefusal,
                     "no reason, no proof, or too long a text");
  }
  std::string said(1, static_cast<char>(reason));
  said.append(body);
  const Role peer =
      role_ == Role::kInitiator ? Role::kResponder : Role::kInitiator;
  const bool proven =
      !peer_setup_.empty() && SameProof(proof, RefusalProof(peer, said));
  if (proven) refused_ = static_cast<RefusalReason>(reason);
  met_itself_ = refused_ == RefusalReason::kSameReplica &&
                peer_.replica_id == mine_.replica_id &&
                peer_.incarnation != mine_.incarnation;
  acknowledged_more_ =
      refused_ == RefusalReason::kAcknowledgedMore && !HasAcknowledgedSince();
  // It is either side's list that lacks the other one.
  return absl::FailedPreconditionError(absl::StrCat(
      refused_ == RefusalReason::kNotMember ? "no session with the peer"
                                            : "the peer refuses",
      proven ? "" : ", and does not prove that it knows the cluster's secret",
      body.empty()
          ? absl::StrCat(", by number ", static_cast<int>(reason), " alone")
          : absl::StrCat(": ", EscapeText(body))));
}

absl::Status Setup::Refuse(RefusalReason reason, const std::string& text) {
  std::string said(1, static_cast<char>(reason));
  said.append(text, 0, kMaxTextBytes);
  std::string message(1, static_cast<char>(MessageType::kRefusal));
  message.push_back(static_cast<char>(reason));
  message += RefusalProof(role_, said);
  message.append(said, 1);
  outbox_.push_back(std::move(message));
  return absl::FailedPreconditionError(text);
}

absl::Status Setup::CheckPeer() {
  if (peer_.cluster != mine_.cluster) {
    return Refuse(RefusalReason::kCluster,
                  absl::StrCat("cluster \"", EscapeText(peer_.cluster),
                               "\" met cluster \"", EscapeText(mine_.cluster),
                               "\"; correct the peer's address, or the cluster"
                               " name"));
  }
  // This rule goes before the next: an id that a peer only claims shows no
  // copy.
  if (policy_.authenticated_id != 0 &&
      policy_.authenticated_id != peer_.replica_id) {
    return Refuse(RefusalReason::kIdentity,
                  absl::StrCat("the certificate is of replica ",
                               ReplicaIdHex(policy_.authenticated_id),
                               ", but the peer says that it is ",
                               ReplicaIdHex(peer_.replica_id),
                               "; give each replica its own certificate"));
  }
  if (peer_.replica_id == mine_.replica_id) return RefuseOwnIdentity();
  const absl::Status status = CheckMembership();
  return status.ok() ? CheckFamilies() : status;
}

absl::Status Setup::RefuseOwnIdentity() {
  // Each opening is an incarnation of its own, so this peer is no copy.
  if (peer_.incarnation == mine_.incarnation) {
    return Refuse(
        RefusalReason::kSameReplica,
        absl::StrCat("the address leads back to replica ",
                     ReplicaIdHex(mine_.replica_id),
                     " itself; name another one, and take it out of its"
                     " peers if it is there"));
  }
  met_itself_ = true;
  return Refuse(RefusalReason::kSameReplica,
                absl::StrCat("replica id ", ReplicaIdHex(mine_.replica_id),
                             " exists twice: one of the two is a copy of the"
                             " other's directory; open the copy, and it alone,"
                             " as a new replica (option"
                             " open_copy_as_new_replica, of rocksync-store"
                             " --as-new-replica)"));
}

absl::Status Setup::CheckMembership() {
  ReportedByBoth said;
  if (policy_.said) {
    said = policy_.said(peer_.replica_id, peer_.incarnation);
  }
  const PeerJudgement verdict =
      mine_.gc.JudgePeer(mine_.replica_id, peer_.gc, peer_.replica_id, said);
  verdict_ = verdict.verdict;
  // The peer's incarnation goes before kAcknowledgedMore: it explains better
  // why the peer acknowledged too much.
  if (!verdict.why.empty() && verdict_ != PeerVerdict::kAcknowledgedMore) {
    return Refuse(ReasonOf(verdict_), verdict.why);
  }
  const absl::Status status = CheckIncarnations();
  if (!status.ok() || verdict.why.empty()) return status;
  if (verdict.rolled_back == mine_.replica_id) {
    acknowledged_more_ = true;
    return Refuse(RefusalReason::kOutOfReach, verdict.why);
  }
  return Refuse(ReasonOf(verdict_), verdict.why);
}

bool Setup::HasAcknowledgedSince() const {
  return policy_.said &&
         policy_.said(peer_.replica_id, peer_.incarnation)
                 .mine.max_acknowledged > mine_.gc.max_acknowledged;
}

absl::Status Setup::CheckIncarnations() {
  if (policy_.remembered) {
    const absl::Status status = CheckIncarnation(
        policy_.remembered(peer_.replica_id).value_or(Incarnation{}));
    if (!status.ok()) return status;
  }
  const Member* const heard = mine_.gc.Find(peer_.replica_id);
  return heard != nullptr && mine_.gc.HasListOf(peer_.gc)
             ? CheckIncarnation(heard->incarnation)
             : absl::OkStatus();
}

// Checks the peer against `known`, which this replica remembers or has heard
// from others.
absl::Status Setup::CheckIncarnation(const Incarnation& known) {
  const Incarnation now = {peer_.incarnation, peer_.first_clock, peer_.clock,
                           peer_.past};
  const Succession succession = Compare(known, now);
  if (succession == Succession::kFollows) return absl::OkStatus();
  met_copy_ = true;
  return Refuse(RefusalReason::kRolledBack,
                absl::StrCat("replica ", ReplicaIdHex(peer_.replica_id), " ",
                             Describe(succession, known, now),
                             ": a restored backup or a copy; open it as a new"
                             " replica (option open_copy_as_new_replica, of"
                             " rocksync-store --as-new-replica); or a database"
                             " that was made under the id of a lost one: make"
                             " it anew, with an id and a certificate of its"
                             " own, and where databases share a port, a"
                             " listen_address of its own"));
}

absl::Status Setup::CheckFamilies() {
  std::string alone = OfOneAlone(peer_, mine_);
  const std::string ours = OfOneAlone(mine_, peer_);
  if (!alone.empty() && !ours.empty()) alone += ", and ";
  alone += ours;
  if (!alone.empty()) {
    return Refuse(RefusalReason::kFamilies,
                  absl::StrCat("replicated families differ: ", alone,
                               "; replicate the same families on both"));
  }
  for (size_t i = 0; i < mine_.families.size(); ++i) {
    if (peer_.families[i] != mine_.families[i]) {
      return Refuse(
          RefusalReason::kComparator,
          absl::StrCat(
              "family \"", EscapeText(mine_.families[i].name),
              "\" is ordered by ", EscapeText(peer_.families[i].comparator),
              " on replica ", ReplicaIdHex(peer_.replica_id), " and by ",
              EscapeText(mine_.families[i].comparator), " on replica ",
              ReplicaIdHex(mine_.replica_id), "; open it with one comparator"));
    }
  }
  return absl::OkStatus();
}

std::string Setup::Proof(std::string_view label, Role of,
                         std::string_view said) const {
  const bool dialer = role_ == Role::kInitiator;
  std::string text(label);
  text.push_back(of == Role::kInitiator ? 'd' : 'l');
  PutLengthPrefixed(&text, dialer ? my_setup_ : peer_setup_);
  PutLengthPrefixed(&text, dialer ? peer_setup_ : my_setup_);
  text.append(said);
  return Hmac128(secret_, text);
}

std::string Setup::Confirmation(Role of) const {
  return Proof("rocksync confirm", of, "");
}

std::string Setup::RefusalProof(Role of, std::string_view said) const {
  return Proof("rocksync refusal", of, said);
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
