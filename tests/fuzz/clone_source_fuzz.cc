// What a clone asks of its source, once it may: which files, from where, and
// what it says that it has.

#include <cstdint>
#include <string>
#include <string_view>

#include "replication/clone/clone_messages.h"
#include "replication/clone/clone_source.h"
#include "replication/peering/admission.h"
#include "tests/fuzz/fed_connection.h"
#include "tests/fuzz/served_database.h"

namespace rocksync {
namespace {

constexpr uint64_t kCloneId = 5;

class Source {
 public:
  void Serve(std::string_view input) {
    Admission admission;
    FedConnection connection(input);
    const CloneAsk ask = {.replica_id = kCloneId, .ticket = ticket_};
    const std::string first = AskMessage(FuzzSecret(), admission.auth_hello,
                                         admission.challenge, ask);
    clones_.Serve(&connection, admission, first).PermitUncheckedError();
    // The same checkpoint again.
    CloneFiles files;
    if (DecodeFiles(connection.said(), &files).ok()) ticket_ = files.ticket;
  }

 private:
  ServedDatabase database_;
  CloneSource clones_{database_.replica()};
  uint64_t ticket_ = 1;
};

}  // namespace
}  // namespace rocksync

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static auto* const source = new rocksync::Source;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  source->Serve(input);
  return 0;
}
