// What a child says to its parent: lines on a pipe.
//
//   open                      the database is open
//   begin OPERATION           about to write
//   done ID                   the write returned OK
//   begin-phase N, end-phase N   the activity of the child's phase
//   listen ADDRESS            a replicator listens there
//   session                   a session made progress
//   replica ID                who it is
//   said ..., came ...        see promises.h
//   quiet                     the load has ended, as asked
//   equal                     this replica and its peer are proven equal
//   failed TEXT               what must not fail did; the child ends

#ifndef ROCKSYNC_TESTS_CRASH_JOURNAL_H_
#define ROCKSYNC_TESTS_CRASH_JOURNAL_H_

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "rocksdb/status.h"
#include "tests/crash/operation.h"
#include "tests/crash/process.h"

namespace rocksync::crash {

// Thread-safe: a line is one write, and writes of this size to a pipe are
// atomic. What was said before a kill arrives.
inline void Say(std::string line) {
  line.push_back('\n');
  if (write(kJournalFd, line.data(), line.size()) < 0) _exit(1);
}

// For whoever listens.
inline bool StartsWith(const std::string& line, const std::string& start) {
  return line.compare(0, start.size(), start) == 0;
}

inline void SendBegin(const Operation& operation) {
  Say("begin " + Encode(operation));
}
inline void SendDone(uint64_t id) { Say("done " + std::to_string(id)); }

[[noreturn]] inline void Fail(const std::string& what) {
  Say("failed " + what.substr(0, 1000));
  _exit(1);
}

inline void MustBeOk(const rocksdb::Status& status, const std::string& what) {
  if (!status.ok()) Fail(what + ": " + status.ToString());
}

}  // namespace rocksync::crash

#endif  // ROCKSYNC_TESTS_CRASH_JOURNAL_H_
