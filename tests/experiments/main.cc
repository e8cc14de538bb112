// experiment NAME [options]: the papers' results on the library's own code.

#include <CLI/CLI.hpp>

#include "experiments.h"

int main(int argc, char** argv) {
  CLI::App app(
      "Experiments from the papers that rocksync stands on, run on the "
      "library's own code. Exits 1 if a comparison does not hold.");
  rocksync::Chosen chosen;
  app.add_flag("--json", chosen.json, "one JSON object a line");
  app.fallthrough();
  app.require_subcommand(1);
  rocksync::AddBeyond(app, &chosen);
  rocksync::AddCompressed(app, &chosen);
  rocksync::AddDbf1(app, &chosen);
  rocksync::AddDbf2(app, &chosen);
  rocksync::AddFormulas(app, &chosen);
  rocksync::AddPictures(app, &chosen);
  rocksync::AddPush(app, &chosen);
  rocksync::AddSliced(app, &chosen);
  CLI11_PARSE(app, argc, argv);
  return chosen.run() ? 0 : 1;
}
