// How --help tells what an option takes: "N (1 to 600000), by default 5000".
// Shared by the programs `rocksync` and `rocksync-store`.
#ifndef ROCKSYNC_TOOLS_HELP_HELP_FORMATTER_H_
#define ROCKSYNC_TOOLS_HELP_HELP_FORMATTER_H_

#include <set>
#include <string>

#include "CLI/CLI.hpp"

namespace rocksync {

// Give it to a CLI::App before its subcommands are added, which inherit it.
class HelpFormatter : public CLI::Formatter {
 protected:
  std::string make_option_opts(const CLI::Option* option) const override {
    // Two spaces before what an option does: help2man takes it by them.
    if (option->get_type_size() == 0) return Others(*option) + " ";  // a flag
    std::string text = Value(option->get_type_name());
    if (!text.empty()) text.insert(0, " ");
    if (option->get_expected_max() == CLI::detail::expected_max_vector_size) {
      text += " ...";
    }
    if (!option->get_default_str().empty()) {
      text += ", by default " + option->get_default_str();
    }
    return text + (option->get_required() ? ", required" : "") +
           Others(*option) + " ";
  }

 private:
  // From CLI11's "UINT:INT in [0 - 65535]" to "N (0 to 65535)".
  static std::string Value(const std::string& type) {
    if (type.rfind("UINT", 0) != 0 && type.rfind("INT", 0) != 0 &&
        type.rfind("FLOAT", 0) != 0) {
      return type.substr(0, type.find(':'));
    }
    const size_t open = type.find('[');
    const size_t dash = type.find(" - ", open);
    const size_t close = type.find(']', open);
    if (open == std::string::npos || dash == std::string::npos ||
        close == std::string::npos) {
      return "N";
    }
    return "N (" + type.substr(open + 1, dash - open - 1) + " to " +
           type.substr(dash + 3, close - dash - 3) + ")";
  }

  static std::string Others(const CLI::Option& option) {
    return Names(", needs ", option.get_needs()) +
           Names(", excludes ", option.get_excludes());
  }

  static std::string Names(const std::string& word,
                           const std::set<CLI::Option*>& options) {
    std::string text;
    for (const CLI::Option* option : options) {
      text += (text.empty() ? word : ", ") + option->get_name();
    }
    return text;
  }
};

}  // namespace rocksync

#endif  // ROCKSYNC_TOOLS_HELP_HELP_FORMATTER_H_
