// What the text of a status says.

#ifndef ROCKSYNC_TESTS_SUPPORT_MENTIONS_H_
#define ROCKSYNC_TESTS_SUPPORT_MENTIONS_H_

#include <gtest/gtest.h>

#include <string>

#include "rocksdb/status.h"

namespace rocksync {

inline testing::AssertionResult Mentions(const rocksdb::Status& status,
                                         const std::string& text) {
  if (status.ToString().find(text) != std::string::npos) {
    return testing::AssertionSuccess() << status.ToString();
  }
  return testing::AssertionFailure()
         << "\"" << status.ToString() << "\" does not mention \"" << text
         << "\"";
}

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_SUPPORT_MENTIONS_H_
