#include "examples/replicated_store/resp.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

namespace rocksync {
namespace {

constexpr size_t kArgumentOverheadBytes = 32;

// A header holds a type, at most 20 digits and a sign.
constexpr size_t kMaxHeaderBytes = 32;

bool ParseNumber(std::string_view text, int64_t* value) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc() && rest == end;
}

bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](unsigned char a, char b) {
                      return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) ==
                             static_cast<unsigned char>(b);
                    });
}

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r') || c == 0; }

// As a TLS connection begins, whose bytes a web page may have a say in, too.
bool IsControl(unsigned char c) { return c < ' ' && !IsSpace(c); }

// A line of an HTTP request. What follows it may be written by a web page, in
// the browser of somebody who may use this port: "SET k v" in a form.
bool IsHttp(const RespRequest& words) {
  static constexpr std::string_view kMethods[] = {
      "get", "head", "put", "delete", "connect", "options", "trace", "patch"};
  if (words.empty()) return false;
  // Redis closes at these, too.
  if (EqualsIgnoringCase(words[0], "post") ||
      EqualsIgnoringCase(words[0], "host:")) {
    return true;
  }
  return words.size() == 3 &&
         EqualsIgnoringCase(words[2].substr(0, 5), "http/") &&
         std::any_of(std::begin(kMethods), std::end(kMethods),
                     [&](std::string_view method) {
                       return EqualsIgnoringCase(words[0], method);
                     });
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// What follows a backslash between double quotes.
char TakeEscape(std::string_view* text) {
  if (text->size() >= 3 && (*text)[0] == 'x' && HexDigit((*text)[1]) >= 0 &&
      HexDigit((*text)[2]) >= 0) {
    const int byte = HexDigit((*text)[1]) * 16 + HexDigit((*text)[2]);
    text->remove_prefix(3);
    return static_cast<char>(byte);
  }
  const char c = text->front();
  text->remove_prefix(1);
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'a':
      return '\a';
    default:
      return c;
  }
}

// A word that begins with the quote in front of `*text`. False: the closing
// quote is missing, or something sticks to it.
bool TakeQuoted(std::string_view* text, std::string* word) {
  const char quote = text->front();
  text->remove_prefix(1);
  while (!text->empty()) {
    const char c = text->front();
    text->remove_prefix(1);
    if (c == quote) return text->empty() || IsSpace(text->front());
    if (c == '\\' && !text->empty() && quote == '"') {
      word->push_back(TakeEscape(text));
    } else if (c == '\\' && !text->empty() && text->front() == '\'') {
      word->push_back('\'');
      text->remove_prefix(1);
    } else {
      word->push_back(c);
    }
  }
  return false;
}

void AppendLine(std::string* out, char type, std::string_view text) {
  out->push_back(type);
  for (const char c : text) out->push_back(c == '\r' || c == '\n' ? ' ' : c);
  out->append("\r\n");
}

}  // namespace

RespParser::Outcome RespParser::Next(std::string_view* input,
                                     RespRequest* request) {
  while (state_ != State::kFailed) {
    // All of an array's arguments are there.
    if (state_ == State::kLength && arguments_left_ == 0) {
      state_ = State::kStart;
      request_bytes_ = 0;
      if (arguments_.empty()) continue;
      *request = std::exchange(arguments_, {});
      return Outcome::kRequest;
    }
    if (input->empty()) return Outcome::kNeedMore;
    switch (state_) {
      case State::kStart:
        state_ = input->front() == '*' ? State::kCount : State::kInline;
        if (IsControl(input->front())) Fail("this is no request");
        break;
      case State::kInline:
        if (TakeLine(input, limits_.max_line_bytes)) SplitInline();
        break;
      case State::kCount:
        if (TakeLine(input, kMaxHeaderBytes)) BeginRequest();
        break;
      case State::kLength:
        if (TakeLine(input, kMaxHeaderBytes)) BeginArgument();
        break;
      case State::kBytes: {
        const size_t size = std::min<uint64_t>(bytes_left_, input->size());
        arguments_.back().append(input->data(), size);
        input->remove_prefix(size);
        bytes_left_ -= size;
        if (bytes_left_ == 0) state_ = State::kEnd;
        break;
      }
      case State::kEnd:
        if (TakeLine(input, 2)) {
          if (!line_.empty()) Fail("expected a line break after an argument");
          line_.clear();
          if (state_ != State::kFailed) state_ = State::kLength;
        }
        break;
      case State::kFailed:
        break;
    }
  }
  return Outcome::kError;
}

