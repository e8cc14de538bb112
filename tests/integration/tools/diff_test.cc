// rocksync diff on real databases.

#include "tools/diff.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "rocksdb/comparator.h"
#include "rocksync/replicated_db.h"
#include "tests/support/open_plain.h"
#include "tests/support/temporary_directory.h"

namespace rocksync {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

class DiffTest : public testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_ / name; }

  static void Check(const rocksdb::Status& status) {
    ASSERT_TRUE(status.ok()) << status.ToString();
  }

  std::unique_ptr<rocksdb::DB> Open(const std::string& name,
                                    rocksdb::Options options = {}) {
    options.create_if_missing = true;
    rocksdb::DB* db = nullptr;
    Check(OpenPlain(options, Path(name), &db));
    return std::unique_ptr<rocksdb::DB>(db);
  }

  std::unique_ptr<rocksdb::DB> OpenReplicated(const std::string& name) {
    ReplicatedDBOptions replication;
    replication.cluster_name = "test";
    replication.cluster_secret.fill(1);
    rocksdb::Options options;
    options.create_if_missing = true;
    ReplicatedDB* db = nullptr;
    Check(ReplicatedDB::Open(options, replication, Path(name), &db));
    return std::unique_ptr<rocksdb::DB>(db);
  }

  static void Fill(rocksdb::DB* db, const Pairs& pairs) {
    for (const auto& [key, value] : pairs) {
      Check(db->Put(rocksdb::WriteOptions(), key, value));
    }
  }

  int Run(const std::string& left, const std::string& right,
          uint64_t max_keys = 100, bool json = false) {
    std::ostringstream out, err;
    const int code =
        RunDiff({Path(left), Path(right), max_keys, json}, out, err);
    out_ = out.str();
    err_ = err.str();
    return code;
  }

  const TemporaryDirectory directory_;
  std::string out_;
  std::string err_;
};

TEST_F(DiffTest, PlainAndReplicatedDatabasesOfTheSamePairsAreEqual) {
  const Pairs pairs = {{"a", "1"}, {"b", ""}, {"c", std::string(100000, 'x')}};
  Fill(Open("plain").get(), pairs);
  Fill(OpenReplicated("replicated").get(), pairs);
  EXPECT_EQ(Run("plain", "replicated"), kDiffEqual) << err_;
  EXPECT_EQ(out_, "equal: 3 pairs the same\n");
  EXPECT_EQ(Run("replicated", "plain"), kDiffEqual);
  EXPECT_EQ(Run("plain", "plain"), kDiffError) << "locked twice";
}

TEST_F(DiffTest, ListsWhatDiffersInKeyOrder) {
  Fill(Open("left").get(),
       {{"a", "1"}, {"b", "1"}, {"only left", "1"}, {"z", "1"}});
  Fill(Open("right").get(), {{"a", "1"}, {"b", "2"}, {"c", "1"}});
  EXPECT_EQ(Run("left", "right"), kDiffDifferent) << err_;
  EXPECT_EQ(out_,
            "~ default b\n"
            "> default c\n"
            "< default 0x6f6e6c79206c656674\n"
            "< default z\n"
            "different: 1 pair the same, 2 only on the left, 1 only on the "
            "right, 1 with different values\n");
}

// A key that is the text "0x6162" is not the key "ab".
TEST_F(DiffTest, NoTwoKeysAreShownAlike) {
  Fill(Open("left").get(), {{"\x0a\xbc", "1"}, {"0x0abc", "1"}});
  Open("right");
  EXPECT_EQ(Run("left", "right"), kDiffDifferent) << err_;
  EXPECT_EQ(out_.substr(0, out_.find("different")),
            "< default 0x0abc\n< default 0x307830616263\n");
  EXPECT_EQ(Run("left", "right", 100, true), kDiffDifferent) << err_;
  EXPECT_NE(out_.find(R"("key":"0x0abc","key_hex":"0abc")"), std::string::npos);
  EXPECT_NE(out_.find(R"("key_hex":"307830616263")"), std::string::npos);
}

TEST_F(DiffTest, DeletedAndUnflushedPairsCount) {
  {
    const auto left = Open("left");
    Fill(left.get(), {{"a", "1"}, {"b", "1"}});
    Check(left->Flush(rocksdb::FlushOptions()));
    Check(left->Delete(rocksdb::WriteOptions(), "a"));
  }
  Fill(Open("right").get(), {{"b", "1"}});
  EXPECT_EQ(Run("left", "right"), kDiffEqual) << out_ << err_;
}

