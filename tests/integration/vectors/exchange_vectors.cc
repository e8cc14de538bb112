// docs/exchange.md: mappings, fields, sketches, filters, whole exchanges.

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "replication/reconcile/exchange.h"
#include "replication/reconcile/exchange_messages.h"
#include "replication/reconcile/leaf_search.h"
#include "replication/session/exchange_series.h"
#include "sketch/element/bit_stream.h"
#include "sketch/element/digest.h"
#include "sketch/element/gap_coding.h"
#include "sketch/element/mapping.h"
#include "sketch/element/sha256.h"
#include "sketch/filter/distributed_bloom_filter.h"
#include "sketch/filter/filter_coding.h"
#include "sketch/parities/coupled_parities.h"
#include "sketch/pinsketch/field.h"
#include "sketch/pinsketch/keyed_set.h"
#include "sketch/pinsketch/power_sums.h"
#include "sketch/pinsketch/syndrome_decoder.h"
#include "sketch/planning/difference_estimate.h"
#include "tests/integration/vectors/vectors.h"

namespace rocksync {
namespace {

constexpr ElementHash kElement = {0x0123456789abcdef, 0xfedcba9876543210};

// Element i of the sets: i * 2^96 + i * i.
std::vector<ElementHash> Elements(uint64_t first, uint64_t last) {
  std::vector<ElementHash> elements;
  for (uint64_t i = first; i <= last; ++i) elements.push_back({i << 32, i * i});
  return elements;
}

class ExchangeVectors {
 public:
  explicit ExchangeVectors(Vectors* vectors)
      : vectors_(vectors),
        seed_(ExchangeSeed({kDialerNonce, kListenerNonce, 2}, 1)) {}

