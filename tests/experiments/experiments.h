// The experiments by name. Each adds a subcommand with its options to `app`;
// what it sets runs the experiment and says whether every comparison held.

#ifndef ROCKSYNC_TESTS_EXPERIMENTS_EXPERIMENTS_H_
#define ROCKSYNC_TESTS_EXPERIMENTS_EXPERIMENTS_H_

#include <CLI/CLI.hpp>
#include <functional>

namespace rocksync {

struct Chosen {
  bool json = false;
  std::function<bool()> run;
};

void AddBeyond(CLI::App& app, Chosen* chosen);
void AddCompressed(CLI::App& app, Chosen* chosen);
void AddDbf1(CLI::App& app, Chosen* chosen);
void AddDbf2(CLI::App& app, Chosen* chosen);
void AddFormulas(CLI::App& app, Chosen* chosen);
void AddPictures(CLI::App& app, Chosen* chosen);
void AddPush(CLI::App& app, Chosen* chosen);
void AddSliced(CLI::App& app, Chosen* chosen);

}  // namespace rocksync

#endif  // ROCKSYNC_TESTS_EXPERIMENTS_EXPERIMENTS_H_
