// A batch of leaves that is proposed is read while the peer works on it, and
// not read again.

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/forwarding_view.h"
#include "tests/unit/replication/session/session_fixture.h"

namespace rocksync {
namespace {

// Counts the leaves that are scanned.
class CountingSnapshot final : public ForwardingSnapshot {
 public:
  CountingSnapshot(std::unique_ptr<StorageSnapshot> snapshot, int* scans)
      : ForwardingSnapshot(std::move(snapshot)), scans_(scans) {}

  absl::Status ScanPositions(uint64_t first, uint64_t last,
                             const Visit& visit) const override {
    ++*scans_;
    return ForwardingSnapshot::ScanPositions(first, last, visit);
  }

 private:
  int* const scans_;
};

class CountingView final : public ForwardingView {
 public:
  using ForwardingView::ForwardingView;
  absl::StatusOr<std::unique_ptr<StorageSnapshot>> TakeSnapshot(
      const std::function<bool()>& cancelled) override {
    auto snapshot = ForwardingView::TakeSnapshot(cancelled);
    if (!snapshot.ok()) return snapshot.status();
    return std::make_unique<CountingSnapshot>(*std::move(snapshot), &scans_);
  }
  int scans() const { return scans_; }

 private:
  int scans_ = 0;
};

class ReadAheadTest : public SessionTest {
 protected:
  struct Scans {
    int ahead = 0;
    int all = 0;
  };
  struct Side {
    Side(Role role, const SessionOptions& options, MemoryStorage* storage)
        : view(storage) {
      SessionContext context;
      context.storage = &view;
      context.now_ms = [] { return uint64_t{0}; };
      session = NewSession(role, options, {}, context);
    }
    CountingView view;
    std::unique_ptr<Session> session;
  };

  // So that more elements differ in a leaf than a search tells.
  MemoryStorage ReplicaOfFewLeaves(uint64_t id) {
    MemoryStorage::Options options;
    options.replica_id = id;
    options.families = {"default"};
    options.wall_ms = [this] { return ++wall_ms_; };
    options.leaf_bits = 6;
    return MemoryStorage(&hasher_, options);
  }

  Scans Meet(bool read_ahead, size_t batch, size_t peers_batch) {
    MemoryStorage a = ReplicaOfFewLeaves(1);
    MemoryStorage b = ReplicaOfFewLeaves(2);
    for (int i = 0; i < 3000; ++i) a.Put(0, absl::StrCat("key", i), "value");
    for (int i = 0; i < 900; ++i) b.Put(0, absl::StrCat("other", i), "value");
    SessionOptions options;
    options.max_batch_elements = batch;
    Side initiator(Role::kInitiator, options, &a);
    options.max_batch_elements = peers_batch;
    Side responder(Role::kResponder, options, &b);
    Side* speaker = &initiator;
    Side* listener = &responder;
    Scans scans;
    std::string message;
    bool spoke = true;
    while (spoke) {
      spoke = false;
      while (speaker->session->NextMessage(&message)) {
        spoke = true;
        EXPECT_TRUE(listener->session->Receive(message).ok());
      }
      const int before = speaker->view.scans();
      if (read_ahead) speaker->session->ReadAhead();
      scans.ahead += speaker->view.scans() - before;
      std::swap(speaker, listener);
    }
    EXPECT_TRUE(initiator.session->report().proven_equal);
    EXPECT_TRUE(responder.session->report().proven_equal);
    ExpectEqual(a, b);
    scans.all = initiator.view.scans() + responder.view.scans();
    return scans;
  }
};

TEST_F(ReadAheadTest, NothingIsReadTwice) {
  const Scans without = Meet(false, 700, 500);
  const Scans with = Meet(true, 700, 500);
  EXPECT_EQ(without.ahead, 0);
  EXPECT_EQ(with.all, without.all);
  // Of each batch one of the two sides.
  EXPECT_EQ(2 * with.ahead, with.all);
}

TEST_F(ReadAheadTest, APeerThatNarrowsABatchCostsOneReading) {
  const Scans without = Meet(false, 500, 700);
  const Scans with = Meet(true, 500, 700);
  EXPECT_GT(with.all, without.all);
  EXPECT_LT(with.all - without.all, 64 / 3);  // of the leaves that there are
}

}  // namespace
}  // namespace rocksync
