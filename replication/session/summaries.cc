#include "replication/session/summaries.h"

#include <string>

#include "replication/session/messages.h"
#include "replication/session/session.h"

namespace rocksync {

Digest Summaries::Held() const {
  return rounds() ? rounds()->merged() + batches_->Beside()
                  : parts_->location.total();
}

absl::Status Summaries::Say(Turn* turn) {
  const absl::Status status = parts_->snapshot.SyncReceived();
  if (!status.ok()) return status;
  Summary summary;
  summary.digest = Held();
  if (of_all()) summary.left_out = parts_->context.report->left_out;
  uint8_t flags = rounds() ? 0 : kFlagTotal;
  if (rounds() && rounds()->refused()) flags |= kFlagRefused;
  std::string body;
  EncodeSummary(summary, &body);
  turn->Add(MessageType::kSummary, body, flags);
  return absl::OkStatus();
}

absl::Status Summaries::Receive(std::string_view body, uint8_t flags) {
  Summary summary;
  const absl::Status status = DecodeSummary(body, &summary);
  if (!status.ok()) return status;
  if (!of_all() && summary.left_out > 0) {
    return Malformed(MessageType::kSummary, "pairs left out of a batch");
  }
  peer_ = summary.digest - batches_->Beside();
  peer_refuses_ = (flags & kFlagRefused) != 0;
  parts_->context.report->peer_left_out = summary.left_out;
  return absl::OkStatus();
}

absl::Status Summaries::SendEqual(Turn* turn) {
  std::string body;
  EncodeLeftOut(parts_->context.report->left_out, &body);
  turn->Add(MessageType::kEqual, body);
  return Prove();
}

absl::Status Summaries::ReceiveEqual(std::string_view body, bool of_all) {
  if (!of_all && !body.empty()) {
    return Malformed(MessageType::kEqual, "too long");
  }
  const absl::Status status = DecodeLeftOut(
      MessageType::kEqual, body, &parts_->context.report->peer_left_out);
  return status.ok() && of_all ? Prove() : status;
}

absl::Status Summaries::Prove() {
  SessionReport& report = *parts_->context.report;
  if (report.verifying) {
    report.compared = true;
    return absl::OkStatus();
  }
  const absl::Status status = parts_->snapshot.SyncReceived();
  if (!status.ok()) return status;
  report.digests_equal = true;
  report.proven_equal = report.left_out == 0 && report.peer_left_out == 0;
  report.merged = Held();
  return absl::OkStatus();
}

}  // namespace rocksync
