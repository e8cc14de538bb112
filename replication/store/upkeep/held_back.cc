#include "replication/store/upkeep/held_back.h"

#include "replication/base/hex.h"
#include "replication/session/acceptance.h"
#include "rocksdb/env.h"

namespace rocksync {
namespace {

constexpr uint64_t kBetweenLinesMs = 60'000;

}  // namespace

bool HeldBack::Pause::Over(uint64_t now_ms) {
  uint64_t until_ms = until_ms_;
  return now_ms >= until_ms &&
         until_ms_.compare_exchange_strong(until_ms, now_ms + kBetweenLinesMs);
}

bool HeldBack::RejectIfTooFarAhead(const Version& version) {
  if (!TooFarAhead(version, indexed_->WallMs(),
                   indexed_->options().max_clock_ahead_ms)) {
    return false;
  }
  Name(version);
  Count(1);
  return true;
}

void HeldBack::Name(const Version& version) {
  const uint64_t now_ms = indexed_->WallMs();
  named_ms_ = now_ms;
  replica_ = version.replica;
  if (!names_.Over(now_ms)) return;
  rocksdb::Warn(
      indexed_->db()->GetDBOptions().info_log,
      "rocksync: holding back a pair of replica %016llx, whose clock "
      "is %llu s ahead of this machine's; correct that clock and run "
      "`rocksync restamp` there",
      static_cast<unsigned long long>(version.replica),
      static_cast<unsigned long long>((WallMs(version) - now_ms) / 1000));
}

bool HeldBack::NamedLately() const {
  return indexed_->WallMs() < named_ms_ + kBetweenLinesMs;
}

void HeldBack::NoteOversized(const std::string& family, std::string_view key) {
  ++pairs_too_large_;
  if (!oversized_names_.Over(indexed_->WallMs())) return;
  constexpr size_t kShown = 32;
  rocksdb::Warn(
      indexed_->db()->GetDBOptions().info_log,
      "rocksync: a pair in family %s does not travel, since key or value is "
      "above max_key_bytes or max_value_bytes; its key, of %llu bytes, begins "
      "with %s; enlarge the limits on all replicas, or delete it",
      family.c_str(), static_cast<unsigned long long>(key.size()),
      HexOf(key.substr(0, kShown)).c_str());
}

}  // namespace rocksync
