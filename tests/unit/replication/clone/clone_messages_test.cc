#include "replication/clone/clone_messages.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sketch/element/coding.h"

namespace rocksync {
namespace {

ClusterSecret Secret() {
  ClusterSecret secret;
  secret.fill(7);
  return secret;
}

TEST(CloneFileNameTest, WhatACheckpointHolds) {
  for (const char* name :
       {"CURRENT", "MANIFEST-000005", "OPTIONS-000007", "000012.sst",
        "000013.blob", "000014.log", "18446744073709551615.sst"}) {
    EXPECT_TRUE(IsCloneFileName(name)) << name;
  }
}

TEST(CloneFileNameTest, WhatLeadsElsewhereOrMeansSomethingElse) {
  for (const std::string& name :
       std::vector<std::string>{"",
                                ".",
                                "..",
                                "/",
                                "../000012.sst",
                                "/etc/passwd",
                                "a/000012.sst",
                                "000012.sst/",
                                "000012.sst ",
                                " 000012.sst",
                                ".sst",
                                "x.sst",
                                "-1.sst",
                                "000012.SST",
                                "000012.sst.new",
                                "000012.ldb",
                                "MANIFEST-",
                                "MANIFEST-1x",
                                "MANIFEST-../1",
                                "OPTIONS-1.dbtmp",
                                "CURRENT.new",
                                "current",
                                "LOCK",
                                "LOG",
                                "IDENTITY",
                                "ROCKSYNC",
                                "ROCKSYNC-CLONE",
                                std::string("000012.sst\0", 11),
                                std::string("00\0012.sst", 9),
                                "000000000000000000001.sst"}) {
    EXPECT_FALSE(IsCloneFileName(name)) << name;
  }
}

TEST(CloneAskTest, IsBoundToTheConnection) {
  const std::string message = AskMessage(Secret(), "hello", "challenge",
                                         {.replica_id = 5, .ticket = 6});
  ASSERT_TRUE(IsCloneMessage(message));
  CloneAsk ask;
  ASSERT_TRUE(DecodeAsk(Secret(), "hello", "challenge", message, &ask).ok());
  EXPECT_EQ(ask.replica_id, 5u);
  EXPECT_EQ(ask.ticket, 6u);
  EXPECT_FALSE(DecodeAsk(Secret(), "hello!", "challenge", message, &ask).ok());
  EXPECT_FALSE(DecodeAsk(Secret(), "hello", "chall", message, &ask).ok());
  ClusterSecret other;
  other.fill(8);
  EXPECT_FALSE(DecodeAsk(other, "hello", "challenge", message, &ask).ok());
  std::string changed = message;
  changed.back() ^= 1;
  EXPECT_FALSE(DecodeAsk(Secret(), "hello", "challenge", changed, &ask).ok());
  EXPECT_FALSE(DecodeAsk(Secret(), "hello", "challenge",
                         AskMessage(Secret(), "hello", "challenge", {}), &ask)
                   .ok())
      << "no replica has id 0";
}

CloneFiles SomeFiles() {
  return {.ticket = 1,
          .source_id = 2,
          .files = {{"000012.sst", 1 << 20}, {"CURRENT", 16}}};
}

bool Reads(const CloneFiles& files) {
  CloneFiles read;
  return DecodeFiles(FilesMessage(files), &read).ok();
}

TEST(CloneFilesTest, ComeAsTheyWent) {
  CloneFiles read;
  ASSERT_TRUE(DecodeFiles(FilesMessage(SomeFiles()), &read).ok());
  EXPECT_EQ(read.ticket, 1u);
  EXPECT_EQ(read.source_id, 2u);
  ASSERT_EQ(read.files.size(), 2u);
  EXPECT_EQ(read.files[0].name, "000012.sst");
  EXPECT_EQ(read.files[0].size, uint64_t{1} << 20);
  EXPECT_EQ(read.files[1].name, "CURRENT");
}

TEST(CloneFilesTest, WhatIsRefused) {
  ASSERT_TRUE(Reads(SomeFiles()));
  CloneFiles files = SomeFiles();
  files.files[0].name = "../12.sst";
  EXPECT_FALSE(Reads(files)) << "a name that leads out of the directory";
  files = SomeFiles();
  files.files.insert(files.files.begin(), files.files[0]);
  EXPECT_FALSE(Reads(files)) << "a file twice";
  files = SomeFiles();
  std::swap(files.files[0], files.files[1]);
  EXPECT_FALSE(Reads(files)) << "not in order";
  files = SomeFiles();
  files.files.pop_back();
  EXPECT_FALSE(Reads(files)) << "no CURRENT";
  files = SomeFiles();
  files.files[1].size = 65;
  EXPECT_FALSE(Reads(files)) << "a CURRENT that names no MANIFEST";
  files = SomeFiles();
  files.files[0].size = kMaxCloneFileBytes + 1;
  EXPECT_FALSE(Reads(files)) << "a size beyond bounds";
  files = SomeFiles();
  files.ticket = 0;
  EXPECT_FALSE(Reads(files)) << "no ticket";
}

TEST(CloneFilesTest, ACountIsBoundedByWhatIsThere) {
  std::string message = FilesMessage(SomeFiles());
  message.resize(2 + 8 + 8);
  PutVarint64(&message, kMaxCloneFiles);
  CloneFiles read;
  EXPECT_FALSE(DecodeFiles(message, &read).ok());
  EXPECT_LT(read.files.capacity(), 100u);
}

TEST(CloneCheckTest, HasOneHashAChunk) {
  CloneCheck check = {
      .file = 3, .size = kCloneChunkBytes + 1, .hashes = {{1, 2}, {3, 4}}};
  CloneCheck read;
  ASSERT_TRUE(DecodeCheck(CheckMessage(check), &read).ok());
  EXPECT_EQ(read.file, 3u);
  EXPECT_EQ(read.size, kCloneChunkBytes + 1);
  EXPECT_EQ(read.hashes, check.hashes);
  check.size = kCloneChunkBytes;
  EXPECT_FALSE(DecodeCheck(CheckMessage(check), &read).ok()) << "one too many";
  check.size = 2 * kCloneChunkBytes + 1;
  EXPECT_FALSE(DecodeCheck(CheckMessage(check), &read).ok()) << "one too few";
  check = {.file = 3, .size = 0, .hashes = {}};
  EXPECT_FALSE(DecodeCheck(CheckMessage(check), &read).ok()) << "of nothing";
}

std::string DataMessage(std::string_view bytes) {
  std::string message(kDataHeadBytes, '\0');
  PutDataHead(ElementHasher::HashIssuedValue(bytes), message.data());
  return message.append(bytes);
}

TEST(CloneDataTest, ADamagedChunkShows) {
  std::string message = DataMessage("some bytes of a file");
  std::string_view bytes;
  ASSERT_TRUE(DecodeData(message, &bytes).ok());
  EXPECT_EQ(bytes, "some bytes of a file");
  for (size_t i = 2; i < message.size(); ++i) {
    std::string damaged = message;
    damaged[i] ^= 0x10;
    EXPECT_TRUE(absl::IsDataLoss(DecodeData(damaged, &bytes))) << i;
  }
  EXPECT_FALSE(DecodeData(DataMessage(""), &bytes).ok());
  EXPECT_FALSE(
      DecodeData(DataMessage(std::string(kCloneChunkBytes + 1, 'x')), &bytes)
          .ok());
}

TEST(CloneMessageTest, OthersAreNotTakenForIt) {
  CloneRead read;
  uint64_t size = 0;
  CloneRefusal refusal;
  EXPECT_TRUE(DecodeRead(ReadMessage({1, 2}), &read).ok());
  EXPECT_FALSE(DecodeRead(SameMessage(1), &read).ok());
  EXPECT_FALSE(DecodeSame(ReadMessage({1, 2}), &size).ok());
  EXPECT_FALSE(DecodeSame(SameMessage(1) + "x", &size).ok());
  using Refusal = CloneRefusal::Kind;
  for (const Refusal kind :
       {Refusal::kForGood, Refusal::kLater, Refusal::kStorageFailed}) {
    EXPECT_TRUE(
        DecodeCloneRefusal(CloneRefusalMessage({kind, "why"}), &refusal).ok());
    EXPECT_EQ(refusal.kind, kind);
    EXPECT_EQ(refusal.text, "why");
  }
  EXPECT_TRUE(DecodeCloneRefusal(
                  CloneRefusalMessage({Refusal::kLater, "w\x1b\xff"}), &refusal)
                  .ok());
  EXPECT_EQ(refusal.text, R"(w\x1b\xff)") << "which is for people";
  EXPECT_FALSE(
      DecodeCloneRefusal(CloneRefusalMessage({static_cast<Refusal>(3), "why"}),
                         &refusal)
          .ok());
  CloneMessage kind;
  EXPECT_FALSE(KindOf("", &kind).ok());
  EXPECT_FALSE(KindOf(DoneMessage().substr(0, 1), &kind).ok());
  EXPECT_FALSE(KindOf(std::string("\x1d\x09"), &kind).ok());
  EXPECT_FALSE(KindOf(std::string("\x01\x08"), &kind).ok());
}

}  // namespace
}  // namespace rocksync
