// Feeds the files of a directory to a fuzz target, where libFuzzer is not there
// to do it: usage: fuzz_NAME CORPUS_DIRECTORY. A directory that is absent or
// empty is an empty corpus.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <string>

#include "tests/support/file_content.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s CORPUS_DIRECTORY\n", argv[0]);
    return 2;
  }
  LLVMFuzzerTestOneInput(nullptr, 0);
  int count = 0;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(argv[1], error)) {
    const std::string bytes = rocksync::FileContent(entry.path());
    // Not bytes.data() of the string itself: a copy without the terminator
    // lets AddressSanitizer see a read past the end.
    auto* copy = new uint8_t[bytes.size()];
    bytes.copy(reinterpret_cast<char*>(copy), bytes.size());
    LLVMFuzzerTestOneInput(copy, bytes.size());
    delete[] copy;
    ++count;
  }
  std::printf("%d inputs of %s\n", count, argv[1]);
  return 0;
}
