// A peer that proves the cluster's secret, and then says what a fuzzer's input
// says.

#ifndef ROCKSYNC_TESTS_FUZZ_FED_TRANSPORT_H_
#define ROCKSYNC_TESTS_FUZZ_FED_TRANSPORT_H_

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "replication/membership/authentication.h"
#include "rocksync/transport.h"
#include "tests/fuzz/fed_connection.h"

namespace rocksync {

inline ClusterSecret FuzzSecret() {
  ClusterSecret secret;
  secret.fill(7);
  return secret;
}

// Of each connection the peer proves the secret, and then says the input.
class FedTransport : public Transport {
 public:
  explicit FedTransport(std::string_view input) : input_(input) {}

  rocksdb::Status Connect(const std::string&, std::chrono::milliseconds,
                          const std::function<bool()>&,
                          std::unique_ptr<Connection>* connection) override {
    bool challenged = false;
    *connection = std::make_unique<FedConnection>(
        input_, [challenged](const std::string& said) mutable {
          if (challenged) return std::string();
          challenged = true;
          return ChallengeMessage(FuzzSecret(), {}, said, AuthNonce{});
        });
    return rocksdb::Status::OK();
  }
  rocksdb::Status Listen(
      const std::string&,
      std::function<void(std::unique_ptr<Connection>)>) override {
    return rocksdb::Status::NotSupported();
  }
  std::string listen_address() const override { return ""; }
  void StopListening() override {}

 private:
  const std::string_view input_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_FUZZ_FED_TRANSPORT_H_
