#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "http/http_fixture.h"
#include "model/run.h"
#include "store/run_writer.h"

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;

class LookEndpoints : public LeaderServerTest {
 protected:
  LookEndpoints() { serve(); }

  /// A run that has printed this and ended.
  std::string run_that_printed(const std::vector<std::string>& texts,
                               const std::string& name = "<script>alert(1)</script>") {
    Run run;
    run.kind = "command";
    run.name = name;
    auto writer = begin_run(*runs_, run);
    EXPECT_TRUE(writer.ok());
    for (const auto& text : texts) {
      EXPECT_TRUE((*writer)->append_output(OutputStream::out, clock_.wall(), text).ok());
    }
    EXPECT_TRUE((*writer)->append_output(OutputStream::error, clock_.wall(), "to stderr\n").ok());
    run.state = RunState::ended;
    run.verdict = Verdict::valid;
    run.metrics = {{"loss", 0.5}};
    EXPECT_TRUE((*writer)->finish(run).ok());
    return run.id;
  }
};

TEST_F(LookEndpoints, ALogHasItsLinesAndGoesOnWhereItEnded) {
  const std::string id = run_that_printed({"10 %\r20 %\r\x1b[31mred\x1b[0m\n"});
  const auto log = answer("GET", "/api/v1/runs/" + id + "/log", Role::viewer);
  const auto& lines = log.at("lines").as_array();
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[0].at("text").as_string(), "10 %");
  EXPECT_EQ(lines[2].at("text").as_string(), "red") << "no escape sequences";
  EXPECT_FALSE(lines[2].at("error").as_bool());
  EXPECT_TRUE(lines[3].at("error").as_bool());
  const std::string next(log.at("next").as_string());
  const auto rest = answer("GET", "/api/v1/runs/" + id + "/log?after=" + next, Role::viewer);
  EXPECT_TRUE(rest.at("lines").as_array().empty());
  EXPECT_EQ(rest.at("next").as_string(), next);
  EXPECT_FALSE(rest.at("more").as_bool());
}

TEST_F(LookEndpoints, RunsThatAreComparedByTheirIdsAreCalledByTheirNames) {
  const std::string slow = run_that_printed({"x\n"}, "slow");
  const std::string fast = run_that_printed({"x\n"}, "fast");
  const std::string twin = run_that_printed({"x\n"}, "fast");
  const auto compared = [&](const std::string& of) {
    return json::serialize(answer("GET", "/api/v1/reports?compare=true&of=" + of, Role::viewer));
  };
  const std::string two = compared(slow + "," + fast);
  EXPECT_THAT(two, HasSubstr("\"slow\""));
  EXPECT_THAT(two, HasSubstr("\"fast\""));
  EXPECT_THAT(two, Not(HasSubstr("\"" + fast + "\""))) << "an id says nothing";
  EXPECT_THAT(compared(fast + "," + twin), HasSubstr(twin)) << "two of one name are told apart";
}

