#include "tests/bench/filter/sets.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "tests/bench/filter/contenders.h"
#include "tests/bench/filter/keys.h"
#include "tests/bench/filter/stopwatch.h"

namespace rocksync::bench {
namespace {

constexpr size_t kQueries = 4096;  // in one turn
constexpr size_t kBatch = 32;

volatile size_t sink;  // so that no query is optimised away

// Keys to ask for, new ones in each turn, so that no cache or branch predictor
// has seen them; each goes to one of `filters` filters that hold `per_filter`
// keys each, numbered on.
class Queries {
 public:
  Queries(size_t filters, size_t per_filter, size_t key_bytes)
      : filters_(filters),
        per_filter_(per_filter),
        key_bytes_(key_bytes),
        memory_(kQueries * key_bytes, 0),
        keys_(kQueries),
        filter_of_(kQueries) {
    for (size_t i = 0; i < kQueries; ++i) {
      keys_[i] = rocksdb::Slice(memory_.data() + i * key_bytes, key_bytes);
    }
  }

  // A share of the keys is present, without a pattern.
  void Prepare(size_t turn, double present_share) {
    const auto limit = static_cast<uint64_t>(present_share * 0x1p63);
    for (size_t i = 0; i < kQueries; ++i) {
      const uint64_t number = turn * kQueries + i;
      const uint64_t chance = Scatter(~number);
      filter_of_[i] = Scatter(number) % filters_;
      WriteKey((chance >> 1) < limit
                   ? filter_of_[i] * per_filter_ + chance % per_filter_
                   : kAbsent + number,
               key_bytes_, memory_.data() + i * key_bytes_);
    }
  }

  void Single(const std::vector<Filter>& filters) const {
    size_t matches = 0;
    if (filters_ == 1) {
      rocksdb::FilterBitsReader& reader = filters.front().reader();
      for (const rocksdb::Slice& key : keys_) matches += reader.MayMatch(key);
    } else {
      for (size_t i = 0; i < kQueries; ++i) {
        matches += filters[filter_of_[i]].reader().MayMatch(keys_[i]);
      }
    }
    sink = matches;
  }

  // Batches of 32, each for one filter.
  void Batch(const std::vector<Filter>& filters) {
    rocksdb::Slice* keys[kBatch];
    bool may_match[kBatch];
    for (size_t begin = 0; begin < kQueries; begin += kBatch) {
      for (size_t i = 0; i < kBatch; ++i) keys[i] = &keys_[begin + i];
      filters[filter_of_[begin]].reader().MayMatch(kBatch, keys, may_match);
      sink = may_match[0];
    }
  }

