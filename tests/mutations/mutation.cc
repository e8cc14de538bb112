#include "tests/mutations/mutation.h"

#include <cctype>
#include <optional>
#include <utility>

namespace rocksync::mutations {
namespace {

bool IsBlank(char c) { return std::isspace(static_cast<unsigned char>(c)); }

std::string_view Trim(std::string_view text) {
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

// Cuts `head` off, and the blanks after it.
bool Consume(std::string_view head, std::string_view* line) {
  if (line->substr(0, head.size()) != head) return false;
  *line = Trim(line->substr(head.size()));
  return true;
}

// Where `find` ends if it begins at `at`, any blanks for any blanks.
std::optional<size_t> MatchAt(std::string_view text, size_t at,
                              std::string_view find) {
  for (size_t i = 0; i < find.size();) {
    if (IsBlank(find[i])) {
      if (at == text.size() || !IsBlank(text[at])) return std::nullopt;
      while (i < find.size() && IsBlank(find[i])) ++i;
      while (at < text.size() && IsBlank(text[at])) ++at;
    } else if (at == text.size() || text[at] != find[i]) {
      return std::nullopt;
    } else {
      ++i;
      ++at;
    }
  }
  return at;
}

class Parser {
 public:
  explicit Parser(std::vector<Mutation>* mutations) : mutations_(mutations) {}

  std::string Take(std::string_view line) {
    const char before = std::exchange(last_, ' ');
    if (Consume("[", &line)) return Begin(line);
    if (Trim(line).empty() || line.front() == '#') return "";
    if (mutations_->empty()) return "a line before the first [name]";
    Mutation* const mutation = &mutations_->back();
    if (line.front() == '-' && !file_.empty()) {
      if (before != '-') mutation->edits.push_back({file_, "", ""});
      Append(line.substr(1), &mutation->edits.back().find);
      last_ = '-';
    } else if (line.front() == '+' && before != ' ') {
      Append(line.substr(1), &mutation->edits.back().replacement);
      last_ = '+';
    } else if (Consume("why:", &line)) {
      mutation->why = line;
    } else if (Consume("file:", &line)) {
      file_ = line;
    } else if (Consume("try:", &line)) {
      mutation->tries.emplace_back(line);
    } else if (Trim(line) == "may hang") {
      mutation->may_hang = true;
    } else {
      return "'" + std::string(line) + "' means nothing here";
    }
    return "";
  }

  std::string End() const {
    if (mutations_->empty()) return "";
    const Mutation& last = mutations_->back();
    if (last.edits.empty()) return last.name + " changes nothing";
    if (last.tries.empty()) return last.name + " is tried by nobody";
    for (const Edit& edit : last.edits) {
      if (Trim(edit.find).empty()) return last.name + " finds anything";
    }
    return "";
  }

 private:
  std::string Begin(std::string_view line) {
    const std::string wrong = End();
    if (!wrong.empty()) return wrong;
    if (line.size() < 2 || line.back() != ']') return "a name without its ]";
    const std::string name(line.substr(0, line.size() - 1));
    for (const Mutation& other : *mutations_) {
      if (other.name == name) return name + " is there twice";
    }
    mutations_->push_back({});
    mutations_->back().name = name;
    file_.clear();
    return "";
  }

  static void Append(std::string_view line, std::string* text) {
    if (!text->empty()) text->push_back('\n');
    text->append(Trim(line));
  }

  std::vector<Mutation>* const mutations_;
  std::string file_;
  char last_ = ' ';  // '-' or '+' if the line before was one of an edit
};

}  // namespace

std::string ParseList(std::string_view text, std::vector<Mutation>* mutations) {
  Parser parser(mutations);
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string wrong = parser.Take(text.substr(0, end));
    ++number;
    if (!wrong.empty()) return "line " + std::to_string(number) + ": " + wrong;
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return parser.End();
}

std::string Apply(const Edit& edit, std::string* text) {
  std::optional<size_t> begin;
  size_t end = 0;
  for (size_t at = 0; at < text->size(); ++at) {
    const std::optional<size_t> match = MatchAt(*text, at, edit.find);
    if (!match) continue;
    if (begin) return "found more than once in " + edit.file;
    begin = at;
    end = *match;
  }
  if (!begin) return "not found in " + edit.file;
  text->replace(*begin, end - *begin, edit.replacement);
  return "";
}

}  // namespace rocksync::mutations
