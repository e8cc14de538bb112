#include "replication/transport/greeting.h"

#include <algorithm>

#include "replication/transport/frame.h"

namespace rocksync {
namespace {

constexpr size_t kMaxTextBytes = 256;
constexpr char kRefused = 1;
constexpr char kBusy = 2;

std::string TextOf(const rocksdb::Status& status) {
  const char* text = status.getState();
  return text != nullptr ? text : status.ToString();
}

// Replaces control characters, and all bytes beyond ASCII: a peer's text goes
// into logs.
std::string Printable(std::string_view text) {
  std::string printable(text);
  std::replace_if(
      printable.begin(), printable.end(),
      [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return printable;
}

}  // namespace

std::string EncodeGreeting(const rocksdb::Status& verdict) {
  std::string body;
  if (!verdict.ok()) {
    body.push_back(verdict.IsBusy() ? kBusy : kRefused);
    body.append(TextOf(verdict), 0, kMaxTextBytes);
  }
  std::string frame;
  AppendFrameHeader(body.size(), &frame);
  return frame + body;
}

rocksdb::Status DecodeGreeting(std::string_view body, const std::string& peer) {
  if (body.empty()) return rocksdb::Status::OK();
  const char code = body.front();
  const std::string text = Printable(body.substr(1));
  if (body.size() <= 1 + kMaxTextBytes) {
    if (code == kBusy) return rocksdb::Status::Busy(peer, text);
    if (code == kRefused) {
      return rocksdb::Status::InvalidArgument(peer + " refused this replica",
                                              text);
    }
  }
  return rocksdb::Status::Corruption(peer + " did not greet as a replica does");
}

}  // namespace rocksync
