#include "plugin/policy_string.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace rocksync {
namespace {

constexpr char kForms[] =
    "expected rocksync:BITS, rocksync:BITS:uniform or "
    "rocksync:BITS:leveled[:RATIO] with BITS from 1 to 50 and RATIO from 2 to "
    "100, each with three decimals at most, e.g. rocksync:10";

// Formats a number to thousandths, without needless digits.
std::string Format(double value) {
  const auto thousandths = static_cast<int64_t>(std::llround(value * 1000));
  char text[32];
  std::snprintf(text, sizeof(text), "%lld.%03lld",
                static_cast<long long>(thousandths / 1000),
                static_cast<long long>(thousandths % 1000));
  std::string result = text;
  while (result.back() == '0') result.pop_back();
  if (result.back() == '.') result.pop_back();
  return result;
}

// Parses digits with at most one point and up to three digits after it: nothing
// that Format does not write or that depends on the locale.
bool ParseNumber(const std::string& text, double* value) {
  uint64_t thousandths = 0;
  int decimals = -1;  // -1: no point yet
  bool any_digit = false;
  for (const char c : text) {
    if (c == '.' && decimals < 0) {
      decimals = 0;
    } else if (c >= '0' && c <= '9' && decimals < 3 && thousandths < 1000000) {
      thousandths = thousandths * 10 + static_cast<uint64_t>(c - '0');
      any_digit = true;
      if (decimals >= 0) ++decimals;
    } else {
      return false;
    }
  }
  for (int i = std::max(decimals, 0); i < 3; ++i) thousandths *= 10;
  *value = static_cast<double>(thousandths) / 1000;
  return any_digit;
}

std::vector<std::string> SplitAtColons(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ':') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// parts: name, bits, [mode, [ratio]]
bool ParseParts(const std::vector<std::string>& parts,
                FilterPolicyOptions* options) {
  if (parts.size() < 2 || parts.size() > 4 || parts[0] != kPolicyName ||
      !ParseNumber(parts[1], &options->bits_per_key)) {
    return false;
  }
  if (parts.size() == 2) return true;
  if (parts[2] == "uniform") {
    options->level_aware = false;
    return parts.size() == 3;
  }
  return parts[2] == "leveled" &&
         (parts.size() == 3 ||
          ParseNumber(parts[3], &options->level_size_ratio));
}

}  // namespace

std::string PolicyString(const FilterPolicyOptions& options) {
  std::string text =
      std::string(kPolicyName) + ":" + Format(options.bits_per_key);
  if (!options.level_aware) return text + ":uniform";
  if (options.level_size_ratio != FilterPolicyOptions().level_size_ratio) {
    text += ":leveled:" + Format(options.level_size_ratio);
  }
  return text;
}

rocksdb::Status ParsePolicyString(const std::string& text,
                                  FilterPolicyOptions* options) {
  FilterPolicyOptions parsed;
  if (!ParseParts(SplitAtColons(text), &parsed) ||
      !CheckFilterPolicyOptions(parsed).ok()) {
    return rocksdb::Status::InvalidArgument("filter policy \"" + text + "\"",
                                            kForms);
  }
  *options = parsed;
  return rocksdb::Status::OK();
}

}  // namespace rocksync
