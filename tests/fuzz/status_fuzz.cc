// What `rocksync status` prints of whatever a replica answers.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "tools/status.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const bool as_json : {false, true}) {
    std::ostringstream out;
    const rocksdb::Status status = rocksync::PrintStatus(text, as_json, out);
    const std::string said = out.str();
    // A terminal obeys control characters.
    const bool printable = std::all_of(said.begin(), said.end(), [](char c) {
      return c == '\n' || (c >= ' ' && c <= '~');
    });
    if (!printable || (!status.ok() && !said.empty())) std::abort();
  }
  return 0;
}
