#include "tests/integration/replication/replica_fixture.h"

#include <random>
#include <thread>
#include <utility>

#include "tests/support/trial_transport.h"

namespace rocksync {
namespace {

bool IsTaken(const rocksdb::Status& listening) {
  return listening.ToString().find("already in use") != std::string::npos;
}

// Not one of those that the system gives to connections: while a replica is
// down one of these might have its port, even that of somebody who dials it.
std::string AnyAddress() {
  std::random_device random;
  std::uniform_int_distribution<int> port(20'000, 32'000);
  return "127.0.0.1:" + std::to_string(port(random));
}

}  // namespace

TestReplica::TestReplica(Setting setting) : setting_(std::move(setting)) {}

TestReplica::~TestReplica() {
  Stop();
  Close();
}

bool TestReplica::Open() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = size_t{4} << 20;
  ReplicatedDBOptions replication;
  replication.cluster_name = setting_.cluster;
  replication.cluster_secret.fill(setting_.secret);
  if (setting_.adjust != nullptr) setting_.adjust(&options, &replication);
  ReplicatedDB* db = nullptr;
  open_status_ =
      ReplicatedDB::Open(options, replication, setting_.directory, &db);
  db_.reset(db);
  return open_status_.ok();
}

void TestReplica::Close() { EXPECT_TRUE(IsOk(TryClose())); }

rocksdb::Status TestReplica::TryClose() {
  if (db_ == nullptr) return rocksdb::Status::OK();
  const rocksdb::Status status = db_->Close();
  db_.reset();
  return status;
}

ReplicatorOptions TestReplica::OnDemand() {
  ReplicatorOptions options;
  options.interval = milliseconds(0);
  return options;
}

ReplicatorOptions TestReplica::Hourly() {
  ReplicatorOptions options;
  options.interval = std::chrono::hours(1);
  return options;
}

rocksdb::Status TestReplica::NewTransport(
    std::shared_ptr<Transport>* transport) {
  return NewTrialTransport(setting_.certificates,
                           borrowed_id_ != 0 ? borrowed_id_ : id(), transport);
}

rocksdb::Status TestReplica::Start(ReplicatorOptions options) {
  rocksdb::Status s;
  for (int tries = 0; tries < 100; ++tries) {
    options.listen_address = address_.empty() ? AnyAddress() : address_;
    s = Listen(options);
    if (!IsTaken(s)) break;
    // By another test.
    std::this_thread::sleep_for(milliseconds(100));
  }
  // Later ones listen on the same, while other threads may read it.
  if (s.ok() && address_.empty()) address_ = replicator_->listen_address();
  return s;
}

rocksdb::Status TestReplica::Listen(const ReplicatorOptions& options) {
  std::shared_ptr<Transport> transport;
  const rocksdb::Status s = NewTransport(&transport);
  return s.ok() ? Replicator::Start(options, db_.get(), transport, &replicator_)
                : s;
}

void TestReplica::Put(const std::string& key, const std::string& value) {
  EXPECT_TRUE(IsOk(db_->Put(rocksdb::WriteOptions(), key, value)));
}

void TestReplica::Delete(const std::string& key) {
  EXPECT_TRUE(IsOk(db_->Delete(rocksdb::WriteOptions(), key)));
}

Contents TestReplica::Scan() {
  Contents contents;
  const std::unique_ptr<rocksdb::Iterator> pairs(
      db_->NewIterator(rocksdb::ReadOptions()));
  for (pairs->SeekToFirst(); pairs->Valid(); pairs->Next()) {
    contents[pairs->key().ToString()] = pairs->value().ToString();
  }
  EXPECT_TRUE(IsOk(pairs->status()));
  return contents;
}

TestReplica::Setting ReplicationTest::SettingOf(const std::string& name) const {
  TestReplica::Setting setting;
  setting.directory = directory_ / name;
  setting.certificates = directory_ / "certificates";
  return setting;
}

std::unique_ptr<TestReplica> ReplicationTest::NewReplica(
    const std::string& name) {
  auto replica = std::make_unique<TestReplica>(SettingOf(name));
  EXPECT_TRUE(replica->Open()) << replica->open_status().ToString();
  return replica;
}

testing::AssertionResult IsOk(const rocksdb::Status& status) {
  if (status.ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << status.ToString();
}

}  // namespace rocksync
