#include "replication/store/open/newer_rocksdb.h"

#include <gmock/gmock.h>

#include <memory>
#include <string>

#include "rocksdb/version.h"

namespace rocksync {
namespace {

using rocksdb::Status;
using testing::HasSubstr;

class NewerRocksDBTest : public testing::Test {
 protected:
  NewerRocksDBTest() { EXPECT_TRUE(env_->CreateDirIfMissing("/db").ok()); }
  // What becomes of an error, if the OPTIONS file names this version.
  std::string Named(const std::string& version) {
    EXPECT_TRUE(rocksdb::WriteStringToFile(
                    env_.get(),
                    "# comment\n\n[Version]\n  rocksdb_version=" + version +
                        "\n  options_file_version=1.1\n",
                    "/db/OPTIONS-000007")
                    .ok());
    return NameNewerRocksDB(Damaged(), env_.get(), "/db").ToString();
  }
  static Status Damaged() { return Status::Corruption("format_version: 6"); }
  static std::string Ours(int major, int minor, int patch) {
    return std::to_string(ROCKSDB_MAJOR + major) + "." +
           std::to_string(ROCKSDB_MINOR + minor) + "." +
           std::to_string(ROCKSDB_PATCH + patch);
  }

  const std::unique_ptr<rocksdb::Env> env_{
      rocksdb::NewMemEnv(rocksdb::Env::Default())};
};

TEST_F(NewerRocksDBTest, IsNamedWithTheRemedy) {
  for (const std::string& newer :
       {Ours(1, -ROCKSDB_MINOR, 0), Ours(0, 1, 0), Ours(0, 0, 1)}) {
    const std::string text = Named(newer);
    EXPECT_THAT(text, HasSubstr("/db was last opened by RocksDB " + newer +
                                ", and this program has " + Ours(0, 0, 0)));
    EXPECT_THAT(text, HasSubstr("nothing is damaged"));
    EXPECT_THAT(text, HasSubstr("format_version: 6"));
  }
}

// Patch releases read what one another write.
TEST_F(NewerRocksDBTest, IsRefusedBeforeItsFilesAreTakenForDamaged) {
  const auto check = [this](const std::string& version) {
    Named(version);
    return CheckIsNotNewer(env_.get(), "/db");
  };
  EXPECT_TRUE(check(Ours(0, 0, 0)).ok());
  EXPECT_TRUE(check(Ours(0, 0, 1)).ok());
  EXPECT_TRUE(check("6.11.4").ok());
  EXPECT_TRUE(check("a.b.c").ok());
  EXPECT_TRUE(CheckIsNotNewer(env_.get(), "/nowhere").ok());
  EXPECT_TRUE(check(Ours(0, 1, 0)).IsNotSupported());
  EXPECT_THAT(check(Ours(1, 0, 0)).ToString(), HasSubstr("may not read it"));
}

TEST_F(NewerRocksDBTest, OtherErrorsStay) {
  const std::string as_it_is = Damaged().ToString();
  EXPECT_EQ(NameNewerRocksDB(Damaged(), env_.get(), "/db").ToString(),
            as_it_is);
  EXPECT_EQ(NameNewerRocksDB(Damaged(), env_.get(), "/nowhere").ToString(),
            as_it_is);
  for (const std::string& version :
       {Ours(0, 0, 0), std::string("6.11.4"), std::string(), std::string("9"),
        std::string("99.1"), std::string("a.b.c"), std::string("99.1.")}) {
    EXPECT_EQ(Named(version), as_it_is) << version;
  }
  Named(Ours(1, 0, 0));
  for (const Status& status :
       {Status::OK(), Status::InvalidArgument("no such family"),
        Status::IOError("a disk"), Status::Corruption("rocksync: named")}) {
    EXPECT_EQ(NameNewerRocksDB(status, env_.get(), "/db").ToString(),
              status.ToString());
  }
  // Of a table's options.
  EXPECT_TRUE(
      NameNewerRocksDB(Status::InvalidArgument("Unsupported format_version"),
                       env_.get(), "/db")
          .IsNotSupported());
}

TEST(NewerSourceTest, IsRefusedByBothVersions) {
  const auto text = [](int major, int minor, int patch) {
    return "[Version]\n  rocksdb_version=" +
           std::to_string(ROCKSDB_MAJOR + major) + "." +
           std::to_string(ROCKSDB_MINOR + minor) + "." +
           std::to_string(ROCKSDB_PATCH + patch) + "\n";
  };
  for (const std::string& newer :
       {text(0, 1, 0), text(1, -ROCKSDB_MINOR, -ROCKSDB_PATCH)}) {
    const Status s = CheckSourceIsNotNewer(newer);
    EXPECT_TRUE(s.IsNotSupported()) << newer;
    EXPECT_THAT(s.ToString(),
                HasSubstr("this program has " + std::to_string(ROCKSDB_MAJOR) +
                          "." + std::to_string(ROCKSDB_MINOR) + "."));
    EXPECT_THAT(s.ToString(), HasSubstr("or let sessions bring the pairs"));
  }
  for (const std::string& readable :
       {text(0, 0, 0), text(0, 0, 1), std::string("rocksdb_version=6.29.5"),
        std::string("rocksdb_version="), std::string(),
        std::string(5000, '#') + text(1, 0, 0)}) {
    EXPECT_TRUE(CheckSourceIsNotNewer(readable).ok());
  }
}

}  // namespace
}  // namespace rocksync
