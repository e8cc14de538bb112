// What a source sends to a clone, after it has proven the cluster's secret: the
// list of its files, and their bytes. Whatever it is, nothing outside of the
// clone's directory changes, and what is not whole is not opened.

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "replication/clone/clone_directory.h"
#include "replication/clone/clone_receiver.h"
#include "rocksdb/env.h"
#include "tests/fuzz/fed_transport.h"

namespace rocksync {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void RequireNames(rocksdb::Env* env, const std::string& directory,
                  const std::vector<std::string>& allowed) {
  std::vector<std::string> names;
  Require(env->GetChildren(directory, &names).ok());
  for (const std::string& name : names) {
    bool known = name == "." || name == "..";
    for (const std::string& one : allowed) known = known || name == one;
    Require(known);
  }
}

}  // namespace
}  // namespace rocksync

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace rocksync;
  const std::unique_ptr<rocksdb::Env> env(
      rocksdb::NewMemEnv(rocksdb::Env::Default()));
  Require(env->CreateDirIfMissing("/top").ok());
  std::unique_ptr<CloneDirectory> directory;
  Require(CloneDirectory::Prepare(env.get(), "/top/clone", 5, &directory).ok());
  CloneOptions options;
  options.source = "source";
  options.transport = std::make_shared<FedTransport>(
      std::string_view(reinterpret_cast<const char*>(data), size));
  options.connections = 2;
  CloneProgress progress;
  const rocksdb::Status s = ReceiveFiles(options, {"cluster", FuzzSecret()}, 0,
                                         directory.get(), &progress);
  Require(s.ok() == directory->finished());
  RequireNames(env.get(), "/top", {"clone"});
  std::vector<std::string> names;
  Require(env->GetChildren("/top/clone", &names).ok());
  for (const std::string& name : names) {
    Require(name.find('/') == std::string::npos);
    Require(IsCloneFileName(name) || name == "LOCK" || name == "." ||
            name == ".." || name == kCloneRecordFileName ||
            name == "CURRENT.rocksync-clone");
  }
  std::string current;
  Require(rocksdb::ReadFileToString(env.get(), "/top/clone/CURRENT", &current)
              .ok());
  Require(IsUnfinishedClone(current) == !s.ok());
  return 0;
}