// Moves bytes into `line_` up to a line break, which is not kept. True: the
// line is complete; the caller clears it.
bool RespParser::TakeLine(std::string_view* input, size_t max_bytes) {
  const size_t end = input->find('\n');
  const size_t size = end == std::string_view::npos ? input->size() : end;
  if (line_.size() + size > max_bytes) {
    Fail("too long a line for what it should be");
    return false;
  }
  line_.append(input->data(), size);
  if (end == std::string_view::npos) {
    input->remove_prefix(size);
    return false;
  }
  input->remove_prefix(size + 1);
  if (!line_.empty() && line_.back() == '\r') line_.pop_back();
  return true;
}

void RespParser::BeginRequest() {
  int64_t count = 0;
  const std::string line = std::exchange(line_, {});
  if (!ParseNumber(std::string_view(line).substr(1), &count) ||
      count > static_cast<int64_t>(limits_.max_arguments)) {
    return Fail("invalid number of arguments");
  }
  arguments_left_ = count > 0 ? static_cast<uint64_t>(count) : 0;
  request_bytes_ = arguments_left_ * kArgumentOverheadBytes;
  if (request_bytes_ > limits_.max_request_bytes) {
    return Fail("too many arguments");
  }
  state_ = State::kLength;
}

void RespParser::BeginArgument() {
  int64_t length = 0;
  const std::string line = std::exchange(line_, {});
  if (line.empty() || line[0] != '$') {
    return Fail("expected '$' and the length of an argument");
  }
  if (!ParseNumber(std::string_view(line).substr(1), &length) || length < 0) {
    return Fail("invalid length of an argument");
  }
  if (static_cast<uint64_t>(length) > limits_.max_argument_bytes) {
    return Fail("an argument of more than " +
                std::to_string(limits_.max_argument_bytes) + " bytes");
  }
  request_bytes_ += static_cast<uint64_t>(length);
  if (request_bytes_ > limits_.max_request_bytes) {
    return Fail("a request of more than " +
                std::to_string(limits_.max_request_bytes) + " bytes");
  }
  --arguments_left_;
  bytes_left_ = static_cast<uint64_t>(length);
  arguments_.emplace_back();
  state_ = bytes_left_ == 0 ? State::kEnd : State::kBytes;
}

void RespParser::SplitInline() {
  const std::string line = std::exchange(line_, {});
  std::string_view text = line;
  for (;;) {
    while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
    if (text.empty()) break;
    std::string word;
    if (text.front() == '"' || text.front() == '\'') {
      if (!TakeQuoted(&text, &word)) return Fail("unbalanced quotes");
    } else {
      while (!text.empty() && !IsSpace(text.front())) {
        word.push_back(text.front());
        text.remove_prefix(1);
      }
    }
    arguments_.push_back(std::move(word));
  }
  if (IsHttp(arguments_)) return Fail("this port does not speak HTTP");
  arguments_left_ = 0;
  state_ = State::kLength;  // complete; an empty line is no request
}

void RespParser::Fail(std::string error) {
  state_ = State::kFailed;
  arguments_.clear();
  line_.clear();
  error_ = std::move(error);
}

void AppendSimple(std::string* out, std::string_view text) {
  AppendLine(out, '+', text);
}

void AppendError(std::string* out, std::string_view text) {
  AppendLine(out, '-', text);
}

void AppendInteger(std::string* out, int64_t value) {
  AppendLine(out, ':', std::to_string(value));
}

void AppendBulk(std::string* out, std::string_view bytes) {
  AppendLine(out, '$', std::to_string(bytes.size()));
  out->append(bytes);
  out->append("\r\n");
}

void AppendNull(std::string* out) { out->append("$-1\r\n"); }

void AppendArray(std::string* out, size_t count) {
  AppendLine(out, '*', std::to_string(count));
}

}  // namespace rocksync
