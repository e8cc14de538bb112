#include "replication/session/incoming_values.h"

#include <utility>

#include "sketch/element/coding.h"

namespace rocksync {

absl::Status IncomingValues::ReceiveChunk(std::string_view body) {
  if (body.size() < kLeastChunkBytes) {
    return Malformed(MessageType::kChunk, "of fewer than 64 KiB");
  }
  came_ = true;
  chunk_bytes_ += body.size();
  context_.report->value_bytes += body.size();
  if (chunk_bytes_ <= options_->max_value_bytes) {
    chunks_.append(body);
  } else {
    std::string().swap(chunks_);  // too large here: only its size is kept
  }
  return absl::OkStatus();
}

absl::Status IncomingValues::ReceiveValues(std::string_view body) {
  if (body.empty()) return Malformed(MessageType::kValues, "empty");
  came_ = true;
  while (!body.empty()) {
    uint64_t size = 0;
    std::string_view rest;
    if (awaited_.empty()) {
      return Malformed(MessageType::kValues, "a value nobody asked for");
    }
    if (!GetVarint64(&body, &size)) {
      return Malformed(MessageType::kValues, "truncated size");
    }
    if (size == 0) {  // the peer cannot read it any more
      if (chunk_bytes_ > 0) {
        return Malformed(MessageType::kValues, "chunks of no value");
      }
      pairs_->Refuse();
      PopAwaited();
      continue;
    }
    if (size - 1 > body.size() ||
        !GetBytes(&body, static_cast<size_t>(size - 1), &rest)) {
      return Malformed(MessageType::kValues, "truncated value");
    }
    const absl::Status status = ReceiveValue(rest);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status IncomingValues::ReceiveValue(std::string_view rest) {
  context_.report->value_bytes += rest.size();
  Awaited& awaited = awaited_.front();
  if (chunk_bytes_ + rest.size() != awaited.value_size) {
    return Malformed(MessageType::kValues, "not the size that was offered");
  }
  awaited.pair.value = TakeChunks();
  awaited.pair.value.append(rest);
  const absl::Status status =
      pairs_->Take(std::move(awaited.pair), awaited.own);
  PopAwaited();
  return status;
}

absl::Status IncomingValues::Complete(WirePair* pair, std::string* value) {
  if (pair->kind == WirePair::Kind::kTombstone && chunk_bytes_ > 0) {
    return Malformed(MessageType::kPairs, "chunks of no value");
  }
  context_.report->value_bytes += pair->value.size();
  pair->value_size += chunk_bytes_;
  *value = TakeChunks();
  value->append(pair->value);
  pair->value = *value;
  return absl::OkStatus();
}

absl::Status IncomingValues::EndTurn() {
  // Without this check, a session in which one side sends nothing would go on
  // without end.
  if (earlier_to_come() && !came_) {
    return Malformed(MessageType::kValues,
                     "missing: none of those wanted came");
  }
  came_ = false;
  awaited_before_turn_ = awaited_.size();
  return absl::OkStatus();
}

void IncomingValues::PopAwaited() {
  awaited_.pop_front();
  awaited_before_turn_ -= awaited_before_turn_ > 0 ? 1 : 0;
}

std::string IncomingValues::TakeChunks() {
  chunk_bytes_ = 0;
  return std::exchange(chunks_, {});
}

}  // namespace rocksync
