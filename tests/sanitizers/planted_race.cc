// Two threads and some bytes, without a lock: what ThreadSanitizer is there
// for. `copy`: through memcpy, which it sees only by intercepting the call.

#include <cstddef>
#include <cstring>
#include <string_view>
#include <thread>

namespace {

char shared[64];
char source[64];

void Touch(bool copy, size_t size) {
  for (size_t i = 0; i < 10000; ++i) {
    if (copy) {
      std::memcpy(shared, source, size + i % 2);
    } else {
      ++shared[i % size];
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool copy = argc > 1 && std::string_view(argv[1]) == "copy";
  const size_t size = 20 + static_cast<size_t>(argc);
  std::thread other(Touch, copy, size + 1);
  Touch(copy, size);
  other.join();
  return shared[3];
}
