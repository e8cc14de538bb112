// The arguments that several commands of the tool have, and how commands are
// run.

#ifndef ROCKSYNC_TOOLS_ARGUMENTS_H_
#define ROCKSYNC_TOOLS_ARGUMENTS_H_

#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "tools/credentials.h"

namespace rocksync {

// What shows that somebody belongs to the cluster; with `--certificates` it is
// the trial cluster of replicated_store. Returns that option.
CLI::Option* AddSecret(CLI::App* tool, Credentials* credentials);

// The same, and what lets it talk to running replicas.
void AddCredentials(CLI::App* tool, Credentials* credentials);

// The default is what `credentials` has.
inline constexpr char kSilentReplica[] =
    "give up a replica that is silent for this long; raise it over a slow "
    "link, and the replica's own limit as well";
void AddPeerTimeout(CLI::App* tool, Credentials* credentials,
                    const std::string& description = kSilentReplica);

// A whole number; CLI11's own bounds are told as floating-point numbers.
std::function<std::string(const std::string&)> AtLeast(uint64_t least);

// Refuses "" for whatever the command takes: it comes of a variable that is not
// set, mostly. REQUIRES: all options are declared.
void RefuseEmptyArguments(CLI::App* tool);

void AddWalDirs(CLI::App* tool, std::vector<std::string>* wal_dirs);

// So that root leaves no files in a database that its program, which runs as
// another user, cannot write.
void ActAsOwnerOf(const std::string& directory);

// One of the tool's commands, once it is declared.
struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;
  const Credentials* credentials = nullptr;  // of `run`; may be null
};

template <typename Options>
using Run = int (*)(const Options&, std::ostream&, std::ostream&);

template <typename Options>
std::function<int()> Running(Run<Options> run,
                             const std::shared_ptr<Options>& options) {
  return [=] { return run(*options, std::cout, std::cerr); };
}

// For what may leave files in the directory.
template <typename Options>
std::function<int()> RunningAsOwner(Run<Options> run,
                                    const std::shared_ptr<Options>& options) {
  return [=] {
    ActAsOwnerOf(options->directory);
    return run(*options, std::cout, std::cerr);
  };
}

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_ARGUMENTS_H_
