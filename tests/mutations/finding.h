// What a program that failed says about why.

#ifndef ROCKSYNC_TESTS_MUTATIONS_FINDING_H_
#define ROCKSYNC_TESTS_MUTATIONS_FINDING_H_

#include <string>

namespace rocksync::mutations {

// The name of the first GoogleTest that failed, the first violation that a
// machine names, or the last line.
std::string FindingOf(const std::string& output);

// The program passed since its filter matches no test.
bool TestsNothing(const std::string& output);

}  // namespace rocksync::mutations

#endif  // ROCKSYNC_TESTS_MUTATIONS_FINDING_H_