  void AddMappings() {
    Add("exchange.seed", AsPiece(seed_));
    for (const auto& [purpose, index] :
         {std::pair(1, 0), {1, 64}, {2, 0}, {3, 0}, {3, 1}, {4, 0}, {4, 1}}) {
      Add(absl::StrCat("mapping.", purpose, ".", index),
          Bytes(DeriveMapping(seed_, purpose, index)));
    }
    const MappingKey key = DeriveMapping(seed_, 1, 0);
    Add("mix.element", Bytes(kElement));
    Add("mix", Fixed64(Mix(kElement, key)));
    Add("short_mix", Fixed32(ShortMix(kElement, key)));
    Add("place.1000", Fixed64(Place(kElement, key, 1000, Reduction::kMixed)));
    Add("place.1000000000",
        Fixed64(Place(kElement, key, 1'000'000'000, Reduction::kMixed)));
  }

  void AddFields() {
    for (int bits = kMinFieldBits; bits <= kMaxFieldBits; ++bits) {
      Add(absl::StrCat("field.", bits), Fixed32(FieldPolynomial(bits)));
    }
    for (const int bits : {4, 8, 15, 32}) {
      const Field field(bits);
      Add(absl::StrCat("field.", bits, ".product"),
          Fixed32(field.Multiply(0x89abcdef & field.mask(),
                                 0x98765432 & field.mask())));
    }
  }

  // Two groups of 15 bits, of elements 1 to 8 here and 2 to 9 there.
  void AddSketch() {
    const MappingKey key = DeriveMapping(seed_, 2, 0);
    const std::vector<ElementHash> mine = Elements(1, 8);
    const std::vector<ElementHash> theirs = Elements(2, 9);
    Add("sketch.place", Fixed64(Mix(mine.front(), key) >> (64 - kPlaceBits)));
    const IdShape shape = {.groups = 2, .bits = 15};
    std::vector<uint32_t> sums = AddSums("sketch.mine", mine, key, shape);
    const std::vector<uint32_t> other =
        AddSums("sketch.theirs", theirs, key, shape);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] ^= other[i];
    for (uint32_t group = 0; group < shape.groups; ++group) {
      std::vector<uint32_t> ids;
      EXPECT_TRUE(DecodePowerSums(Field(shape.bits),
                                  std::span(sums).subspan(group * kSums, kSums),
                                  &ids));
      std::sort(ids.begin(), ids.end());
      Add(absl::StrCat("sketch.difference.", group), AllFixed32(ids));
    }
    std::string bits;
    BitWriter writer(&bits);
    const std::vector<uint64_t> ranks = {3, 17, 18, 60};
    PutPositions(ranks, 100, &writer);
    writer.Flush();
    Add("sketch.ranks", bits);
  }

  void AddEstimates() {
    const std::vector<ElementHash> elements = Elements(1, 40);
    Add("estimate",
        Parities(elements, DeriveMapping(seed_, 3, 0), ShapeParities(80, 32)));
    Add("estimate.fine",
        FineParities(elements, DeriveMapping(seed_, 3, 1), ShapeFine(300)));
  }

  void AddFilters() {
    const std::vector<uint64_t> slots = {0, 1, 5, 40, 41, 300, 999};
    std::string coded;
    EncodeSlots(slots, 1000, &coded);
    Add("filter.slots", coded);
    const std::vector<ElementHash> elements = Elements(1, 10);
    const FilterShape shape = ShapeFilter(elements.size(), 0.01);
    Add("bloom.shape", Fixed8(shape.probes) + Fixed64(shape.bits));
    for (const int round : {0, 1}) {
      DistributedBloomFilter filter(shape,
                                    FilterMapping(seed_, round, shape.probes));
      for (const ElementHash& element : elements) filter.Add(element);
      Add(round == 0 ? "bloom.first" : "bloom.second", filter.bytes());
    }
  }

  void AddCoupledParities() {
    const CoupledShape shape = {.windows = 3, .cells = 10};
    const CoupledParities parities(Elements(1, 40), std::vector<bool>(40),
                                   DeriveCoupledKeys(seed_), shape);
    std::string cells;
    parities.AppendCells(&cells);
    Add("parities.cells", cells);
    std::string splits;
    parities.AppendSplits(0, 5, &splits);
    Add("parities.splits", splits);
  }

  // Key i of the elements has the position i * 2^56 + i.
  void AddKeyParities() {
    const std::vector<ElementHash> elements = Elements(1, 40);
    std::vector<uint64_t> positions;
    for (uint64_t i = 1; i <= 40; ++i) positions.push_back((i << 56) + i);
    const CoupledShape shape = {.windows = 3, .cells = 10};
    const MappingKey bits = DeriveMapping(seed_, kKeyBitsPurpose, 0);
    for (const uint32_t plane : {0u, 2u}) {
      const CoupledParities parities(
          CoupledMembers(elements, positions, bits, plane),
          DerivePlaneKeys(seed_, plane), shape);
      std::string cells;
      parities.AppendCells(&cells);
      Add(absl::StrCat("key_parities.", plane, ".cells"), cells);
      std::string splits;
      parities.AppendSplits(0, 5, &splits);
      Add(absl::StrCat("key_parities.", plane, ".splits"), splits);
    }
  }

  // Of 64 leaves here and there, with one element more in three of them and
  // another one in the fourth: parities, what the responder asks for, and that.
  void AddLeafSearch() {
    std::vector<Digest> leaves[2];
    for (uint64_t i = 0; i < 64; ++i) {
      leaves[0].push_back({.count = 16 + i, .high = i << 32, .low = i * i});
    }
    leaves[1] = leaves[0];
    leaves[0][5].Add({.high = 7, .low = 49});
    leaves[1][9].Add({.high = 8, .low = 64});
    leaves[1][33].Add({.high = 9, .low = 81});
    leaves[1][40].low += 1;
    const std::vector<bool> closed(64, false);
    const LeafSearchOptions options{
        .per_leaf = 48, .expected = 4, .at_once = true};
    LeafSearch sides[2] = {
        LeafSearch(Role::kInitiator, options, seed_, leaves[0], closed),
        LeafSearch(Role::kResponder, options, seed_, leaves[1], closed)};
    int number = 0;
    for (int speaker = 0; !sides[1].done() && number < 10; speaker ^= 1) {
      std::string payload;
      EXPECT_TRUE(sides[speaker].NextPayload(&payload));
      Add(absl::StrCat("leaf_search.", ++number,
                       speaker == 0 ? ".initiator" : ".responder"),
          payload);
      EXPECT_TRUE(sides[speaker ^ 1].Receive(payload).ok());
    }
    std::string found;
    for (const LeafDifference& one : sides[1].differences()) {
      found += Fixed32(one.leaf) + Fixed8(one.count) + Fixed32(one.sum);
    }
    Add("leaf_search.found", found);
  }

  // The payloads of an exchange, in order, and the numbers of the elements that
  // either side finds to be missing on the other.
  void AddExchange(const std::string& name, const ExchangeOptions& options,
                   const std::vector<ElementHash>& initiator,
                   const std::vector<ElementHash>& other) {
    MappingSeed seed = {};
    seed[0] = 3;
    const std::unique_ptr<Exchange> sides[2] = {
        NewExchange(Role::kInitiator, options, seed, initiator, other.size()),
        NewExchange(Role::kResponder, options, seed, other, initiator.size())};
    int number = 0;
    bool spoke = true;
    for (int speaker = 0; spoke; speaker ^= 1) {
      spoke = false;
      std::string payload;
      while (sides[speaker]->NextPayload(&payload)) {
        spoke = true;
        Add(absl::StrCat("exchange.", name, ".", ++number,
                         speaker == 0 ? ".initiator" : ".other"),
            payload);
        EXPECT_TRUE(sides[speaker ^ 1]->Receive(payload).ok());
        payload.clear();
      }
    }
    EXPECT_TRUE(sides[0]->done() && sides[1]->done()) << name;
    for (const int side : {0, 1}) {
      std::string found;
      for (const uint32_t ordinal : sides[side]->missing_there()) {
        found += Fixed8((side == 0 ? initiator : other)[ordinal].high >> 32);
      }
      Add(absl::StrCat("exchange.", name, ".found.",
                       side == 0 ? "initiator" : "other"),
          found);
    }
  }

  void AddExchanges() {
    const std::vector<ElementHash> here = Elements(1, 40);
    const std::vector<ElementHash> there = Elements(2, 41);
    AddExchange("bytes", {}, here, there);
    ExchangeOptions options;
    options.prefer = Prefer::kRoundTrips;
    AddExchange("round_trips", options, here, there);
    AddExchange("filters", {}, here, Elements(21, 60));
    AddExchange("one_side", {}, here, Elements(1, 4));
    options = {};
    options.mode = ExchangeMode::kBloom;
    options.false_positive_rate = 0.25;
    AddExchange("bloom", options, here, there);
  }

 private:
  static constexpr uint32_t kSums = 3;

  void Add(std::string_view name, std::string_view bytes) {
    vectors_->push_back({std::string(name), std::string(bytes)});
  }

  static std::string AllFixed32(std::span<const uint32_t> numbers) {
    std::string bytes;
    for (const uint32_t number : numbers) bytes += Fixed32(number);
    return bytes;
  }

  // Short ids of each group, ascending, and power sums.
  std::vector<uint32_t> AddSums(const std::string& name,
                                std::span<const ElementHash> elements,
                                const MappingKey& key, const IdShape& shape) {
    const KeyedSet set(elements, key);
    const ShortIds ids(set, shape);
    std::vector<ElementRange> groups;
    for (uint32_t group = 0; group < shape.groups; ++group) {
      const ElementRange range = ids.group(group);
      groups.push_back(range);
      std::vector<uint32_t> sorted(ids.ids().begin() + range.begin,
                                   ids.ids().begin() + range.end);
      std::sort(sorted.begin(), sorted.end());
      Add(absl::StrCat(name, ".ids.", group), AllFixed32(sorted));
    }
    std::vector<uint32_t> sums;
    OddPowerSums(shape.bits, 0, kSums, ids.ids(), groups, &sums);
    std::string packed;
    PackSums(sums, shape.bits, &packed);
    Add(absl::StrCat(name, ".sums"), packed);
    return sums;
  }

  Vectors* const vectors_;
  const MappingSeed seed_;
};

}  // namespace

void AddExchangeVectors(Vectors* vectors) {
  ExchangeVectors exchange(vectors);
  exchange.AddMappings();
  exchange.AddFields();
  exchange.AddSketch();
  exchange.AddEstimates();
  exchange.AddFilters();
  exchange.AddCoupledParities();
  exchange.AddKeyParities();
  exchange.AddLeafSearch();
  exchange.AddExchanges();
}

}  // namespace rocksync
