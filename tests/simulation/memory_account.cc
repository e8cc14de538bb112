#include "tests/simulation/memory_account.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace rocksync {
MemoryAccount::MemoryAccount() : ledger_(new MemoryLedger) {}
}  // namespace rocksync

namespace {

using rocksync::charged_ledger;
using rocksync::MemoryLedger;

// In front of every allocation.
struct Head {
  MemoryLedger* ledger;
  size_t size;
};
constexpr size_t kLeastAlignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
static_assert(sizeof(Head) <= kLeastAlignment);

void* Allocate(size_t size, size_t alignment) {
  const size_t room = std::max(alignment, kLeastAlignment);
  const size_t whole = (size + room + room - 1) / room * room;
  void* const memory = std::aligned_alloc(room, whole);
  if (memory == nullptr) throw std::bad_alloc();
  char* const begin = static_cast<char*>(memory) + room;
  ::new (static_cast<void*>(begin - sizeof(Head))) Head{charged_ledger, size};
  if (charged_ledger != nullptr) {
    MemoryLedger& ledger = *charged_ledger;
    ++ledger.allocations;
    ledger.held += size;
    ledger.peak = std::max(ledger.peak, ledger.held);
  }
  return begin;
}

void Free(void* begin, size_t alignment) {
  if (begin == nullptr) return;
  const Head head =
      *reinterpret_cast<Head*>(static_cast<char*>(begin) - sizeof(Head));
  std::free(static_cast<char*>(begin) - std::max(alignment, kLeastAlignment));
  if (head.ledger == nullptr) return;
  head.ledger->held -= head.size;
  if (--head.ledger->allocations == 0 && head.ledger->closed) {
    delete head.ledger;
  }
}

constexpr size_t kPlain = kLeastAlignment;

size_t Number(std::align_val_t alignment) {
  return static_cast<size_t>(alignment);
}

}  // namespace

void* operator new(size_t size) { return Allocate(size, kPlain); }
void* operator new[](size_t size) { return Allocate(size, kPlain); }
void* operator new(size_t size, std::align_val_t alignment) {
  return Allocate(size, Number(alignment));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return Allocate(size, Number(alignment));
}
void operator delete(void* memory) noexcept { Free(memory, kPlain); }
void operator delete[](void* memory) noexcept { Free(memory, kPlain); }
void operator delete(void* memory, size_t) noexcept { Free(memory, kPlain); }
void operator delete[](void* memory, size_t) noexcept { Free(memory, kPlain); }
void operator delete(void* memory, std::align_val_t alignment) noexcept {
  Free(memory, Number(alignment));
}
void operator delete[](void* memory, std::align_val_t alignment) noexcept {
  Free(memory, Number(alignment));
}
void operator delete(void* memory, size_t,
                     std::align_val_t alignment) noexcept {
  Free(memory, Number(alignment));
}
void operator delete[](void* memory, size_t,
                       std::align_val_t alignment) noexcept {
  Free(memory, Number(alignment));
}
