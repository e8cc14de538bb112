#include "tools/http/page_guard.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace rocksync {
namespace {

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return text;
}

bool IsDigit(unsigned char c) { return std::isdigit(c) != 0; }

// A dot at a name's end says that it is whole, as names here are.
std::string WithoutDot(std::string name) {
  if (name.ends_with('.')) name.pop_back();
  return name;
}

// Of "name:port" or "name".
std::string NameOf(const std::string& host) {
  const size_t colon = host.rfind(':');
  const bool port = colon != std::string::npos && colon + 1 < host.size() &&
                    std::all_of(host.begin() + colon + 1, host.end(), IsDigit);
  return WithoutDot(port ? host.substr(0, colon) : host);
}

}  // namespace

PageGuard::PageGuard(const std::vector<std::string>& names, std::string remedy)
    : remedy_(std::move(remedy)), names_({"localhost", "127.0.0.1", "[::1]"}) {
  for (const std::string& name : names) {
    // As in a Host header.
    const bool bare_ipv6 =
        name.find(':') != std::string::npos && !name.starts_with('[');
    names_.push_back(Lower(bare_ipv6 ? "[" + name + "]" : WithoutDot(name)));
  }
}

PageGuard PageGuard::OfAnyHost() {
  PageGuard guard({});
  guard.any_host_ = true;
  return guard;
}

std::string PageGuard::Refusal(const std::string& host,
                               const std::string& origin) const {
  const std::string asked = Lower(host);
  if (!any_host_ &&
      std::find(names_.begin(), names_.end(), NameOf(asked)) == names_.end()) {
    return "This page does not answer to that host name" +
           (remedy_.empty() ? "." : "; " + remedy_ + ".");
  }
  if (!origin.empty() && Lower(origin) != "http://" + asked) {
    return "This page is not for pages of other origins.";
  }
  return "";
}

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace rocksync
