#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/json.h"

namespace assay {
namespace {

/// What `write` sends to standard error under the given settings; the defaults are back afterwards.
template <typename Write>
std::string logged(LogLevel level, LogFormat format, Write write) {
  testing::internal::CaptureStderr();
  configure_log(level, format);
  write();
  configure_log(LogLevel::warning, LogFormat::text);
  return testing::internal::GetCapturedStderr();
}

TEST(Log, WritesTextForPeople) {
  const auto text = logged(LogLevel::debug, LogFormat::text, [] {
    log_debug("one {}", 1);
    log_info("two");
    log_warning("three {} {}", "a", 2.5);
    log_error("four");
  });
  EXPECT_EQ(text, "assay: debug: one 1\nassay: info: two\nassay: warning: three a 2.5\nassay: error: four\n");
}

TEST(Log, LeavesOutWhatIsBelowTheLevel) {
  const auto text = logged(LogLevel::warning, LogFormat::text, [] {
    log_debug("one");
    log_info("two");
    log_warning("three");
  });
  EXPECT_EQ(text, "assay: warning: three\n");
}

TEST(Log, WritesOneJsonObjectPerLine) {
  const auto text = logged(LogLevel::info, LogFormat::json_lines, [] {
    log_info("a \"quoted\"\nsecond line");
    log_error("bad");
  });
  std::istringstream lines(text);
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  auto value = parse_json(line);
  ASSERT_TRUE(value.ok()) << line;
  EXPECT_EQ(value->at("level"), "info");
  EXPECT_EQ(value->at("message"), "a \"quoted\"\nsecond line");
  EXPECT_TRUE(parse_iso8601(std::string(value->at("time").as_string())).ok());
  ASSERT_TRUE(std::getline(lines, line));
  value = parse_json(line);
  ASSERT_TRUE(value.ok()) << line;
  EXPECT_EQ(value->at("level"), "error");
  EXPECT_FALSE(std::getline(lines, line));
}

TEST(Log, AMessageIsOneLine) {
  EXPECT_EQ(logged(LogLevel::info, LogFormat::text, [] { log_info("GET /a\nassay: error: forged\tb"); }),
            "assay: info: GET /a\\nassay: error: forged\\tb\n");
}

TEST(Log, WhatComesFromOutsideIsMadeSafe) {
  const std::string hostile = "\x1b[2Jclear {} \xff";
  EXPECT_EQ(logged(LogLevel::info, LogFormat::text, [&] { log(LogLevel::info, hostile); }),
            "assay: info: clear {} \uFFFD\n");
  const auto line = logged(LogLevel::info, LogFormat::json_lines, [&] { log(LogLevel::info, hostile); });
  const auto value = parse_json(line);
  ASSERT_TRUE(value.ok()) << value.error().text();
  EXPECT_EQ(value->at("message"), "clear {} \uFFFD");
}

TEST(Log, LinesOfSeveralThreadsStayWhole) {
  const auto text = logged(LogLevel::info, LogFormat::text, [] {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([] {
        for (int i = 0; i < 50; ++i) log_info("{}", std::string(100, 'x'));
      });
    }
  });
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    ASSERT_EQ(line, "assay: info: " + std::string(100, 'x'));
  }
  EXPECT_EQ(count, 200);
}

}  // namespace
}  // namespace assay
