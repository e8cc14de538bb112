// The texts that RocksDB's errors have in the versions of docs/testing.md. That
// an installed RocksDB still words them so, the tests of opening and damage
// see.
#include "replication/base/rocksdb_errors.h"

#include <gtest/gtest.h>

namespace rocksync {
namespace {

using rocksdb::Status;

TEST(RocksDBErrorsTest, OursAreKnown) {
  EXPECT_TRUE(IsOurError(Status::NoSpace("rocksync: /d has 1 bytes free")));
  EXPECT_FALSE(IsOurError(Status::Corruption("block checksum mismatch")));
}

TEST(RocksDBErrorsTest, WhoHasTheLock) {
  const Status elsewhere = Status::IOError("While lock file: /d/LOCK",
                                           "Resource temporarily unavailable");
  EXPECT_TRUE(IsLockHeld(elsewhere));
  EXPECT_STREQ(WhoHasItOpen(elsewhere),
               "is in use by another process, stop that one first");
  const Status here = Status::IOError(
      "lock hold by current process, acquire time 1 acquiring thread 2: "
      "/d/LOCK",
      "No locks available");
  EXPECT_TRUE(IsLockHeld(here));
  EXPECT_STREQ(WhoHasItOpen(here),
               "is open in this process already, close it first");
  const Status not_made = Status::IOError("while open a file for lock: /d/LOCK",
                                          "Read-only file system");
  EXPECT_FALSE(IsLockHeld(not_made));
  EXPECT_EQ(WhoHasItOpen(not_made), nullptr);
}

TEST(RocksDBErrorsTest, WhyADirectoryWasNotMade) {
  EXPECT_EQ(
      DirectoryFaultOf(Status::IOError("`/d' exists but is not a directory")),
      DirectoryFault::kIsFile);
  EXPECT_EQ(DirectoryFaultOf(Status::IOError("While mkdir if missing: /a/b",
                                             "No such file or directory")),
            DirectoryFault::kNoParent);
  EXPECT_EQ(DirectoryFaultOf(Status::IOError("While mkdir if missing: /a/b",
                                             "Permission denied")),
            DirectoryFault::kOther);
  EXPECT_EQ(DirectoryFaultOf(Status::IOError("while stat a file")),
            DirectoryFault::kNone);
}

TEST(RocksDBErrorsTest, WhatIsDamaged) {
  EXPECT_EQ(DamagedPartOf(
                Status::Corruption("SST file is ahead of WALs in CF default")),
            DamagedPart::kLog);
  EXPECT_EQ(DamagedPartOf(Status::Corruption(
                "Column family inconsistency: SST file contains data beyond "
                "the point of corruption.")),
            DamagedPart::kLog);
  EXPECT_EQ(DamagedPartOf(
                Status::Corruption("CURRENT file does not end with newline")),
            DamagedPart::kCurrent);
  EXPECT_EQ(DamagedPartOf(Status::Corruption("no meta-nextfile entry in "
                                             "MANIFEST")),
            DamagedPart::kManifestEntry);
  EXPECT_EQ(DamagedPartOf(Status::Corruption(
                "Can't access /000008.sst; in MANIFEST-000005")),
            DamagedPart::kInManifest);
  EXPECT_EQ(DamagedPartOf(Status::Corruption("block checksum mismatch")),
            DamagedPart::kNone);
}

TEST(RocksDBErrorsTest, TheTableThatIsNamed) {
  EXPECT_EQ(
      TableOf(Status::Corruption("bad magic number: in /d/000012.sst"), "/d"),
      "/d/000012.sst");
  EXPECT_EQ(TableOf(Status::Corruption("Can't access /000012.sst"), "/d"),
            "/000012.sst");
  EXPECT_EQ(TableOf(Status::Corruption("a checksum in 000012.sst"), "/d"),
            "/d/000012.sst");
  EXPECT_EQ(TableOf(Status::Corruption("in /a.sst/000012.log"), "/d"), "");
  const Status missing =
      Status::IOError("While open a file for random read: /a b/000012.ldb",
                      "No such file or directory");
  EXPECT_TRUE(IsMissingFile(missing));
  EXPECT_EQ(TableNotFound(missing, "/a b"), "/a b/000012.sst");
  EXPECT_FALSE(IsMissingFile(Status::OK()));
}

TEST(RocksDBErrorsTest, FilesThatAreNamed) {
  EXPECT_TRUE(
      NamesFile(Status::IOError("While fsync: /d.log/000004.log"), ".log"));
  EXPECT_TRUE(NamesFile(Status::IOError("/d/000004.log: no space"), ".log"));
  EXPECT_FALSE(NamesFile(Status::IOError("While fsync: /d4.log/x"), ".log"));
  EXPECT_FALSE(NamesFile(Status::IOError("While fsync: /d/x.log"), ".log"));
  EXPECT_FALSE(NamesFile(Status::IOError("/d/000004.logs"), ".log"));
  EXPECT_TRUE(NamesManifest(Status::IOError("/d/MANIFEST-000001")));
}

TEST(RocksDBErrorsTest, OptionsAndTables) {
  EXPECT_TRUE(OnlyLacksOptionsFile(
      Status::IOError("Unable to persist options.", "IO error: no space")));
  EXPECT_FALSE(OnlyLacksOptionsFile(Status::IOError("/d/OPTIONS-7: no space")));
  EXPECT_TRUE(IsUnknownTableFormat(Status::InvalidArgument(
      "Unsupported BlockBasedTable format_version. Please check")));
  EXPECT_TRUE(LacksMergeOperator(
      Status::InvalidArgument("merge_operator is not properly initialized.")));
  EXPECT_FALSE(LacksMergeOperator(Status::Corruption("merge_operator")));
  EXPECT_TRUE(IsOfTableOrder(Status::Corruption(
      "force_consistency_checks(DEBUG): L1 has overlapping ranges")));
}

}  // namespace
}  // namespace rocksync