 private:
  const size_t filters_;
  const size_t per_filter_;
  const size_t key_bytes_;
  std::string memory_;
  std::vector<rocksdb::Slice> keys_;
  std::vector<size_t> filter_of_;
};

double FalsePositiveRate(const Filter& filter, size_t queries,
                         size_t key_bytes) {
  std::string memory(key_bytes, 0);
  rocksdb::Slice key(memory);
  size_t matches = 0;
  for (size_t i = 0; i < queries; ++i) {
    WriteKey(2 * kAbsent + i, key_bytes, memory.data());
    matches += filter.reader().MayMatch(key);
  }
  return static_cast<double>(matches) / static_cast<double>(queries);
}

struct Measured {
  double actual_bits = 0;
  double fpr = 0;
  Timing build;
  Timing query;
  Timing batch;
  Timing mixed;
};

void AddCase(const Contender& contender, const char* set, double bits_per_key,
             size_t key_bytes, const Measured& measured, Report* report) {
  report->Add({{"policy", contender.policy},
               {"isa", contender.isa},
               {"bits_per_key", bits_per_key},
               {"actual_bits_per_key", measured.actual_bits},
               {"fpr", measured.fpr},
               {"build_ns", measured.build.ns},
               {"query_ns", measured.query.ns},
               {"batch_query_ns", measured.batch.ns},
               {"mixed_query_ns", measured.mixed.ns},
               {"set", set},
               {"key_bytes", key_bytes},
               {"build_ratio", measured.build.ratio},
               {"query_ratio", measured.query.ratio},
               {"batch_query_ratio", measured.batch.ratio},
               {"mixed_query_ratio", measured.mixed.ratio}});
}

void TimeQueries(const std::vector<std::vector<Filter>>& filters,
                 Queries* queries, size_t repetitions,
                 std::vector<Measured>* measured) {
  // One filter alone would be in the cache; so it is not the others' turns
  // that throw it out.
  const auto prepare = [&](size_t i, size_t turn, double present_share) {
    queries->Prepare(turn, present_share);
    if (filters[i].size() == 1) sink = filters[i].front().Touch();
  };
  const auto absent = [&](size_t i, size_t turn) { prepare(i, turn, 0); };
  const auto mixed = [&](size_t i, size_t turn) { prepare(i, turn, 0.5); };
  const auto single = [&](size_t i) { queries->Single(filters[i]); };
  const auto batch = [&](size_t i) { queries->Batch(filters[i]); };
  const auto query =
      TakeTurns(filters.size(), repetitions, kQueries, absent, single);
  const auto batches =
      TakeTurns(filters.size(), repetitions, kQueries, absent, batch);
  const auto half =
      TakeTurns(filters.size(), repetitions, kQueries, mixed, single);
  for (size_t i = 0; i < filters.size(); ++i) {
    (*measured)[i].query = query[i];
    (*measured)[i].batch = batches[i];
    (*measured)[i].mixed = half[i];
  }
}

// Enough queries to see about 2 000 false positives of the built-in filter.
size_t QueriesForRate(double bits_per_key) {
  if (bits_per_key >= 20) return 20'000'000;
  return bits_per_key >= 16 ? 6'000'000 : 2'000'000;
}

// Adds keys number `first` on to a builder; gives the time of adding alone.
double AddKeys(uint64_t first, size_t count, size_t key_bytes,
               rocksdb::FilterBitsBuilder* builder) {
  constexpr size_t kPiece = 4096;
  double ns = 0;
  for (size_t done = 0; done < count; done += kPiece) {
    const size_t piece = std::min(kPiece, count - done);
    const Keys keys(first + done, piece, key_bytes);
    ns += TimeNs([&] {
      for (const auto& key : keys.slices()) builder->AddKey(key);
    });
  }
  return ns;
}

std::vector<Contender> ContendersFor(double bits_per_key, bool ribbon) {
  std::vector<Contender> contenders = Contenders(bits_per_key);
  if (!ribbon) {
    contenders.erase(std::remove_if(contenders.begin(), contenders.end(),
                                    [](const Contender& contender) {
                                      return contender.policy == "ribbon";
                                    }),
                     contenders.end());
  }
  return contenders;
}

// Filters of consecutive keys, built key by key with the build timed.
void MeasureBuilt(const char* set, size_t filter_count, size_t per_filter,
                  double bits_per_key, size_t key_bytes, const SetSize& size,
                  Report* report) {
  const auto contenders = ContendersFor(bits_per_key, size.ribbon);
  std::vector<Measured> measured(contenders.size());
  std::vector<std::vector<Filter>> filters(contenders.size());
  std::vector<std::vector<double>> build_ns(contenders.size());
  for (size_t number = 0; number < filter_count; ++number) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      auto builder = NewBuilder(contenders[i]);
      double ns =
          AddKeys(number * per_filter, per_filter, key_bytes, builder.get());
      ns += TimeNs(
          [&] { filters[i].emplace_back(contenders[i], std::move(builder)); });
      build_ns[i].push_back(ns / static_cast<double>(per_filter));
      measured[i].actual_bits +=
          static_cast<double>(filters[i].back().bytes()) * 8 /
          static_cast<double>(per_filter * filter_count);
    }
  }
  Queries queries(filter_count, per_filter, key_bytes);
  TimeQueries(filters, &queries, size.repetitions, &measured);
  const auto builds = Compare(build_ns);
  for (size_t i = 0; i < contenders.size(); ++i) {
    measured[i].build = builds[i];
    measured[i].fpr = FalsePositiveRate(
        filters[i].front(), QueriesForRate(bits_per_key), key_bytes);
    AddCase(contenders[i], set, bits_per_key, key_bytes, measured[i], report);
  }
}

}  // namespace

