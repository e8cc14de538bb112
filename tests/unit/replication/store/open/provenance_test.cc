// What the traces of a database say together.

#include "replication/store/open/provenance.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "replication/store/format/marker.h"
#include "tests/unit/replication/store/listing_marker.h"

namespace rocksync {
namespace {

ProvenanceFacts Of(std::vector<std::string> marks, const std::string& mark) {
  ProvenanceFacts traces;
  if (!marks.empty()) traces.marker = Listing(std::move(marks));
  traces.has_index = !mark.empty();
  traces.index_complete = !mark.empty();
  traces.mark = mark;
  return traces;
}

TEST(ProvenanceTest, BetweenChanges) {
  EXPECT_EQ(Judge(Of({}, "")), Provenance::kPlain);
  EXPECT_EQ(Judge(Of({kNew}, kNew)), Provenance::kOwn);
  EXPECT_EQ(Judge(Of({kNew}, "")), Provenance::kIndexLost);
  EXPECT_EQ(Judge(Of({}, kNew)), Provenance::kCopy);
  EXPECT_EQ(Judge(Of({kNew}, kOld)), Provenance::kPutBack);
}

// Between any two steps of a change (marker.h) it is what it was before, or
// what it is after.
TEST(ProvenanceTest, AmidAChange) {
  EXPECT_EQ(Judge(Of({kOld, kNew}, kOld)), Provenance::kOwn);
  EXPECT_EQ(Judge(Of({kOld, kNew}, kNew)), Provenance::kOwn);
  EXPECT_EQ(Judge(Of({"", kNew}, "")), Provenance::kPlain);
  EXPECT_EQ(Judge(Of({"", kNew}, kNew)), Provenance::kOwn);
  EXPECT_EQ(Judge(Of({kOld, ""}, kOld)), Provenance::kOwn);
  EXPECT_EQ(Judge(Of({kOld, ""}, "")), Provenance::kPlain);
  // A copy that becomes a new replica: its original's mark is in no list.
  EXPECT_EQ(Judge(Of({kNew}, kOld)), Provenance::kPutBack);
  EXPECT_EQ(Judge(Of({kOld, kNew}, "")), Provenance::kIndexLost);
}

TEST(ProvenanceTest, APartOfAnIndex) {
  ProvenanceFacts traces;
  traces.has_index = true;
  EXPECT_EQ(Judge(traces), Provenance::kIndexLost) << "of a copy";
  traces.marker = Listing({kNew});
  EXPECT_EQ(Judge(traces), Provenance::kIndexLost);
  traces.marker = Listing({"", kNew});
  EXPECT_EQ(Judge(traces), Provenance::kPlain) << "it was being made anew";
}

TEST(ProvenanceTest, APartOfTheLog) {
  ProvenanceFacts traces = Of({kNew}, kNew);
  traces.loss = Loss::kLog;
  EXPECT_EQ(Judge(traces), Provenance::kPutBack);
}

TEST(ProvenanceTest, AnotherRocksDBIdentity) {
  ProvenanceFacts traces = Of({kNew}, kNew);
  traces.same_db_identity = false;
  EXPECT_EQ(Judge(traces), Provenance::kRepaired);
  traces.mark = kOld;
  EXPECT_EQ(Judge(traces), Provenance::kPutBack);
}

TEST(ProvenanceTest, EveryRefusalNamesThePlaceAndTheRemedy) {
  for (const Provenance provenance :
       {Provenance::kIndexLost, Provenance::kCopy, Provenance::kPutBack,
        Provenance::kRepaired}) {
    const std::string text = Refusal(provenance, "/d").ToString();
    EXPECT_NE(text.find("/d"), std::string::npos) << text;
    // An option's name alone: it is the same in each language.
    EXPECT_NE(text.find("the option "), std::string::npos) << text;
    EXPECT_EQ(text.find("ReplicatedDBOptions::"), std::string::npos) << text;
  }
  EXPECT_TRUE(Refusal(Provenance::kOwn, "/d").ok());
  EXPECT_TRUE(Refusal(Provenance::kPlain, "/d").ok());
}

}  // namespace
}  // namespace rocksync
