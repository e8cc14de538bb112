// Turns anti-entropy on in a program that has a RocksDB database, whose data,
// reads and writes stay RocksDB's. Two, and a status (package rocksync-tools):
//   embed a 127.0.0.1:7401 127.0.0.1:7402 trial
//   embed b 127.0.0.1:7402 127.0.0.1:7401 trial
//   (umask 077; head -c 32 /dev/zero | tr '\0' '\52' > trial/trial-secret)
//   rocksync status 127.0.0.1:7401 --certificates trial --cluster embed

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include "rocksync/replicated_db.h"
#include "rocksync/replicator.h"
#include "rocksync/tls_transport.h"
#include "rocksync/trial_certificates.h"

namespace {

void Check(const rocksdb::Status& status) {
  if (status.ok()) return;
  std::cerr << status.ToString() << "\n";
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: embed DIRECTORY LISTEN PEER CERTIFICATES\n";
    return 2;
  }

  // 1. Open the database as before, by another class. An existing one is read
  // once, in the background, while it is in use.
  rocksync::ReplicatedDBOptions replication;
  replication.cluster_name = "embed";
  std::fill(replication.cluster_secret.begin(),
            replication.cluster_secret.end(), uint8_t{42});  // yours: random
  rocksdb::Options options;
  options.create_if_missing = true;
  rocksync::ReplicatedDB* opened = nullptr;
  Check(rocksync::ReplicatedDB::Open(options, replication, argv[1], &opened));
  const std::unique_ptr<rocksync::ReplicatedDB> db(opened);

  // 2. Choose how replicas reach each other.
  rocksync::TrialCertificate certificate;
  Check(rocksync::MakeTrialCertificate(argv[4], db->Identity().replica_id,
                                       &certificate));
  rocksync::TlsTransportOptions tls;
  tls.ca_file = certificate.ca_file;
  tls.certificate_file = certificate.certificate_file;
  tls.private_key_file = certificate.private_key_file;
  std::shared_ptr<rocksync::Transport> transport;
  Check(rocksync::NewTlsTransport(tls, &transport));

  // 3. Sync with the peers from now on.
  rocksync::ReplicatorOptions peers;
  peers.listen_address = argv[2];
  peers.peers = {argv[3]};
  peers.interval = std::chrono::seconds(1);
  std::unique_ptr<rocksync::Replicator> replicator;
  Check(rocksync::Replicator::Start(peers, db.get(), transport, &replicator));

  std::cerr << "type \"key value\" to write a pair, \"key\" to read one\n";
  for (std::string line; std::getline(std::cin, line);) {
    const size_t space = line.find(' ');
    const std::string key = line.substr(0, space);
    if (space != std::string::npos) {
      Check(db->Put(rocksdb::WriteOptions(), key, line.substr(space + 1)));
      continue;
    }
    std::string value;
    const auto status = db->Get(rocksdb::ReadOptions(), key, &value);
    std::cout << (status.ok() ? value : status.ToString()) << std::endl;
  }
}