TEST_F(DiffTest, TheListIsCappedAndTheCountsAreNot) {
  {
    const auto left = Open("left");
    for (int i = 0; i < 1000; ++i) {
      Fill(left.get(), {{"key" + std::to_string(1000 + i), "v"}});
    }
  }
  Open("right");
  EXPECT_EQ(Run("left", "right", 2), kDiffDifferent);
  EXPECT_EQ(out_,
            "< default key1000\n"
            "< default key1001\n"
            "... and 998 more\n"
            "different: 0 pairs the same, 1000 only on the left, 0 only on the "
            "right, 0 with different values\n");
}

TEST_F(DiffTest, FamiliesAreComparedByName) {
  for (const std::string name : {"left", "right"}) {
    const auto db = Open(name);
    for (const std::string& family : {std::string("both"), "only in " + name}) {
      rocksdb::ColumnFamilyHandle* handle = nullptr;
      Check(db->CreateColumnFamily({}, family, &handle));
      Check(db->Put(rocksdb::WriteOptions(), handle, "k", name));
      Check(db->DestroyColumnFamilyHandle(handle));
    }
  }
  EXPECT_EQ(Run("left", "right", 100, true), kDiffDifferent) << err_;
  EXPECT_EQ(out_, R"({"difference":"missing_here",)"
                  R"("family":"0x6f6e6c7920696e207269676874"})"
                  "\n"
                  R"({"difference":"content","family":"both","key":"k",)"
                  R"("key_hex":"6b"})"
                  "\n"
                  R"({"difference":"missing_there",)"
                  R"("family":"0x6f6e6c7920696e206c656674"})"
                  "\n"
                  R"({"equal":false,"same":0,"differences":1,)"
                  R"("missing_there":0,"missing_here":0,"content":1,)"
                  R"("families_on_one_side":2})"
                  "\n");
}

TEST_F(DiffTest, TheDatabasesOwnComparatorOrdersThem) {
  rocksdb::Options reversed;
  reversed.comparator = rocksdb::ReverseBytewiseComparator();
  Fill(Open("left", reversed).get(), {{"a", "1"}, {"b", "1"}, {"c", "1"}});
  Fill(Open("right", reversed).get(), {{"b", "1"}, {"c", "1"}});
  EXPECT_EQ(Run("left", "right"), kDiffDifferent) << err_;
  EXPECT_EQ(out_.substr(0, out_.find('\n')), "< default a");

  Fill(Open("forward").get(), {{"a", "1"}});
  EXPECT_EQ(Run("left", "forward"), kDiffError);
  EXPECT_NE(err_.find("has different comparators"), std::string::npos) << err_;
}

TEST_F(DiffTest, ErrorsNameTheDatabase) {
  Fill(Open("left").get(), {{"a", "1"}});
  EXPECT_EQ(Run("left", "missing"), kDiffError);
  EXPECT_NE(err_.find(Path("missing")), std::string::npos) << err_;
  EXPECT_FALSE(std::filesystem::exists(Path("missing")));

  const auto open = Open("right");
  EXPECT_EQ(Run("left", "right"), kDiffError);
  EXPECT_NE(err_.find("is in use"), std::string::npos) << err_;
}

TEST_F(DiffTest, NeitherDirectoryIsWrittenTo) {
  const auto names = [this] {
    std::vector<std::string> found;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(directory_.path())) {
      found.push_back(entry.path().string() + " " +
                      (entry.is_regular_file()
                           ? std::to_string(entry.file_size())
                           : std::string()));
    }
    std::sort(found.begin(), found.end());
    return found;
  };
  Fill(Open("left").get(), {{"a", "1"}});
  Fill(OpenReplicated("right").get(), {{"b", "1"}});
  const auto before = names();
  EXPECT_EQ(Run("left", "right"), kDiffDifferent);
  EXPECT_EQ(names(), before);
}

// A plain read shows their default column alone.
TEST_F(DiffTest, EntitiesAreComparedWithAllTheirColumns) {
  const auto fill = [this](const std::string& name, const std::string& city) {
    const auto db = Open(name);
    Check(db->PutEntity({}, db->DefaultColumnFamily(), "k",
                        {{"", "v"}, {"city", city}}));
  };
  fill("left", "Jena");
  fill("same", "Jena");
  fill("other", "Weimar");
  Fill(Open("plain").get(), {{"k", "v"}});
  EXPECT_EQ(Run("left", "same"), kDiffEqual);
  EXPECT_EQ(Run("left", "other"), kDiffDifferent);
  EXPECT_EQ(Run("left", "plain"), kDiffDifferent);
}

}  // namespace
}  // namespace rocksync
