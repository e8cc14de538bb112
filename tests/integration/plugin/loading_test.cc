// The ways to load the policy, each on a real database: the factory, option
// strings and OPTIONS files through explicit registration, and the preloaded
// shared object with RocksDB's stock tools. (The in-tree build is checked by
// rocksdb_tree.)

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/convenience.h"
#include "rocksdb/utilities/object_registry.h"
#include "rocksdb/utilities/options_util.h"
#include "rocksdb/version.h"
#include "rocksync/filter_policy.h"
#include "tests/integration/plugin/filter_db.h"
#include "tests/sanitized.h"
#include "tests/support/open_plain.h"

namespace rocksync {
namespace {

// Fills a database whose policy is set already and expects that absent keys
// are refused by its filters.
void ExpectFilters(FilterDb* db) {
  db->options.write_buffer_size = 64 << 20;
  db->Open();
  for (uint64_t i = 0; i < 4000; i += 2) {
    FilterDb::ExpectOk(db->db->Put({}, Key(i), "v"));
  }
  FilterDb::ExpectOk(db->db->Flush({}));
  std::string value;
  for (uint64_t i = 0; i < 4000; ++i) {
    ASSERT_EQ(db->db->Get({}, Key(i), &value).ok(), i % 2 == 0);
  }
  EXPECT_GT(db->Ticker(rocksdb::BLOOM_FILTER_USEFUL), 1900u);
}

TEST(LoadingTest, ByFactory) {
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = NewFilterPolicy(FilterPolicyOptions());
  FilterDb db(table);
  ExpectFilters(&db);
}

TEST(LoadingTest, ByStringAfterRegistration) {
  RegisterFilterPolicy();
  RegisterFilterPolicy();  // once more does no harm
  rocksdb::ConfigOptions config;
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  FilterDb::ExpectOk(rocksdb::FilterPolicy::CreateFromString(
      config, "rocksync:12.5:leveled:8", &policy));
  ASSERT_NE(policy, nullptr);
  EXPECT_EQ(policy->GetId(), "rocksync:12.5:leveled:8");
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = policy;
  FilterDb db(table);
  ExpectFilters(&db);
}

TEST(LoadingTest, ByTableOptionsString) {
  RegisterFilterPolicy();
  rocksdb::BlockBasedTableOptions table;
  FilterDb::ExpectOk(rocksdb::GetBlockBasedTableOptionsFromString(
      rocksdb::ConfigOptions(), rocksdb::BlockBasedTableOptions(),
      "filter_policy=rocksync:10:uniform;whole_key_filtering=true", &table));
  ASSERT_NE(table.filter_policy, nullptr);
  EXPECT_EQ(table.filter_policy->GetId(), "rocksync:10:uniform");
  FilterDb db(table);
  ExpectFilters(&db);
}

TEST(LoadingTest, ByColumnFamilyOptionsString) {
  RegisterFilterPolicy();
  rocksdb::Options options;
  FilterDb::ExpectOk(rocksdb::GetOptionsFromString(
      rocksdb::ConfigOptions(), options,
      "block_based_table_factory={filter_policy=rocksync:9.5;}", &options));
  const auto* table =
      options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
  ASSERT_NE(table, nullptr);
  ASSERT_NE(table->filter_policy, nullptr);
  EXPECT_EQ(table->filter_policy->GetId(), "rocksync:9.5");
}

TEST(LoadingTest, ByALibraryOfOnesOwn) {
  rocksdb::ConfigOptions config;
  config.registry = rocksdb::ObjectRegistry::NewInstance();
  config.registry->AddLibrary("mine", RegisterFilterPolicyInLibrary, "");
  std::shared_ptr<const rocksdb::FilterPolicy> policy;
  FilterDb::ExpectOk(
      rocksdb::FilterPolicy::CreateFromString(config, "rocksync:10", &policy));
  EXPECT_EQ(policy->GetId(), "rocksync:10");
}

TEST(LoadingTest, ByOptionsFileAndBack) {
  RegisterFilterPolicy();
  for (const char* text :
       {"rocksync:10", "rocksync:10.125:uniform", "rocksync:16:leveled:8"}) {
    rocksdb::BlockBasedTableOptions table;
    FilterDb::ExpectOk(rocksdb::FilterPolicy::CreateFromString(
        rocksdb::ConfigOptions(), text, &table.filter_policy));
    FilterDb db(table);
    ExpectFilters(&db);
    db.db.reset();

    rocksdb::DBOptions loaded;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    FilterDb::ExpectOk(rocksdb::LoadLatestOptions(
        rocksdb::ConfigOptions(), db.path(), &loaded, &families));
    ASSERT_EQ(families.size(), 1u);
    const auto* loaded_table =
        families[0]
            .options.table_factory
            ->GetOptions<rocksdb::BlockBasedTableOptions>();
    ASSERT_NE(loaded_table->filter_policy, nullptr);
    EXPECT_EQ(loaded_table->filter_policy->GetId(), text);
    FilterDb::ExpectOk(rocksdb::CheckOptionsCompatibility(
        rocksdb::ConfigOptions(), db.path(), loaded, families));

    // The filters written under the old object serve the new one.
    db.options.table_factory = families[0].options.table_factory;
    db.options.statistics = rocksdb::CreateDBStatistics();
    ExpectFilters(&db);
  }
}

TEST(LoadingTest, MistypedStringsAreErrorsThatSayWhatIsAllowed) {
  RegisterFilterPolicy();
  for (const char* text : {"rocksync:ten", "rocksync:0", "rocksync",
                           "rocksync:10:unifrom", "rocksync:10:leveled:1000"}) {
    std::shared_ptr<const rocksdb::FilterPolicy> policy;
    const rocksdb::Status status = rocksdb::FilterPolicy::CreateFromString(
        rocksdb::ConfigOptions(), text, &policy);
    EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
    EXPECT_NE(status.ToString().find("expected rocksync:BITS"),
              std::string::npos)
        << status.ToString();

    // Whoever overlooks the error cannot open a database with it.
    rocksdb::BlockBasedTableOptions refused;
    refused.filter_policy = policy;
    FilterDb db(refused);
    rocksdb::DB* opened = nullptr;
    const rocksdb::Status open = OpenPlain(db.options, db.path(), &opened);
    EXPECT_EQ(open.IsInvalidArgument(), policy != nullptr) << open.ToString();
    delete opened;

    rocksdb::BlockBasedTableOptions table;
    const rocksdb::Status of_table =
        rocksdb::GetBlockBasedTableOptionsFromString(
            rocksdb::ConfigOptions(), rocksdb::BlockBasedTableOptions(),
            std::string("filter_policy=") + text, &table);
    EXPECT_TRUE(of_table.IsInvalidArgument()) << of_table.ToString();
    EXPECT_NE(of_table.ToString().find("expected rocksync:BITS"),
              std::string::npos);
  }
}

// A command's output, both streams; fails the test if it exits with an error.
std::string Output(const std::string& command, bool may_fail = false) {
  std::string output;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  std::array<char, 4096> buffer;
  size_t got;
  while ((got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0) {
    output.append(buffer.data(), got);
  }
  const int status = ::pclose(pipe);
  EXPECT_TRUE(may_fail || (WIFEXITED(status) && WEXITSTATUS(status) == 0))
      << command << "\n"
      << output;
  return output;
}

// RocksDB's stock tools (Debian: rocksdb-tools) with the library preloaded.
class PreloadTest : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) {
      GTEST_SKIP() << "Clang puts its sanitizers into programs only";
    }
    for (const char* tool : {"ldb", "sst_dump", "db_bench"}) {
      if (std::system(
              (std::string("command -v ") + tool + " >/dev/null").c_str()) !=
          0) {
        GTEST_SKIP() << tool << " is not installed (package rocksdb-tools)";
      }
    }
    // Of one package; and RocksDB's own ldb may come first in the path.
    const std::string version = rocksdb::GetRocksVersionAsString();
    if (Output("ldb --version").find(version) == std::string::npos ||
        Output("dirname $(command -v ldb)") !=
            Output("dirname $(command -v db_bench)")) {
      GTEST_SKIP() << "the tools are not of RocksDB " << version;
    }
  }
  static std::string Preloaded(const std::string& command) {
    return "LD_PRELOAD=" ROCKSYNC_PRELOAD " " + command;
  }
  static std::string MakeDb(FilterDb* db) {
    ExpectFilters(db);
    db->db.reset();
    return db->path();
  }
  static rocksdb::BlockBasedTableOptions Table() {
    rocksdb::BlockBasedTableOptions table;
    table.filter_policy = NewFilterPolicy(10);
    return table;
  }
};

