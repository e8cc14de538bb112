// Who may read a page that has no password, by what a browser says of a
// request. It listens on loopback, but whatever page a browser on the machine
// shows can reach it there: these tell the two apart.

#ifndef ROCKSYNC_TOOLS_HTTP_PAGE_GUARD_H_
#define ROCKSYNC_TOOLS_HTTP_PAGE_GUARD_H_

#include <string>
#include <vector>

namespace rocksync {

class PageGuard {
 public:
  // Answers to "localhost", 127.0.0.1, [::1] and `names`, in any case and with
  // or without a dot at their end, whatever the port: it is another one behind
  // a tunnel (`ssh -L`). `remedy`: what else to do, for
  // who is refused; may be empty.
  explicit PageGuard(const std::vector<std::string>& names,
                     std::string remedy = "");

  // Answers to every host name, for a port that others than browsers on this
  // machine reach, by names that nobody told.
  static PageGuard OfAnyHost();

  // Empty if the request may be answered, else why not. `host` and `origin`:
  // the headers, empty if there is none. A name that an attacker's DNS server
  // points here is in `host`, and the page of another site in `origin`.
  std::string Refusal(const std::string& host, const std::string& origin) const;

 private:
  std::string remedy_;
  bool any_host_ = false;
  std::vector<std::string> names_;  // in lower case, without a dot at the end
};

// Whether only programs of this machine reach a port on this address.
bool IsLoopback(const std::string& host);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_HTTP_PAGE_GUARD_H_
