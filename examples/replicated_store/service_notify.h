// Tells the service manager (systemd, Type=notify) how the process is.

#ifndef EXAMPLES_REPLICATED_STORE_SERVICE_NOTIFY_H_
#define EXAMPLES_REPLICATED_STORE_SERVICE_NOTIFY_H_

#include <string>

namespace rocksync {

// Sends `state` ("READY=1", "STOPPING=1"; man sd_notify) to the socket that
// $NOTIFY_SOCKET names, where a name that begins with @ is an abstract one.
// False: there is no such variable, or nobody listens.
bool NotifyService(const std::string& state);

}  // namespace rocksync

#endif  // EXAMPLES_REPLICATED_STORE_SERVICE_NOTIFY_H_
