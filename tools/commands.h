// The commands of the tool: each declares its arguments and its help.

#ifndef ROCKSYNC_TOOLS_COMMANDS_H_
#define ROCKSYNC_TOOLS_COMMANDS_H_

#include "CLI/CLI.hpp"
#include "tools/arguments.h"

namespace rocksync {

// On directories, and files of certificates.
Command AddDiff(CLI::App* app);
Command AddDetach(CLI::App* app);
Command AddId(CLI::App* app);
Command AddCertificate(CLI::App* app);
Command AddRepair(CLI::App* app);
Command AddRestamp(CLI::App* app);

// With running replicas.
Command AddClone(CLI::App* app);
Command AddResync(CLI::App* app);
Command AddVerify(CLI::App* app);
Command AddRescue(CLI::App* app);
Command AddStatus(CLI::App* app);
Command AddExporter(CLI::App* app);

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_COMMANDS_H_
