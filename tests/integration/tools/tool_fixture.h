// Running replicas, and what the commands of `rocksync` say of them.

#ifndef ROCKSYNC_TESTS_INTEGRATION_TOOLS_TOOL_FIXTURE_H_
#define ROCKSYNC_TESTS_INTEGRATION_TOOLS_TOOL_FIXTURE_H_

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "rocksync/trial_certificates.h"
#include "tests/integration/replication/replica_fixture.h"
#include "tools/credentials.h"

namespace rocksync {

class ToolTest : public ReplicationTest {
 protected:
  // As the fixture's replicas have them.
  Credentials TestCredentials(uint8_t secret = 7) {
    Credentials credentials;
    credentials.cluster = "test";
    credentials.trial_directory = directory_ / "certificates";
    std::filesystem::create_directories(credentials.trial_directory);
    std::ofstream(credentials.trial_directory + "/trial-secret",
                  std::ios::binary)
        << std::string(32, static_cast<char>(secret));
    return credentials;
  }

  // Returns the name of its file.
  std::string UseCertificateOf(uint64_t id, Credentials* credentials) {
    TrialCertificate made;
    EXPECT_TRUE(
        IsOk(MakeTrialCertificate(directory_ / "certificates", id, &made)));
    credentials->trial_directory.clear();
    credentials->tls.ca_file = made.ca_file;
    credentials->tls.certificate_file = made.certificate_file;
    credentials->tls.private_key_file = made.private_key_file;
    credentials->secret_file = directory_ / "certificates/trial-secret";
    return made.certificate_file;
  }

  std::ostringstream out_;
  std::ostringstream err_;
};

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_INTEGRATION_TOOLS_TOOL_FIXTURE_H_
