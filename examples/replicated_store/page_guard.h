// Who may read the status page, by what a browser says of a request. The page
// has no password and listens on loopback, but so does every page that a
// browser on the machine shows: these tell it apart.

#ifndef EXAMPLES_REPLICATED_STORE_PAGE_GUARD_H_
#define EXAMPLES_REPLICATED_STORE_PAGE_GUARD_H_

#include <cstdint>
#include <string>
#include <vector>

namespace rocksync {

class PageGuard {
 public:
  // Answers to "localhost", 127.0.0.1, [::1] and `names`, with this port.
  PageGuard(uint16_t port, const std::vector<std::string>& names);

  // Empty if the request may be answered, else why not. `host` and `origin`:
  // the headers, empty if there is none. A name that an attacker's DNS server
  // points here is in `host`, and the page of another site in `origin`.
  std::string Refusal(const std::string& host, const std::string& origin) const;

 private:
  std::vector<std::string> hosts_;  // in lower case, with and without the port
};

}  // namespace rocksync

#endif  // EXAMPLES_REPLICATED_STORE_PAGE_GUARD_H_
