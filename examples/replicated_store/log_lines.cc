#include "examples/replicated_store/log_lines.h"

#include <string>

#include "spdlog/pattern_formatter.h"

namespace rocksync {
namespace {

class EscapedText : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& line) override {
    static constexpr char kHex[] = "0123456789abcdef";
    for (const char c : message.payload) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte >= 0x20 && byte != 0x7f) {
        line.push_back(c);
        continue;
      }
      for (const char escape : {'\\', 'x', kHex[byte >> 4], kHex[byte & 0xf]}) {
        line.push_back(escape);
      }
    }
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<EscapedText>();
  }
};

}  // namespace

std::unique_ptr<spdlog::formatter> NewLogFormatter() {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<EscapedText>('*').set_pattern(
      "[%Y-%m-%d %H:%M:%S.%e] [%^%l%$] %*");
  return formatter;
}

}  // namespace rocksync
