// Runs a command and takes down what it says.

#ifndef ROCKSYNC_TESTS_MUTATIONS_COMMAND_H_
#define ROCKSYNC_TESTS_MUTATIONS_COMMAND_H_

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace rocksync::mutations {

enum class End {
  kPassed,  // exit code 0
  kFailed,  // any other, or a signal
  kHung,    // did not end in time, and was killed with its children
};

// `output`: stdout and stderr.
End RunCommand(const std::vector<std::string>& command,
               const std::filesystem::path& directory,
               std::chrono::seconds patience, std::string* output);

std::string LastLines(const std::string& text, size_t lines);

}  // namespace rocksync::mutations

#endif  // ROCKSYNC_TESTS_MUTATIONS_COMMAND_H_
