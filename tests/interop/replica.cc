// A rocksync replica driven by lines on stdin, for tests of other peers.
//
//   interop_replica DIR CLUSTER SECRET_HEX [bloom|bytes|roundtrips] [RATE]
//   [MAX_SESSION_BYTES]
//
// Plaintext transport on a loopback port that it prints ("listening ADDRESS").
// Keys and values are written in hexadecimal, "-" stands for the empty one.
//   put K V | del K | many PREFIX FROM TO BYTES | sync ADDRESS | verify ADDRESS
//   scan | stats | quit
// Each command ends with one line "ok ..." or "error ...".

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>

#include "rocksdb/db.h"
#include "rocksync/replicated_db.h"
#include "rocksync/replicator.h"
#include "rocksync/tls_transport.h"

namespace {

using rocksdb::Status;

std::string FromHex(const std::string& hex) {
  std::string out;
  if (hex == "-") return out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    out.push_back(
        static_cast<char>(std::strtol(hex.substr(i, 2).c_str(), nullptr, 16)));
  return out;
}

std::string ToHex(const rocksdb::Slice& s) {
  return s.empty() ? "-" : s.ToString(true);
}

void Report(const Status& s, const std::string& more = "") {
  if (s.ok())
    std::cout << "ok" << (more.empty() ? "" : " " + more) << std::endl;
  else
    std::cout << "error " << s.ToString() << std::endl;
}

void Scan(rocksdb::DB* db) {
  std::unique_ptr<rocksdb::Iterator> it(
      db->NewIterator(rocksdb::ReadOptions()));
  size_t n = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next(), ++n)
    std::cout << "pair " << ToHex(it->key()) << " " << ToHex(it->value())
              << "\n";
  Report(it->status(), std::to_string(n));
}

// Keys PREFIX + 8 decimal digits; values are the key repeated to BYTES.
Status PutMany(rocksdb::DB* db, const std::string& prefix, int from, int to,
               size_t bytes) {
  for (int i = from; i < to; ++i) {
    std::string number = std::to_string(i);
    std::string key = prefix + std::string(8 - number.size(), '0') + number;
    std::string value;
    while (value.size() < bytes) value += key;
    value.resize(bytes);
    Status s = db->Put(rocksdb::WriteOptions(), key, value);
    if (!s.ok()) return s;
  }
  return Status::OK();
}

void Stats(const rocksync::Replicator& replicator) {
  const auto stats = replicator.stats();
  std::ostringstream out;
  out << "elements=" << stats.elements << " sessions=" << stats.sessions
      << " failed=" << stats.sessions_failed << " sent=" << stats.pairs_sent
      << " received=" << stats.pairs_received
      << " applied=" << stats.pairs_applied << " exchanges=" << stats.exchanges
      << " bytes=" << stats.bytes_total;
  for (const auto& peer : stats.peers) {
    std::cout << "peer " << peer.address << " id=" << std::hex
              << peer.replica_id << std::dec
              << " proven=" << peer.last_proven_equal_ms
              << " error=" << peer.last_error << "\n";
  }
  Report(Status::OK(), out.str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  rocksync::ReplicatedDBOptions replication;
  replication.cluster_name = argv[2];
  const std::string secret = FromHex(argv[3]);
  if (secret.size() != 32) return 2;
  std::copy(secret.begin(), secret.end(), replication.cluster_secret.begin());
  const std::string mode = argc > 4 ? argv[4] : "bytes";

  rocksdb::Options options;
  options.create_if_missing = true;
  rocksync::ReplicatedDB* raw = nullptr;
  Status s = rocksync::ReplicatedDB::Open(options, replication, argv[1], &raw);
  if (!s.ok()) return Report(s), 1;
  std::unique_ptr<rocksync::ReplicatedDB> db(raw);
  s = db->WaitForIndexBuild(30000);
  if (!s.ok()) return Report(s), 1;

  rocksync::PlaintextTransportOptions plain;
  plain.refused = [](const Status& why) {
    std::cerr << "refused: " << why.ToString() << std::endl;
  };
  std::shared_ptr<rocksync::Transport> transport;
  s = rocksync::NewInsecurePlaintextTransport(plain, &transport);
  if (!s.ok()) return Report(s), 1;

  rocksync::ReplicatorOptions ro;
  ro.listen_address = "127.0.0.1:0";
  ro.interval = std::chrono::milliseconds(0);
  ro.scrub_interval = std::chrono::milliseconds(0);
  if (mode == "bloom") ro.mode = rocksync::ReplicatorOptions::Mode::kBloomOnly;
  if (mode == "roundtrips")
    ro.prefer = rocksync::ReplicatorOptions::Prefer::kRoundTrips;
  if (argc > 5) ro.false_positive_rate = std::atof(argv[5]);
  if (argc > 6) ro.max_session_bytes = std::strtoull(argv[6], nullptr, 10);
  ro.progress = [](const rocksync::SessionProgress& p) {
    if (p.finished) std::cerr << "plan: " << p.plan << std::endl;
    if (!p.error.empty()) std::cerr << "session: " << p.error << std::endl;
  };
  std::unique_ptr<rocksync::Replicator> replicator;
  s = rocksync::Replicator::Start(ro, db.get(), transport, &replicator);
  if (!s.ok()) return Report(s), 1;
  std::cout << "listening " << replicator->listen_address() << " id "
            << std::hex << db->Identity().replica_id << std::dec << std::endl;

  std::string line;
  while (std::getline(std::cin, line)) {
    std::istringstream in(line);
    std::string command, k, v;
    in >> command;
    if (command == "put") {
      in >> k >> v;
      Report(db->Put(rocksdb::WriteOptions(), FromHex(k), FromHex(v)));
    } else if (command == "del") {
      in >> k;
      Report(db->Delete(rocksdb::WriteOptions(), FromHex(k)));
    } else if (command == "many") {
      int from = 0, to = 0;
      size_t bytes = 0;
      in >> k >> from >> to >> bytes;
      Report(PutMany(db.get(), FromHex(k), from, to, bytes));
    } else if (command == "sync") {
      in >> k;
      Report(replicator->SyncNow(k));
    } else if (command == "verify") {
      in >> k;
      rocksync::VerifyResult r;
      rocksync::VerifyOptions vo;
      vo.in_flight_wait = std::chrono::milliseconds(0);
      Status st = replicator->Verify(
          k, vo,
          [](const rocksync::KeyDifference& d) {
            std::cout << "differs " << static_cast<int>(d.kind) << " "
                      << ToHex(d.key) << "\n";
          },
          &r);
      Report(st, r.equal ? "equal" : "different");
    } else if (command == "scan") {
      Scan(db.get());
    } else if (command == "stats") {
      Stats(*replicator);
    } else if (command == "members") {
      // members EPOCH ID_HEX... (this replica is added)
      uint64_t epoch = 0;
      std::vector<uint64_t> ids{db->Identity().replica_id};
      in >> epoch;
      while (in >> k) ids.push_back(std::strtoull(k.c_str(), nullptr, 16));
      Report(db->SetMembers(epoch, ids));
    } else if (command == "quit") {
      break;
    } else {
      Report(Status::InvalidArgument("unknown command", command));
    }
  }
  replicator.reset();
  s = db->Close();
  Report(s, "bye");
  return s.ok() ? 0 : 1;
}