TEST_F(PreloadTest, LdbReadsWritesAndKeepsThePolicy) {
  FilterDb db(Table());
  const std::string path = MakeDb(&db);
  const std::string ldb = "ldb --db=" + path + " --try_load_options ";
  EXPECT_NE(Output(Preloaded(ldb + "get " + Key(2))).find("v"),
            std::string::npos);
  EXPECT_NE(Output(Preloaded(ldb + "get " + Key(3)), /*may_fail=*/true)
                .find("NotFound"),
            std::string::npos);
  Output(Preloaded(ldb + "put new value"));
  Output(Preloaded(ldb + "compact"));
  EXPECT_NE(
      Output("cat " + path + "/OPTIONS-*").find("filter_policy=rocksync:10"),
      std::string::npos);
  EXPECT_NE(
      Output(
          Preloaded("sst_dump --show_properties --command=none --file=" + path))
          .find("filter policy name: rocksync"),
      std::string::npos);
}

TEST_F(PreloadTest, SstDumpVerifies) {
  FilterDb db(Table());
  const std::string path = MakeDb(&db);
  const std::string text =
      Output(Preloaded("sst_dump --command=verify --file=" + path));
  EXPECT_NE(text.find("The file is ok"), std::string::npos) << text;
}

TEST_F(PreloadTest, DbBenchTakesItFromAnOptionsFile) {
  FilterDb db(Table());
  const std::string path = MakeDb(&db);
  const std::string options = Output("ls " + path + "/OPTIONS-* | tail -1");
  const std::string text = Output(Preloaded(
      "db_bench --benchmarks=fillrandom,compact,readmissing "
      "--num=20000 --statistics --db=" +
      path + "_bench --options_file=" + options.substr(0, options.find('\n'))));
  const size_t at = text.find("rocksdb.bloom.filter.useful COUNT : ");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_GT(std::stoi(text.substr(at + 36)), 15'000) << text;
}

TEST_F(PreloadTest, WithoutThePolicyTheDataIsStillReadable) {
  FilterDb db(Table());
  const std::string path = MakeDb(&db);
  EXPECT_NE(Output("ldb --db=" + path + " get " + Key(2)).find("v"),
            std::string::npos);
  const std::string text = Output("ldb --db=" + path + " scan");
  EXPECT_NE(text.find(Key(3998)), std::string::npos);
}

}  // namespace
}  // namespace rocksync
