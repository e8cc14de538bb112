// Arrays of millions of numbers. Where the kernel offers large pages on
// request, as Linux does, they are asked for: a page of 4 KiB takes longer to
// get than to fill.

#ifndef ROCKSYNC_SKETCH_ELEMENT_LARGE_ARRAY_H_
#define ROCKSYNC_SKETCH_ELEMENT_LARGE_ARRAY_H_

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace rocksync {

// Memory of `bytes` bytes, not initialised; throws std::bad_alloc. From 1 MiB
// on it begins at a multiple of 2 MiB.
void* AllocateLarge(size_t bytes);
void FreeLarge(void* memory, size_t bytes);

template <typename T>
struct LargePageAllocator {
  using value_type = T;
  LargePageAllocator() = default;
  template <typename U>
  explicit LargePageAllocator(const LargePageAllocator<U>&) {}

  T* allocate(size_t n) {
    if (n > static_cast<size_t>(-1) / sizeof(T)) throw std::bad_alloc();
    return static_cast<T*>(AllocateLarge(n * sizeof(T)));
  }
  void deallocate(T* p, size_t n) { FreeLarge(p, n * sizeof(T)); }
  // resize() leaves numbers uninitialised.
  template <typename U>
  void construct(U* p) {
    ::new (static_cast<void*>(p)) U;
  }
  template <typename U, typename... Arguments>
  void construct(U* p, Arguments&&... arguments) {
    ::new (static_cast<void*>(p)) U(static_cast<Arguments&&>(arguments)...);
  }
  template <typename U>
  bool operator==(const LargePageAllocator<U>&) const {
    return true;
  }
};

// A vector whose new elements are not initialised unless a value is given.
template <typename T>
using LargeArray = std::vector<T, LargePageAllocator<T>>;

}  // namespace rocksync

#endif  // ROCKSYNC_SKETCH_ELEMENT_LARGE_ARRAY_H_
