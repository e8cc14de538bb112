#include "tests/integration/store/trouble_fixture.h"

#include "replication/store/upkeep/membership.h"
#include "tests/support/file_content.h"

namespace rocksync {

TroubleTest::TroubleTest() {
  options_.env = &env_;
  options_.write_buffer_size = 64 << 10;
  options_.max_write_buffer_number = 2;
}

void TroubleTest::OpenWithView() {
  view_.reset();
  ASSERT_ROCKS_OK(Open());
  view_ = StoreAccess::NewView(db_.get());
}

void TroubleTest::TearDown() {
  *disk_.state = DiskState::kGood;
  view_.reset();
  StoreTest::TearDown();
}

absl::Status TroubleTest::Apply(const Pair& pair,
                                const std::function<bool()>& cancelled) {
  std::vector<ApplyOutcome> outcomes;
  return view_->Apply(std::vector<Pair>{pair}, cancelled, &outcomes);
}

ApplyOutcome TroubleTest::OutcomeOf(const Pair& pair) {
  std::vector<ApplyOutcome> outcomes;
  const absl::Status status =
      view_->Apply(std::vector<Pair>{pair}, {}, &outcomes);
  EXPECT_TRUE(status.ok()) << status;
  return outcomes.at(0);
}

ApplyOutcome TroubleTest::OutcomeAfterStall(const Pair& pair) {
  bool waits = false;
  std::vector<ApplyOutcome> outcomes;
  const absl::Status status = view_->Apply(
      std::vector<Pair>{pair},
      [this, &waits] {
        if (!waits) EndStall();
        waits = true;
        return false;
      },
      &outcomes);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(waits);
  return outcomes.at(0);
}

std::string TroubleTest::IndexKeyOf(const std::string& key) {
  std::string index_key;
  AppendIndexKey(&index_key, {view_->PositionOf(0, key), family().id, key});
  return index_key;
}

StoredEntry TroubleTest::EntryOf(const std::string& key) {
  StoredEntry entry;
  EXPECT_ROCKS_OK(indexed()->reader().Get(
      nullptr, 0, {view_->PositionOf(0, key), family().id, key}, &entry));
  return entry;
}

bool TroubleTest::HasEntry(const std::string& key) {
  std::string entry;
  return indexed()
      ->db()
      ->Get({}, indexed()->reader().index(), IndexKeyOf(key), &entry)
      .ok();
}

void TroubleTest::PutIntoIndex(const std::string& key,
                               const std::string& entry) {
  ASSERT_ROCKS_OK(indexed()->db()->Put({}, indexed()->reader().index(),
                                       IndexKeyOf(key), entry));
}

void TroubleTest::PutIntoIndex(const std::string& key,
                               const StoredEntry& entry) {
  rocksdb::WriteBatch batch;
  indexed()->PutEntry(&batch, {view_->PositionOf(0, key), family().id, key},
                      entry);
  ASSERT_ROCKS_OK(indexed()->db()->Write({}, &batch));
}

void TroubleTest::Forget(uint64_t stable_time) {
  Membership* const members = StoreAccess::MembershipOf(db_.get());
  // Both are refused as busy while RocksDB stalls writes, as it may after many
  // of them.
  rocksdb::Status status;
  const auto done = [&status](const std::function<rocksdb::Status()>& write) {
    return Eventually([&] {
      status = write();
      return !status.IsBusy();
    });
  };
  if (members->Now().epoch == 0) {
    ASSERT_TRUE(done([this] {
      return db_->SetMembers(1, {db_->Identity().replica_id, kPeer});
    }));
    ASSERT_ROCKS_OK(status);
  }
  const GcState mine = members->Now();
  Announcement peer = members->Announce();
  peer.gc.stable_time = stable_time;
  peer.gc.stable_epoch = mine.epoch;
  peer.gc.purged = stable_time;
  Terms agreed;
  ASSERT_TRUE(
      done([&] { return members->Agree(mine, kPeer, {}, peer, &agreed); }));
  ASSERT_ROCKS_OK(status);
  ASSERT_EQ(members->Now().stable_time, stable_time);
  view_ = StoreAccess::NewView(db_.get());
}

void TroubleTest::Stall() {
  ASSERT_ROCKS_OK(db_->PauseBackgroundWork());
  rocksdb::WriteOptions impatient;
  impatient.no_slowdown = true;
  rocksdb::Status status;
  const std::string value(1000, 'x');
  for (int i = 0; i < 100'000 && status.ok(); ++i) {
    status = indexed()->db()->Put(impatient, "stall", value);
  }
  ASSERT_TRUE(status.IsIncomplete()) << status.ToString();
}

void TroubleTest::EndStall() { ASSERT_ROCKS_OK(db_->ContinueBackgroundWork()); }

bool TroubleTest::AllStripesAreHeld() {
  for (const size_t stripe : {0, 1}) {
    StripeSet one;
    one.Add(stripe);
    if (indexed()->locks()->Lock(one, [] { return true; })) {
      const StripeSetGuard unlock(indexed()->locks(), one, std::adopt_lock);
      return false;
    }
  }
  return true;
}

std::string TroubleTest::Log() const { return FileContent(Dir() + "/LOG"); }

}  // namespace rocksync
