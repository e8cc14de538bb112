#include "examples/replicated_store/log_lines.h"

#include <memory>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "spdlog/logger.h"
#include "spdlog/sinks/ostream_sink.h"

namespace rocksync {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(LogLines, WhatAClientSaysIsOneLine) {
  std::ostringstream out;
  spdlog::logger log("", std::make_shared<spdlog::sinks::ostream_sink_mt>(out));
  log.set_formatter(NewLogFormatter());
  log.warn("peer {}: away",
           "x\n[2026-01-01 00:00:00.000] [error] forged\x1b[2J");
  const std::string text = out.str();
  EXPECT_EQ(text.find('\n'), text.size() - 1) << text;
  EXPECT_THAT(text, HasSubstr("] [warning] peer x\\x0a[2026"));
  EXPECT_THAT(text, EndsWith("forged\\x1b[2J: away\n"));
}

TEST(LogLines, OtherTextStaysAsItIs) {
  std::ostringstream out;
  spdlog::logger log("", std::make_shared<spdlog::sinks::ostream_sink_mt>(out));
  log.set_formatter(NewLogFormatter());
  log.info("a \\ in \xc3\xa4");
  EXPECT_THAT(out.str(), EndsWith("] [info] a \\ in \xc3\xa4\n"));
}

}  // namespace
}  // namespace rocksync
