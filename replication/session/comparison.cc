#include "replication/session/comparison.h"

#include <utility>
#include <vector>

namespace rocksync {

Comparison::Comparison(Role role, const PartContext& context,
                       const Hello& hello, ExchangeSeries exchanges,
                       SessionSnapshot snapshot)
    : parts_(context, std::move(exchanges), std::move(snapshot)),
      batches_(&parts_),
      whole_set_(&parts_),
      summaries_(&parts_, &batches_, &whole_set_) {
  context.report->elements = total().count;
  if (role == Role::kInitiator) {
    parts_.verify.task = context.session->verify;
  } else {
    summaries_.set_peer(hello.digest);
    parts_.locator.set_peer_total(hello.digest.count);
    peer_batches_ = hello.batches;
    peer_batch_elements_ = uint64_t{1} << hello.batch_bits;
    stage_ = Stage::kHelloReceived;
  }
  if (hello.keys_only) {
    second_look_ =
        std::make_unique<Listing>(parts_.snapshot.ForRound(nullptr, 0),
                                  &parts_.verify, std::vector<uint32_t>());
    stage_ = Stage::kListing;
  }
}

// --- The peer's turn --------------------------------------------------------

bool Comparison::Expects(MessageType type, uint8_t flags) const {
  const StageFacts facts = {.whole_set = whole_set_.rounds() != nullptr,
                            .only = batches_.only(),
                            .works = work() != nullptr,
                            .may_be_pure = whole_set_.may_propose(),
                            .may_refine = parts_.locator.locations() == 1};
  return MayCome(stage_, facts, type, flags);
}

absl::Status Comparison::Receive(MessageType type, uint8_t flags,
                                 std::string_view body) {
  absl::Status status;
  switch (type) {
    case MessageType::kEqual: {
      const bool of_all = stage_ != Stage::kBatchSent && summaries_.of_all();
      if (stage_ == Stage::kHelloSent) {
        parts_.context.report->elements_compared += total().count;
      }
      status = summaries_.ReceiveEqual(body, of_all);
      if (!of_all) batches_.Close();
      stage_ = of_all ? Stage::kOver : Stage::kChoosing;
      return status;
    }
    case MessageType::kAbandon:
      batches_.Abandon();
      stage_ = Stage::kChoosing;
      return status;
    case MessageType::kDiffers:
      return ReceiveDiffers(body, flags);
    case MessageType::kLocate:
      return flags == kFlagFiner ? ReceiveFinerLocate(body)
                                 : ReceiveLocate(body, flags);
    case MessageType::kLeafBatch:
      return ReceiveProposal(body, flags);
    case MessageType::kSummary:
      status = summaries_.Receive(body, flags);
      if (stage_ == Stage::kSearching) {
        parts_.locator.Stop();
        parts_.Coarsen(/*all_found=*/false);
      }
      stage_ = rounds() ? Stage::kRoundReceived : Stage::kTotalReceived;
      return status;
    case MessageType::kPass:
      return status;
    default:
      break;
  }
  if (stage_ == Stage::kPureLeavesRefused || stage_ == Stage::kSearchRefused) {
    return status;
  }
  if (stage_ == Stage::kPureLeavesBegun) stage_ = Stage::kRound;
  if (rounds()) return rounds()->Receive(type, body);
  if (second_look_) return second_look_->Receive(type, body);
  status = parts_.exchanges.Receive(body);
  if (status.ok() && parts_.locator.TakeLeaves()) stage_ = Stage::kChoosing;
  return status;
}

absl::Status Comparison::ReceiveDiffers(std::string_view body, uint8_t flags) {
  absl::Status status;
  if (stage_ == Stage::kRound) {
    status = batches_.ReceiveDiffersAgain(body);
  } else if (stage_ == Stage::kPureLeavesSent) {
    status = whole_set_.ReceiveDiffers(body, flags);
  } else {
    if (stage_ == Stage::kHelloSent) batches_.TakeAllLeaves();
    status = batches_.ReceiveDiffers(body);
  }
  stage_ = Stage::kRound;
  return status;
}

absl::Status Comparison::ReceiveLocate(std::string_view body, uint8_t flags) {
  bool everything = false;
  absl::Status status;
  if (stage_ == Stage::kRound) status = whole_set_.ReceiveEnd();
  if (!status.ok()) return status;
  status = parts_.locator.Receive(
      body, flags, /*first=*/stage_ == Stage::kHelloSent, &everything);
  if (!status.ok()) return status;
  if (whole_set_.rounds()) whole_set_.Close();
  parts_.locator.Answer(everything);
  if (everything || parts_.locator.TakeLeaves()) {
    stage_ = Stage::kChoosing;
  } else {
    stage_ = parts_.locator.searching() ? Stage::kSearching : Stage::kLocating;
  }
  return absl::OkStatus();
}

absl::Status Comparison::ReceiveFinerLocate(std::string_view body) {
  int bits = 0;
  parts_.locator.Stop();
  absl::Status status = parts_.locator.ReceiveFiner(body, &bits);
  if (!status.ok()) return status;
  if (parts_.locator.TooFine(bits)) {
    // All leaves count as different, and are worked off in batches.
    parts_.locator.SkipFiner();
    parts_.location.FoundLeaves(parts_.location.AllLeaves(), {});
    stage_ = Stage::kSearchRefused;
    return absl::OkStatus();
  }
  status = parts_.Refine(bits);
  if (!status.ok()) return status;
  parts_.locator.AnswerFiner();
  stage_ = Stage::kSearching;
  return absl::OkStatus();
}

absl::Status Comparison::ReceiveProposal(std::string_view body, uint8_t flags) {
  if ((flags & kFlagPureLeaves) != 0) {
    parts_.locator.Stop();
    const absl::Status status = whole_set_.ReceiveProposal(body);
    stage_ = whole_set_.rounds()            ? Stage::kRound
             : whole_set_.exchange_begins() ? Stage::kPureLeavesRefused
                                            : Stage::kPureLeavesReceived;
    return status;
  }
  if (stage_ == Stage::kPureLeavesSent || stage_ == Stage::kPureLeavesBegun) {
    whole_set_.Drop();
  }
  const bool finer = parts_.location.finer();
  if (finer) {
    if (stage_ == Stage::kSearching) parts_.locator.Stop();
    parts_.Coarsen(/*all_found=*/true);
  }
  const absl::Status status =
      batches_.ReceiveProposal(body, /*narrower=*/stage_ == Stage::kBatchSent);
  if (!status.ok()) return status;
  if (stage_ == Stage::kSearching && !finer) {
    parts_.locator.Stop(batches_.leaves());
  }
  stage_ = Stage::kBatchReceived;
  return status;
}

absl::Status Comparison::EndTurn(MessageType last, bool idle) {
  if (idle && work() == nullptr) {
    return Malformed(last, "idle, but nothing is shipped");
  }
  if (Awaits(stage_)) return Malformed(last, "no answer");
  if (second_look_) return second_look_->EndTurn(idle);
  if (!rounds()) return absl::OkStatus();
  const absl::Status status = rounds()->EndTurn(idle);
  if (!status.ok() || stage_ != Stage::kRoundReceived) return status;
  if (!work()->may_end()) {
    return Malformed(MessageType::kSummary, "before all was sent");
  }
  rounds()->EndRound();
  return absl::OkStatus();
}

// --- This side's turn -------------------------------------------------------

absl::Status Comparison::Build(Turn* turn) {
  if (parts_.verify.enough) return End(EndReason::kEnough);
  if (second_look_) return BuildSecondLook(turn);
  if (stage_ == Stage::kSearchRefused) stage_ = Stage::kChoosing;
  if (answering() || stage_ == Stage::kPureLeavesRefused) {
    const absl::Status status = Answer(turn);
    if (!status.ok() || over()) return status;
  }
  const auto locating = [this] {
    return stage_ == Stage::kLocating || stage_ == Stage::kSearching;
  };
  if (stage_ == Stage::kRound || stage_ == Stage::kPureLeavesBegun) {
    const absl::Status status = BuildRound(turn);
    if (!status.ok() || !locating()) return status;
  }
  if (locating()) {
    parts_.exchanges.Build(turn);
    if (parts_.locator.TakeLeaves()) stage_ = Stage::kChoosing;
  }
  if (stage_ == Stage::kChoosing) {
    const absl::Status status = Choose(turn);
    if (!status.ok() || !whole_set_.rounds()) return status;
    return BuildRound(turn);
  }
  return absl::OkStatus();
}

absl::Status Comparison::Answer(Turn* turn) {
  if (stage_ == Stage::kHelloReceived) return AnswerHello(turn);
  if (stage_ == Stage::kTotalReceived) return AnswerTotal(turn);
  if (stage_ == Stage::kRoundReceived) return AnswerRound(turn);
  return AnswerProposal(turn);
}

absl::Status Comparison::AnswerHello(Turn* turn) {
  const uint64_t mine = total().count;
  const uint64_t theirs = summaries_.peer().count;
  if (total() == summaries_.peer()) {
    parts_.context.report->elements_compared += mine;
    return SendEqual(turn);
  }
  if (peer_batches_ || mine / kMaxPeerBatchRatio > peer_batch_elements_ ||
      parts_.TooLarge(theirs) || parts_.TooLarge(mine) ||
      parts_.locator.SearchPays()) {
    return Locate(0, turn);
  }
  batches_.TakeAllLeaves();
  stage_ = Stage::kRound;
  return batches_.Differ(theirs, turn);
}

absl::Status Comparison::AnswerTotal(Turn* turn) {
  if (total() == summaries_.peer() && !batches_.abandoned()) {
    return SendEqual(turn);
  }
  if (batches_.any_left()) {
    stage_ = Stage::kChoosing;  // this side knows of more leaves
    return absl::OkStatus();
  }
  if (batches_.abandoned()) return End(EndReason::kRefused);
  return LocateAgain(turn);
}

absl::Status Comparison::AnswerProposal(Turn* turn) {
  if (stage_ == Stage::kPureLeavesReceived ||
      stage_ == Stage::kPureLeavesRefused) {
    if (stage_ == Stage::kPureLeavesReceived && !whole_set_.TooLarge()) {
      stage_ = Stage::kRound;
      return whole_set_.Differ(turn);
    }
    whole_set_.Refuse();
    stage_ = Stage::kBatchSent;
    if (parts_.location.finer()) {
      parts_.Coarsen(/*all_found=*/true);
      batches_.ProposeNext(turn);
    } else {
      batches_.Propose(whole_set_.TakeFewer(), {}, turn);
    }
    return absl::OkStatus();
  }
  switch (batches_.Decide()) {
    case Batches::Answer::kEqual:
      turn->Add(MessageType::kEqual, "");
      batches_.Close();
      stage_ = Stage::kChoosing;
      break;
    case Batches::Answer::kFewer:
      batches_.ProposeFewer(turn);
      stage_ = Stage::kBatchSent;
      break;
    case Batches::Answer::kDiffers:
      stage_ = Stage::kRound;
      return batches_.Differ(batches_.peer_count(), turn);
  }
  return absl::OkStatus();
}

absl::Status Comparison::AnswerRound(Turn* turn) {
  const Rounds::Answer answer =
      rounds()->Decide(summaries_.peer(), summaries_.peer_refuses());
  if (answer == Rounds::Answer::kEqual && summaries_.of_all()) {
    return SendEqual(turn);
  }
  if (whole_set_.rounds()) return LocateAgain(turn);
  switch (answer) {
    case Rounds::Answer::kEqual:
      turn->Add(MessageType::kEqual, "");
      batches_.Close();
      break;
    case Rounds::Answer::kRefused:
      if (batches_.only()) return End(EndReason::kRefused);
      turn->Add(MessageType::kAbandon, "");
      batches_.Abandon();
      break;
    case Rounds::Answer::kGaveUp:
      return End(EndReason::kGaveUp);
    case Rounds::Answer::kExpired:
      return End(EndReason::kExpired);
    case Rounds::Answer::kDiffers:
      stage_ = Stage::kRound;
      return batches_.Differ(summaries_.peer().count, turn);
  }
  stage_ = Stage::kChoosing;
  return absl::OkStatus();
}

absl::Status Comparison::LocateAgain(Turn* turn) {
  double expected = 0;
  if (whole_set_.rounds()) {
    expected = whole_set_.leaves_left();
    whole_set_.Close();
  }
  if (parts_.snapshot.Expired()) return End(EndReason::kExpired);
  if (!parts_.locator.may_locate()) return End(EndReason::kGaveUp);
  return Locate(expected, turn);
}

absl::Status Comparison::Locate(double expected, Turn* turn) {
  const bool first = stage_ == Stage::kHelloReceived;
  if (parts_.locator.Locate(first, expected, turn)) {
    stage_ = total().count == 0 ? Stage::kTotalSent : Stage::kChoosing;
  } else if (parts_.locator.TakeLeaves()) {
    stage_ = Stage::kChoosing;  // an exchange that has begun may be done
  } else {
    stage_ = parts_.locator.searching() ? Stage::kSearching : Stage::kLocating;
  }
  return absl::OkStatus();
}

absl::Status Comparison::Choose(Turn* turn) {
  // A session does not expire before one batch is done; otherwise sessions that
  // take long to find out where they differ would expire one after the other.
  if (parts_.snapshot.Expired() && parts_.context.report->batches > 0) {
    return End(EndReason::kExpired);
  }
  const std::vector<LeafDifference> differences =
      parts_.locator.TakeDifferences();
  if (!differences.empty() && whole_set_.may_propose()) {
    bool proposed = false;
    const absl::Status status =
        whole_set_.Propose(differences, &proposed, turn);
    if (!status.ok()) return status;
    if (proposed) {
      stage_ = !rounds()                ? Stage::kPureLeavesSent
               : rounds()->exchanging() ? Stage::kPureLeavesBegun
                                        : Stage::kRound;
      return status;
    }
  }
  if (parts_.location.finer()) {
    parts_.Coarsen(/*all_found=*/true);
  } else {
    bool finer = false;
    const absl::Status status = LocateFiner(turn, &finer);
    if (!status.ok() || finer) return status;
  }
  if (!batches_.ProposeNext(turn)) return Summarise(turn);
  stage_ = Stage::kBatchSent;
  return absl::OkStatus();
}

absl::Status Comparison::LocateFiner(Turn* turn, bool* finer) {
  double expected = 0;
  const int bits = parts_.locator.FinerBits(&expected);
  if (bits == 0) return absl::OkStatus();
  const absl::Status status = parts_.Refine(bits);
  if (!status.ok()) return status;
  parts_.locator.LocateFiner(expected, turn);
  parts_.exchanges.Build(turn);
  stage_ = Stage::kSearching;
  *finer = true;
  return absl::OkStatus();
}

absl::Status Comparison::BuildRound(Turn* turn) {
  const absl::Status status = rounds()->Build(turn);
  if (!status.ok() || !rounds()->complete()) return status;
  rounds()->EndRound();
  if (whole_set_.rounds() && whole_set_.surely_left()) {
    return LocateAgain(turn);
  }
  if (rounds()->surely_left()) {
    const absl::Status began = rounds()->DifferAgain(turn);
    return began.ok() ? rounds()->Build(turn) : began;
  }
  return Summarise(turn);
}

absl::Status Comparison::BuildSecondLook(Turn* turn) {
  if (parts_.snapshot.Expired()) return End(EndReason::kExpired);
  const absl::Status status = second_look_->Build(turn);
  if (!status.ok() || !second_look_->complete() ||
      parts_.verify.task == nullptr) {
    return status;
  }
  parts_.context.report->compared = true;
  return End(EndReason::kEnough);
}

absl::Status Comparison::Summarise(Turn* turn) {
  const absl::Status status = summaries_.Say(turn);
  stage_ = rounds() ? Stage::kRoundSent : Stage::kTotalSent;
  return status;
}

absl::Status Comparison::SendEqual(Turn* turn) {
  stage_ = Stage::kOver;
  return summaries_.SendEqual(turn);
}

absl::Status Comparison::End(EndReason reason) {
  end_ = reason;
  stage_ = Stage::kOver;
  return absl::OkStatus();
}

}  // namespace rocksync
