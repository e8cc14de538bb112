// What the demo does to its replicas, from the first key to the proof.

#ifndef EXAMPLES_DEMO_STORY_H_
#define EXAMPLES_DEMO_STORY_H_

#include <cstdint>
#include <functional>

#include "examples/demo/cluster.h"
#include "examples/demo/progress.h"
#include "examples/demo/report.h"
#include "rocksdb/status.h"

namespace rocksync {

struct StoryOptions {
  uint64_t keys = 100'000;
  uint64_t changes = 10'000;  // on each of the two sides
  uint64_t seed = 1;
  // Called, if there is one, when all are proven equal, before they are
  // stopped: whoever looks on shall see that they are.
  std::function<void()> when_equal;
};

// `cluster` runs. Loads keys through all replicas, cuts the last one off,
// changes both sides, lets it return, and measures until all are proven equal.
// Then stops the replicas and compares their databases. OK means that this
// could be done; whether they were equal is in the report.
rocksdb::Status TellStory(const StoryOptions& options, Cluster* cluster,
                          Progress* progress, Report* report);

}  // namespace rocksync

#endif  // EXAMPLES_DEMO_STORY_H_
