// What a session holds, counted allocation by allocation. Programs that link
// memory_account.cc have their global allocation functions replaced.
//
// For one thread: what is charged is freed by the thread that charged it.

#ifndef ROCKSYNC_TESTS_SIMULATION_MEMORY_ACCOUNT_H_
#define ROCKSYNC_TESTS_SIMULATION_MEMORY_ACCOUNT_H_

#include <cstddef>

namespace rocksync {

// Outlives its account until the last allocation charged to it is freed.
struct MemoryLedger {
  size_t held = 0;  // bytes asked for and not freed
  size_t peak = 0;
  size_t allocations = 0;
  bool closed = false;
};
// Whom allocations of this thread are charged to; null: nobody.
inline thread_local MemoryLedger* charged_ledger = nullptr;

class MemoryAccount {
 public:
  // Defined with the allocation functions, so that whoever counts links these:
  // ASan's runtime has some already, and the linker would leave ours in the
  // library.
  MemoryAccount();
  ~MemoryAccount() {
    ledger_->closed = true;
    if (ledger_->allocations == 0) delete ledger_;
  }
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  size_t held() const { return ledger_->held; }
  size_t peak() const { return ledger_->peak; }

 private:
  friend class Charging;
  MemoryLedger* const ledger_;
};

// While it lives, allocations of this thread are charged to an account, or to
// nobody.
class Charging {
 public:
  explicit Charging(const MemoryAccount* account) : before_(charged_ledger) {
    charged_ledger = account == nullptr ? nullptr : account->ledger_;
  }
  ~Charging() { charged_ledger = before_; }
  Charging(const Charging&) = delete;
  Charging& operator=(const Charging&) = delete;

 private:
  MemoryLedger* const before_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SIMULATION_MEMORY_ACCOUNT_H_
