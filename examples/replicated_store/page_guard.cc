#include "examples/replicated_store/page_guard.h"

#include <algorithm>
#include <cctype>

namespace rocksync {
namespace {

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

PageGuard::PageGuard(uint16_t port, const std::vector<std::string>& names) {
  std::vector<std::string> all = {"localhost", "127.0.0.1", "[::1]"};
  all.insert(all.end(), names.begin(), names.end());
  for (std::string& name : all) {
    name = Lower(name);
    hosts_.push_back(name + ":" + std::to_string(port));
    if (port == 80) hosts_.push_back(name);
  }
}

std::string PageGuard::Refusal(const std::string& host,
                               const std::string& origin) const {
  const std::string asked = Lower(host);
  if (std::find(hosts_.begin(), hosts_.end(), asked) == hosts_.end()) {
    return "This page does not answer to that host name; --http-name adds one.";
  }
  if (!origin.empty() && Lower(origin) != "http://" + asked) {
    return "This page is not for pages of other origins.";
  }
  return "";
}

}  // namespace rocksync