void MeasureHot(double bits_per_key, size_t key_bytes, const SetSize& size,
                Report* report) {
  constexpr size_t kKeys = 300'000;
  const auto contenders = ContendersFor(bits_per_key, size.ribbon);
  const Keys keys(0, kKeys, key_bytes);
  std::vector<Measured> measured(contenders.size());
  std::vector<std::vector<Filter>> filters(contenders.size());
  for (size_t i = 0; i < contenders.size(); ++i) {
    filters[i].emplace_back(contenders[i], keys.slices());
    measured[i].actual_bits =
        static_cast<double>(filters[i].front().bytes()) * 8 / kKeys;
  }
  // A tenth of the keys a turn, short enough not to be interrupted each time.
  const std::vector<rocksdb::Slice> some(keys.slices().begin(),
                                         keys.slices().begin() + kKeys / 10);
  const auto builds = TakeTurns(
      contenders.size(), size.repetitions, static_cast<double>(some.size()),
      [](size_t, size_t) {}, [&](size_t i) { Filter(contenders[i], some); });
  Queries queries(1, kKeys, key_bytes);
  TimeQueries(filters, &queries, size.repetitions, &measured);
  for (size_t i = 0; i < contenders.size(); ++i) {
    measured[i].build = builds[i];
    measured[i].fpr = FalsePositiveRate(
        filters[i].front(), QueriesForRate(bits_per_key), key_bytes);
    AddCase(contenders[i], "hot", bits_per_key, key_bytes, measured[i], report);
  }
}

void MeasureLarge(double bits_per_key, size_t key_bytes, const SetSize& size,
                  Report* report) {
  const auto keys = static_cast<size_t>(100e6 * 8 / bits_per_key);
  MeasureBuilt("large", 1, keys, bits_per_key, key_bytes, size, report);
}

void MeasureMany(double bits_per_key, size_t key_bytes, const SetSize& size,
                 Report* report) {
  MeasureBuilt("many", 2000, 20'000, bits_per_key, key_bytes, size, report);
}

void MeasureHuge(double bits_per_key, size_t key_bytes, Report* report) {
  constexpr size_t kKeys = 100'000'000;
  constexpr size_t kPiece = 1 << 16;
  const auto contenders = Contenders(bits_per_key);
  for (const Contender& contender : {contenders.front(), contenders.back()}) {
    auto builder = NewBuilder(contender);
    AddKeys(0, kKeys, key_bytes, builder.get());
    const Filter filter(contender, std::move(builder));
    size_t missed = 0;
    for (size_t done = 0; done < kKeys; done += kPiece) {
      const Keys keys(done, std::min(kPiece, kKeys - done), key_bytes);
      for (const auto& key : keys.slices()) {
        missed += !filter.reader().MayMatch(key);
      }
    }
    report->Add({{"policy", contender.policy},
                 {"isa", contender.isa},
                 {"bits_per_key", bits_per_key},
                 {"actual_bits_per_key",
                  static_cast<double>(filter.bytes()) * 8 / kKeys},
                 {"fpr", FalsePositiveRate(filter, QueriesForRate(bits_per_key),
                                           key_bytes)},
                 {"missed", missed},
                 {"set", "huge"},
                 {"key_bytes", key_bytes}});
  }
}

}  // namespace rocksync::bench
