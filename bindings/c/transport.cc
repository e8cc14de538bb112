#include <memory>
#include <string>
#include <utility>

#include "bindings/c/objects.h"
#include "rocksync/c.h"
#include "rocksync/tls_transport.h"
#include "rocksync/trial_certificates.h"

namespace {

using rocksdb::Status;

rocksync_transport_t* NewTransport(
    const Status& status, std::shared_ptr<rocksync::Transport> transport,
    char** errptr) {
  if (rocksync::SaveError(errptr, status)) return nullptr;
  return new rocksync_transport_t{std::move(transport)};
}

}  // namespace

extern "C" {

void rocksync_make_trial_certificate(const char* directory, uint64_t replica_id,
                                     char** ca_file, char** certificate_file,
                                     char** private_key_file, char** errptr) {
  Status status;
  if (directory == nullptr) status = rocksync::NullArgument("directory");
  if (ca_file == nullptr || certificate_file == nullptr ||
      private_key_file == nullptr) {
    status =
        rocksync::NullArgument("ca_file, certificate_file or private_key_file");
  }
  rocksync::TrialCertificate certificate;
  if (status.ok()) {
    status =
        rocksync::MakeTrialCertificate(directory, replica_id, &certificate);
  }
  if (rocksync::SaveError(errptr, status)) return;
  *ca_file = rocksync::NewText(certificate.ca_file);
  *certificate_file = rocksync::NewText(certificate.certificate_file);
  *private_key_file = rocksync::NewText(certificate.private_key_file);
}

uint64_t rocksync_read_replica_id(const char* certificate_file, char** errptr) {
  uint64_t id = 0;
  const Status status = certificate_file == nullptr
                            ? rocksync::NullArgument("certificate_file")
                            : rocksync::ReadReplicaId(certificate_file, &id);
  return rocksync::SaveError(errptr, status) ? 0 : id;
}

rocksync_transport_t* rocksync_tls_transport_create(
    const char* ca_file, const char* certificate_file,
    const char* private_key_file, char** errptr) {
  Status status;
  if (ca_file == nullptr) status = rocksync::NullArgument("ca_file");
  if (certificate_file == nullptr) {
    status = rocksync::NullArgument("certificate_file");
  }
  if (private_key_file == nullptr) {
    status = rocksync::NullArgument("private_key_file");
  }
  std::shared_ptr<rocksync::Transport> transport;
  if (status.ok()) {
    rocksync::TlsTransportOptions tls;
    tls.ca_file = ca_file;
    tls.certificate_file = certificate_file;
    tls.private_key_file = private_key_file;
    status = rocksync::NewTlsTransport(tls, &transport);
  }
  return NewTransport(status, std::move(transport), errptr);
}

rocksync_transport_t* rocksync_insecure_plaintext_transport_create(
    char** errptr) {
  std::shared_ptr<rocksync::Transport> transport;
  const Status status = rocksync::NewInsecurePlaintextTransport(
      rocksync::PlaintextTransportOptions(), &transport);
  return NewTransport(status, std::move(transport), errptr);
}

void rocksync_transport_destroy(rocksync_transport_t* transport) {
  delete transport;
}

rocksync_shared_listener_t* rocksync_shared_listener_start(
    rocksync_transport_t* transport, const char* address, char** errptr) {
  Status status;
  if (transport == nullptr) status = rocksync::NullArgument("transport");
  if (address == nullptr) status = rocksync::NullArgument("address");
  std::shared_ptr<rocksync::SharedListener> listener;
  if (status.ok()) {
    rocksync::SharedListenerOptions options;
    options.address = address;
    status =
        rocksync::SharedListener::Start(options, transport->rep, &listener);
  }
  if (rocksync::SaveError(errptr, status)) return nullptr;
  return new rocksync_shared_listener_t{std::move(listener)};
}

char* rocksync_shared_listener_address(
    const rocksync_shared_listener_t* listener) {
  if (listener == nullptr) return nullptr;
  return rocksync::NewText(listener->rep->address());
}

void rocksync_shared_listener_destroy(rocksync_shared_listener_t* listener) {
  delete listener;
}

}  // extern "C"
