// Keys of which only operands of merges are there, of a foreign Merge or from
// before the adoption, wherever RocksDB keeps them.

#include <memory>
#include <optional>
#include <string>

#include "replication/store/upkeep/scrub.h"
#include "tests/integration/store/trouble_fixture.h"
#include "tests/support/append_operator.h"

namespace rocksync {
namespace {

struct Key {
  const char* name;
  const char* value;
};
// The deletion and the operands of "deleted" come into one memtable or table,
// those of "deleted before" into two.
constexpr Key kKeys[] = {{"alone", "12"},
                         {"single", "1"},
                         {"on a value", "v12"},
                         {"deleted", "12"},
                         {"deleted before", "12"}};

void WriteBefore(rocksdb::DB* db) {
  ASSERT_ROCKS_OK(db->Put({}, "on a value", "v"));
  ASSERT_ROCKS_OK(db->Put({}, "deleted before", "v"));
  ASSERT_ROCKS_OK(db->Delete({}, "deleted before"));
  ASSERT_ROCKS_OK(db->Flush({}));
}
void WriteOperands(rocksdb::DB* db) {
  ASSERT_ROCKS_OK(db->Put({}, "deleted", "v"));
  ASSERT_ROCKS_OK(db->Delete({}, "deleted"));
  for (const Key& key : kKeys) ASSERT_ROCKS_OK(db->Merge({}, key.name, "1"));
  for (const Key& key : kKeys) {
    if (key.name != std::string("single")) {
      ASSERT_ROCKS_OK(db->Merge({}, key.name, "2"));
    }
  }
}

enum class Kept { kInTables, kInMemtable };

class MergeOperandsTest : public TroubleTest,
                          public testing::WithParamInterface<Kept> {
 protected:
  MergeOperandsTest() {
    options_.merge_operator = std::make_shared<AppendOperator>();
    options_.disable_auto_compactions = true;
    replication_.merge_families = {"default"};
  }

  // A replica whose keys hold operands, read into the index.
  void SetUp() override {
    TroubleTest::SetUp();
    if (GetParam() == Kept::kInTables) {
      std::unique_ptr<rocksdb::DB> plain;
      ASSERT_ROCKS_OK(OpenPlain(options_, Dir(), &plain));
      WriteBefore(plain.get());
      WriteOperands(plain.get());
      ASSERT_ROCKS_OK(plain->Flush({}));
      plain.reset();
      OpenWithView();
    } else {
      OpenWithView();
      WriteBefore(db_->GetRootDB());
      WriteOperands(db_->GetRootDB());
      // The first refusal has them read.
      Eventually([&] {
        return view_->TakeSnapshot({}).ok() &&
               db_->GetIndexStats().foreign_writes > 0;
      });
    }
    ASSERT_ROCKS_OK(db_->WaitForIndexBuild(60000));
    for (const Key& key : kKeys) ASSERT_EQ(Get(key.name), key.value);
  }
};

TEST_P(MergeOperandsTest, MergesGoOn) {
  for (const Key& key : kKeys) {
    ASSERT_ROCKS_OK(db_->Merge({}, key.name, "3"));
    EXPECT_EQ(Get(key.name), key.value + std::string("3"));
    ASSERT_ROCKS_OK(db_->Merge({}, key.name, "4"));
    EXPECT_EQ(Get(key.name), key.value + std::string("34"));
  }
}

TEST_P(MergeOperandsTest, AnUpdateSeesTheMergedValue) {
  for (const Key& key : kKeys) {
    std::string seen;
    ASSERT_ROCKS_OK(db_->Update({}, db_->DefaultColumnFamily(), key.name,
                                [&](std::optional<std::string>* value) {
                                  seen = value->value_or("-");
                                  *value = "updated";
                                  return rocksdb::Status::OK();
                                }));
    EXPECT_EQ(seen, key.value) << key.name;
    EXPECT_EQ(Get(key.name), "updated");
  }
}

TEST_P(MergeOperandsTest, SessionsReadAndReplaceThem) {
  for (const Key& key : kKeys) {
    Version version;
    {
      const auto snapshot = view_->TakeSnapshot({});
      ASSERT_TRUE(snapshot.ok()) << snapshot.status();
      const auto found = (*snapshot)->FindKey(0, key.name);
      ASSERT_TRUE(found.ok() && found->has_value()) << key.name;
      const auto value = (*snapshot)->ReadValue(**found);
      ASSERT_TRUE(value.ok()) << value.status();
      EXPECT_EQ(*value, key.value) << key.name;
      version = (*found)->version;
    }
    if (version.time > 0) {
      EXPECT_EQ(OutcomeOf({0, key.name, {1, kPeer}, false, "old"}),
                ApplyOutcome::kSuperseded);
    }
    EXPECT_EQ(OutcomeOf({0, key.name, {version.time + 1, kPeer}, false, "new"}),
              ApplyOutcome::kApplied);
    EXPECT_EQ(Get(key.name), "new");
  }
}

TEST_P(MergeOperandsTest, AScrubAndACheckFindThemSound) {
  const auto scrub = StoreAccess::NewScrub(db_.get());
  ASSERT_ROCKS_OK(scrub->Load());
  uint64_t bytes = 0;
  bool finished = false;
  while (!finished) ASSERT_ROCKS_OK(scrub->Step(&bytes, &finished));
  EXPECT_EQ(scrub->progress().corruption_found, 0u);
  for (const Key& key : kKeys) {
    store()->Reexamine(IndexKeyOf(key.name));
    EXPECT_FALSE(EntryOf(key.name).quarantined) << key.name;
    bool resolved = false;
    ASSERT_ROCKS_OK(NewCheck().Resolve(family(), key.name, &resolved));
    EXPECT_EQ(Get(key.name), key.value);
  }
}

INSTANTIATE_TEST_SUITE_P(Kept, MergeOperandsTest,
                         testing::Values(Kept::kInTables, Kept::kInMemtable),
                         [](const auto& test) {
                           return test.param == Kept::kInTables ? "InTables"
                                                                : "InMemtable";
                         });

}  // namespace
}  // namespace rocksync
