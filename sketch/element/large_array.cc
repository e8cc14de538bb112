#include "sketch/element/large_array.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace rocksync {
namespace {

constexpr size_t kLarge = size_t{1} << 20;
constexpr std::align_val_t kLargePage{size_t{1} << 21};

}  // namespace

void* AllocateLarge(size_t bytes) {
  if (bytes < kLarge) return ::operator new(bytes);
  void* const memory = ::operator new(bytes, kLargePage);
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  // It is only a wish: what does not get large pages works all the same.
  (void)::madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  return memory;
}

void FreeLarge(void* memory, size_t bytes) {
  if (bytes < kLarge) {
    ::operator delete(memory);
  } else {
    ::operator delete(memory, kLargePage);
  }
}

}  // namespace rocksync
