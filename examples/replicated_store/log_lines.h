// What the store logs: one line an entry, whatever a client or a peer put into
// its text.

#ifndef EXAMPLES_REPLICATED_STORE_LOG_LINES_H_
#define EXAMPLES_REPLICATED_STORE_LOG_LINES_H_

#include <memory>

#include "spdlog/formatter.h"

namespace rocksync {

// spdlog's own pattern, with control characters of the text written as \xNN.
std::unique_ptr<spdlog::formatter> NewLogFormatter();

}  // namespace rocksync

#endif  // EXAMPLES_REPLICATED_STORE_LOG_LINES_H_
