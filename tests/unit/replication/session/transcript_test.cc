// Sessions as text that can be read. The files in testdata are compared with
// what happens; ROCKSYNC_REGENERATE=1 writes them anew, for a diff to show.

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/simulation/conversation.h"
#include "tests/simulation/memory_storage.h"

namespace rocksync {
namespace {

class TranscriptTest : public testing::Test {
 protected:
  MemoryStorage Replica(uint64_t id) {
    MemoryStorage::Options options;
    options.replica_id = id;
    options.families = {"default", "users"};
    options.wall_ms = [this] { return ++wall_ms_; };
    return MemoryStorage(&hasher_, options);
  }

  void Note(std::string_view what, const SessionRunResult& result) {
    absl::StrAppend(&text_, "# ", absl::string_view(what.data(), what.size()),
                    "\n");
    for (const std::string& line : result.transcript) {
      absl::StrAppend(&text_, line, "\n");
    }
    absl::StrAppend(&text_, result.proven() ? "proven equal" : "not proven",
                    ", ", result.bytes, " bytes\n\n");
  }

  void Compare(const std::string& name) {
    const std::string path = absl::StrCat(ROCKSYNC_TESTDATA, "/", name);
    if (std::getenv("ROCKSYNC_REGENERATE") != nullptr) {
      std::ofstream(path) << text_;
      return;
    }
    std::ostringstream expected;
    expected << std::ifstream(path).rdbuf();
    EXPECT_EQ(expected.str(), text_) << "see " << path;
  }

  uint64_t wall_ms_ = 1000;
  const ElementHasher hasher_{ClusterSecret{1, 2, 3}};
  std::string text_;
};

// In mode bloom, so that what the model chooses does not show here.
TEST_F(TranscriptTest, ReadableSession) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  SessionRunOptions options;
  options.initiator.exchange.mode = ExchangeMode::kBloom;
  options.initiator.exchange.false_positive_rate = 0.01;

  Note("both are empty", DriveSession(&a, &b, options));
  for (const char* key : {"apple", "pear", "plum", "quince"}) {
    a.Put(0, key, absl::StrCat("the ", key));
  }
  Note("one fills the other", DriveSession(&a, &b, options));
  Note("nothing to do", DriveSession(&b, &a, options));

  a.Put(0, "apple", "a red apple");
  b.Put(0, "apple", "a green apple, and later");
  a.Delete(0, "pear");
  b.Put(1, "anna", "a user");
  b.Delete(0, "plum");
  a.Put(0, "plum", "a plum that came back");
  options.seed.session_number = 1;
  Note("overwrites and deletes on both sides", DriveSession(&a, &b, options));

  a.Put(1, "large", std::string(600'000, 'x'));
  options.initiator.max_turn_bytes = 300'000;
  options.seed.session_number = 2;
  Note("a large value, in turns of 300 kB", DriveSession(&a, &b, options));

  wall_ms_ += 100'000;
  a.Put(0, "tomorrow", "value");
  wall_ms_ -= 100'000;
  options.seed.session_number = 3;
  Note("a version too far in the future", DriveSession(&a, &b, options));

  options.responder_busy = true;
  Note("busy", DriveSession(&a, &b, options));
  options.responder_busy = false;
  b.SetIndexBuild("adopting, 43 %");
  Note("an adoption is running", DriveSession(&a, &b, options));
  Compare("session.txt");
}

TEST_F(TranscriptTest, ReadableBatches) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  SessionRunOptions options;
  options.initiator.exchange.mode = ExchangeMode::kBloom;
  options.initiator.exchange.false_positive_rate = 0.001;
  options.initiator.max_batch_elements = 3;
  options.responder.max_batch_elements = 2;
  for (const char* key : {"apple", "pear", "plum", "quince", "cherry"}) {
    a.Put(0, key, absl::StrCat("the ", key));
  }
  Note("an empty side is filled, batch by batch",
       DriveSession(&a, &b, options));
  a.Put(0, "apple", "a red apple");
  b.Put(0, "pear", "a green pear");
  options.seed.session_number = 1;
  Note("the leaves that differ are found", DriveSession(&a, &b, options));
  Compare("batches.txt");
}

TEST_F(TranscriptTest, ReadableQuarantined) {
  MemoryStorage a = Replica(1);
  MemoryStorage b = Replica(2);
  SessionRunOptions options;
  options.initiator.exchange.mode = ExchangeMode::kBloom;
  options.initiator.exchange.false_positive_rate = 0.01;
  for (const char* key : {"apple", "pear"}) a.Put(0, key, "sound");
  Note("nothing is quarantined", DriveSession(&a, &b, options));
  a.Corrupt(0, "apple");
  a.Scrub();
  b.Corrupt(0, "apple");
  b.Scrub();
  Note("both quarantined their pair of a key", DriveSession(&a, &b, options));
  a.Put(0, "plum", "sound");
  b.Put(0, "apple", "written again");
  options.seed.session_number = 1;
  Note("one of them is written, and repairs the other",
       DriveSession(&a, &b, options));
  b.Put(0, "quince", "sound");
  b.Corrupt(0, "quince");
  b.Scrub();
  a.Put(0, "cherry", "sound");
  options.seed.session_number = 2;
  Note("one quarantines a pair that the other lacks",
       DriveSession(&a, &b, options));
  Compare("quarantined.txt");
}

}  // namespace
}  // namespace rocksync
