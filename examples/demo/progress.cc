#include "examples/demo/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace rocksync {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr int kBarWidth = 24;
constexpr milliseconds kRedraw{100};
constexpr seconds kNewLine{2};

bool IsTerminal(std::FILE* out) {
  const char* kind = std::getenv("TERM");
  return ::isatty(::fileno(out)) != 0 && kind != nullptr &&
         std::string(kind) != "dumb";
}

// A redrawn line must not wrap.
size_t Width(std::FILE* out) {
  winsize size{};
  const bool known =
      ::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 20;
  return known ? size.ws_col - 1u : 79u;
}

std::string Bar(double fraction) {
  const int full = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * kBarWidth);
  return "[" + std::string(full, '#') + std::string(kBarWidth - full, '.') +
         "] ";
}

std::string Percent(double fraction) {
  char text[8];
  std::snprintf(text, sizeof text, "%3.0f %% ",
                std::clamp(fraction, 0.0, 1.0) * 100);
  return text;
}

}  // namespace

Progress::Progress(std::FILE* out) : out_(out), terminal_(IsTerminal(out)) {}

double Progress::SecondsSinceBegin() const {
  return duration<double>(steady_clock::now() - begun_).count();
}

void Progress::Begin(const std::string& phase) {
  phase_ = phase;
  begun_ = steady_clock::now();
  shown_ = begun_;
  if (terminal_) {
    std::fprintf(out_, "%s ...", phase_.c_str());
  } else {
    std::fprintf(out_, "%s ...\n", phase_.c_str());
  }
  std::fflush(out_);
}

void Progress::Update(double fraction, const std::string& detail) {
  const auto now = steady_clock::now();
  if (now - shown_ < (terminal_ ? milliseconds(kRedraw) : kNewLine)) return;
  shown_ = now;
  std::string line = phase_ + " ";
  if (fraction >= 0) {
    if (terminal_) line += Bar(fraction);
    line += Percent(fraction);
  }
  line += detail;
  if (terminal_) {
    line.resize(std::min(line.size(), Width(out_)));
    std::fprintf(out_, "\r\x1b[K%s", line.c_str());
  } else {
    std::fprintf(out_, "%s\n", line.c_str());
  }
  std::fflush(out_);
}

void Progress::End(const std::string& detail) {
  std::fprintf(out_, "%s%s: %s (%.1f s)\n", terminal_ ? "\r\x1b[K" : "",
               phase_.c_str(), detail.c_str(), SecondsSinceBegin());
  std::fflush(out_);
}

std::string Grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, " ");
  }
  return text;
}

std::string Bytes(uint64_t bytes) {
  const char* units[] = {"B", "kB", "MB", "GB", "TB"};
  double size = static_cast<double>(bytes);
  size_t unit = 0;
  for (; size >= 1000 && unit < 4; ++unit) size /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", size,
                units[unit]);
  return text;
}

}  // namespace rocksync