TEST_F(LookEndpoints, ALongLogComesInParts) {
  // Long lines that do not compress: many bytes of journal, few lines to look at.
  std::mt19937 random(1);
  std::vector<std::string> texts(12);
  for (auto& text : texts) {
    for (int line = 0; line < 10; ++line) {
      for (int i = 0; i < 70'000; ++i) text += static_cast<char>('0' + random() % 75);
      text += '\n';
    }
  }
  const std::string id = run_that_printed(texts);
  std::size_t lines = 0;
  int parts = 0;
  std::string after;
  for (bool more = true; more && parts < 20; ++parts) {
    const auto log = answer("GET", fmt::format("/api/v1/runs/{}/log?after={}", id, after), Role::viewer);
    lines += log.at("lines").as_array().size();
    after = log.at("next").as_string();
    more = log.at("more").as_bool();
  }
  EXPECT_EQ(lines, 121U);
  EXPECT_GT(parts, 1);
}

TEST_F(LookEndpoints, ALogOfEmptyLinesComesInPartsOfABoundedSize) {
  // A byte of a journal may be a line, which takes some hundred bytes on its way.
  const std::string id = run_that_printed(std::vector<std::string>(3, std::string(65'536, '\n')));
  std::size_t lines = 0;
  std::string after;
  for (bool more = true; more;) {
    const auto log = answer("GET", fmt::format("/api/v1/runs/{}/log?after={}", id, after), Role::viewer);
    EXPECT_LE(log.at("lines").as_array().size(), 70'001U);
    lines += log.at("lines").as_array().size();
    ASSERT_NE(after, std::string(log.at("next").as_string())) << "it goes on";
    after = log.at("next").as_string();
    more = log.at("more").as_bool();
  }
  EXPECT_EQ(lines, 3U * 65'536 + 1);
  // All at once: that is said.
  const std::string at_once = run_that_printed({std::string(100'000, '\n')});
  const auto log = answer("GET", "/api/v1/runs/" + at_once + "/log", Role::viewer);
  EXPECT_LE(log.at("lines").as_array().size(), 70'002U);
  EXPECT_THAT(json::serialize(log), HasSubstr("30000 further lines"));
}

TEST_F(LookEndpoints, ALogOfManyProcessesComesInPartsOfABoundedSize) {
  const std::string id = run_that_printed({"first\n"});
  constexpr std::size_t kRanks = 100;
  const std::string text(60'000, 'x');
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    auto writer = join_run(*runs_, id, "rank-" + std::to_string(rank));
    ASSERT_TRUE(writer.ok());
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE((*writer)->append_output(OutputStream::out, clock_.wall(), text + "\n").ok());
    }
    ASSERT_TRUE((*writer)->finish(Run()).ok());
  }
  std::size_t lines = 0;
  std::string after;
  for (bool more = true; more;) {
    const auto log = answer("GET", fmt::format("/api/v1/runs/{}/log?after={}", id, after), Role::viewer);
    std::size_t bytes = 0;
    for (const auto& line : log.at("lines").as_array()) bytes += line.at("text").as_string().size();
    EXPECT_LT(bytes, std::size_t{6} << 20);
    lines += log.at("lines").as_array().size();
    ASSERT_NE(after, std::string(log.at("next").as_string())) << "it goes on";
    after = log.at("next").as_string();
    more = log.at("more").as_bool();
  }
  EXPECT_EQ(lines, 3 * kRanks + 2);
}

TEST_F(LookEndpoints, APlaceInALogThatIsNoneIsRefused) {
  const std::string id = run_that_printed({"a\n"});
  for (const char* after : {"x", "journal:", "journal:-1", "journal:1x", ":", "journal:1,"}) {
    EXPECT_EQ(send("GET", fmt::format("/api/v1/runs/{}/log?after={}", id, after), bearer(Role::viewer)).status, 400)
        << after;
  }
  // Of another run, or beyond the end: there is nothing to say.
  const auto beyond = answer("GET", "/api/v1/runs/" + id + "/log?after=journal:999999,rank-7:3", Role::viewer);
  EXPECT_TRUE(beyond.at("lines").as_array().empty());
  EXPECT_EQ(send("GET", "/api/v1/runs/none/log", bearer(Role::viewer)).status, 404);
}

TEST_F(LookEndpoints, ADraftIsToldAllItsMistakes) {
  const auto bad =
      answer("POST", "/api/v1/spec/validate", Role::viewer, R"({"spec": "kind: train\nepohcs: 3\nsteps: x\n"})");
  EXPECT_FALSE(bad.at("valid").as_bool());
  const auto& mistakes = bad.at("mistakes").as_array();
  ASSERT_GE(mistakes.size(), 2U);
  EXPECT_EQ(mistakes[0].at("line").as_int64(), 2);
  EXPECT_THAT(std::string(mistakes[0].at("message").as_string()), HasSubstr("epochs"));
  const auto good = answer("POST", "/api/v1/spec/validate", Role::viewer, R"({"spec": "kind: null\nrepeat: 3\n"})");
  EXPECT_TRUE(good.at("valid").as_bool());
  EXPECT_EQ(good.at("runs").as_int64(), 3);
  EXPECT_EQ(good.at("kind").as_string(), "null");
}

TEST_F(LookEndpoints, MetricsAndTheFormOfSpecificationsAreToldFromTheirTables) {
  const auto known = answer("GET", "/api/v1/metrics/known", Role::viewer);
  const auto& metrics = known.at("metrics").as_array();
  const auto* found =
      std::find_if(metrics.begin(), metrics.end(), [](const auto& one) { return one.at("name") == "gpu.power_w"; });
  ASSERT_NE(found, metrics.end());
  EXPECT_EQ(found->at("unit").as_string(), "W");
  EXPECT_TRUE(answer("GET", "/api/v1/spec/schema", Role::viewer).at("schema").as_object().contains("properties"));
}

TEST_F(LookEndpoints, AReportIsADocumentAndAFile) {
  const std::string id = run_that_printed({"a\n"});
  const auto report = answer("GET", "/api/v1/reports?of=" + id, Role::viewer);
  EXPECT_FALSE(report.at("document").at("sections").as_array().empty());
  const auto file = send("GET", "/api/v1/reports/file?format=html&of=" + id, bearer(Role::viewer));
  EXPECT_EQ(file.status, 200);
  EXPECT_EQ(file.headers.find("Content-Disposition"), "attachment; filename=\"report.html\"");
  EXPECT_EQ(file.headers.find("Content-Type"), "application/octet-stream") << "a browser must not show it as ours";
  EXPECT_THAT(file.body, Not(HasSubstr("<script>alert")));
  EXPECT_EQ(send("GET", "/api/v1/reports/file?format=exe&of=" + id, bearer(Role::viewer)).status, 400);
  EXPECT_EQ(send("GET", "/api/v1/reports?of=,", bearer(Role::viewer)).status, 400);
  EXPECT_EQ(send("GET", "/api/v1/reports?of=none", bearer(Role::viewer)).status, 404);
}

TEST_F(LookEndpoints, AComparisonNeedsTwoSides) {
  const std::string one = run_that_printed({"a\n"});
  const std::string other = run_that_printed({"b\n"});
  const auto both = answer("GET", "/api/v1/reports?compare=true&of=" + one + "," + other, Role::viewer);
  EXPECT_FALSE(both.at("document").at("sections").as_array().empty());
  EXPECT_EQ(send("GET", "/api/v1/reports?compare=true&of=" + one, bearer(Role::viewer)).status, 400);
}

}  // namespace
}  // namespace assay
