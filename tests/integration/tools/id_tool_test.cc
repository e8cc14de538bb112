// `rocksync id --make`: for which directories it makes an id.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "replication/store/format/current_manifest.h"
#include "rocksync/replica_id.h"
#include "rocksync/replicated_db.h"
#include "tests/sanitized.h"
#include "tests/support/file_content.h"
#include "tests/support/flip_bit.h"
#include "tests/support/temporary_directory.h"
#include "tools/id.h"

namespace rocksync {
namespace {

namespace fs = std::filesystem;

using testing::HasSubstr;

class IdToolTest : public testing::Test {
 protected:
  void SetUp() override { fs::create_directory(Path()); }

  std::string Path() const { return root_ / "db"; }
  void Make(const std::string& file) const {
    std::ofstream(Path() + "/" + file) << "x";
  }
  int MakeId() { return RunId({Path(), {}, /*make=*/true}, out_, err_); }
  int PrintId() { return RunId({Path(), {}}, out_, err_); }

  const TemporaryDirectory root_;
  std::ostringstream out_;
  std::ostringstream err_;
};

// As scripts do that prepare several replicas.
TEST_F(IdToolTest, ThoseWhoMakeOneAtATimePrintTheSame) {
  for (int round = 0; round < 20; ++round) {
    fs::remove(Path() + "/ROCKSYNC.id");
    std::array<std::ostringstream, 4> outs;
    std::vector<std::thread> runs;
    for (std::ostringstream& out : outs) {
      runs.emplace_back([this, &out] {
        std::ostringstream err;
        EXPECT_EQ(RunId({Path(), {}, /*make=*/true}, out, err), 0) << err.str();
      });
    }
    for (std::thread& run : runs) run.join();
    const std::string made = FileContent(Path() + "/ROCKSYNC.id");
    for (const std::ostringstream& out : outs) EXPECT_EQ(out.str(), made);
  }
}

// Whoever prints an id prints the replica's, or says that it cannot.
TEST_F(IdToolTest, OneThatIsMadeBesideTheFirstOpeningIsTaken) {
  rocksdb::Options options;
  options.create_if_missing = true;
  ReplicatedDBOptions replication;
  replication.cluster_name = "test";
  replication.cluster_secret.fill(7);
  for (int round = 0; round < (kSanitized ? 10 : 30); ++round) {
    fs::remove_all(Path());
    std::ostringstream out;
    std::ostringstream err;
    int made = 0;
    std::thread run([&] {
      // At another moment of the opening each time.
      std::this_thread::sleep_for(
          std::chrono::milliseconds(kSanitized ? 5 * round : round));
      made = RunId({Path(), {}, /*make=*/true}, out, err);
    });
    ReplicatedDB* db = nullptr;
    const rocksdb::Status status =
        ReplicatedDB::Open(options, replication, Path(), &db);
    run.join();
    ASSERT_TRUE(status.ok()) << status.ToString();
    const std::unique_ptr<ReplicatedDB> closes(db);
    if (made == 0) {
      EXPECT_EQ(out.str(), ReplicaIdHex(db->Identity().replica_id) + "\n");
    }
  }
}

// The directory above the database, say.
TEST_F(IdToolTest, NoneIsMadeAmongOtherFiles) {
  Make("main.cc");
  EXPECT_EQ(MakeId(), 2);
  EXPECT_EQ(out_.str(), "");
  EXPECT_THAT(err_.str(),
              HasSubstr(Path() + " is neither empty nor a RocksDB database, "
                                 "as main.cc is in it: give the directory"));
  EXPECT_FALSE(fs::exists(Path() + "/ROCKSYNC.id"));
}

// What a disk begins with, a kill while the id was written, and an opening that
// may not make the database.
TEST_F(IdToolTest, OneIsMadeAmongWhatIsNobodys) {
  fs::create_directory(Path() + "/lost+found");
  for (const char* file : {"ROCKSYNC.id.new", "LOCK", "LOG", "LOG.old.17"}) {
    Make(file);
  }
  EXPECT_EQ(MakeId(), 0) << err_.str();
  EXPECT_EQ(out_.str().size(), 17u);
  EXPECT_TRUE(fs::exists(Path() + "/ROCKSYNC.id"));
}

// What copies or removes the one around it would take it along.
TEST_F(IdToolTest, NoneIsMadeWithinAnotherDatabase) {
  Make("CURRENT");
  const std::string within = Path() + "/sub";
  EXPECT_EQ(RunId({within, {}, /*make=*/true}, out_, err_), 2);
  EXPECT_THAT(err_.str(),
              HasSubstr(within + " lies in the directory of another database"));
  EXPECT_FALSE(fs::exists(within));
}

TEST_F(IdToolTest, ADirectoryThatMayNotBeWrittenInIsNamed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root becomes another user";
  fs::permissions(root_.path(), fs::perms::group_exec, fs::perm_options::add);
  ASSERT_EQ(chown(Path().c_str(), 65534, 65534), 0);
  fs::permissions(Path(), fs::perms::owner_read | fs::perms::owner_exec);
  ASSERT_EQ(seteuid(65534), 0);
  const int made = MakeId();
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_EQ(made, 2);
  EXPECT_THAT(err_.str(), HasSubstr("cannot write " + Path() +
                                    "/, permission denied: run as the user"));
}

TEST_F(IdToolTest, WithoutADatabaseTheErrorNamesBothRemedies) {
  for (const char* where : {"an empty directory", "none"}) {
    SCOPED_TRACE(where);
    err_.str("");
    EXPECT_EQ(PrintId(), 2);
    EXPECT_THAT(err_.str(), HasSubstr("give the directory of an offline"));
    EXPECT_THAT(err_.str(), HasSubstr("`rocksync id --make " + Path() + "`"));
    fs::remove(Path());
  }
  EXPECT_FALSE(fs::exists(Path()));
}

TEST_F(IdToolTest, AFileIsNoDirectory) {
  fs::remove(Path());
  std::ofstream(Path()) << "a certificate, say";
  EXPECT_EQ(PrintId(), 2);
  EXPECT_THAT(err_.str(), HasSubstr(Path() + " is a file"));
  err_.str("");
  EXPECT_EQ(MakeId(), 2);
  EXPECT_THAT(err_.str(), HasSubstr(Path() + " is a file"));
}

TEST_F(IdToolTest, ADamagedManifestIsNamedWithTheRemedy) {
  ReplicatedDB* opened = nullptr;
  rocksdb::Options options;
  options.create_if_missing = true;
  ReplicatedDBOptions replication;
  replication.cluster_name = "test";
  replication.cluster_secret.fill(7);
  ASSERT_TRUE(ReplicatedDB::Open(options, replication, Path(), &opened).ok());
  delete opened;
  const std::string manifest =
      ManifestFile(CurrentManifest(rocksdb::Env::Default(), Path()));
  FlipABit(Path() + "/" + manifest, 20);
  EXPECT_EQ(PrintId(), 2);
  EXPECT_THAT(err_.str(), HasSubstr("rocksync: the MANIFEST of " + Path()));
  EXPECT_THAT(err_.str(), HasSubstr("`rocksync repair`"));
}

TEST_F(IdToolTest, OtherFilesAreNoDatabase) {
  Make("main.cc");
  EXPECT_EQ(PrintId(), 2);
  EXPECT_THAT(err_.str(), HasSubstr("is not a RocksDB database"));
}

}  // namespace
}  // namespace rocksync
