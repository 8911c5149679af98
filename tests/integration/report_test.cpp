#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "support/assay_cli.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// Three runs of a scaling study as any program would report it: one line of JSON each.
std::string scaling_spec() {
  return R"(kind: command
name: sizes
command: 'echo "{\"assay\":1,\"type\":\"result\",\"metrics\":{\"train_seconds\":$((60 / {ranks})),\"samples_done\":1200}}"'
scale: [1, 2]
)";
}

std::string matrix_spec() {
  return R"(kind: command
name: rates
command: 'echo "{\"assay\":1,\"type\":\"result\",\"metrics\":{\"samples_per_second\":{rate}}}"'
params: {rate: 100}
matrix:
  - {name: faster, params.rate: 150}
repeat: 2
)";
}

class ReportCommand : public ::testing::Test {
 protected:
  void record(const std::string& spec) {
    const auto answer = cli_.run({"run", cli_.write("spec.yaml", spec), "--quiet"});
    ASSERT_THAT(answer.exit_code, ::testing::AnyOf(0, 4)) << answer.error << answer.out;
  }
  AssayCli cli_;
};

TEST_F(ReportCommand, AScalingStudyInTheTerminal) {
  record(scaling_spec());
  const auto answer = cli_.run({"report", "sizes"});
  EXPECT_EQ(answer.exit_code, 0) << answer.error;
  EXPECT_THAT(answer.out, HasSubstr("Speed-up"));
  EXPECT_THAT(answer.out, HasSubstr("2.00×"));
  EXPECT_THAT(answer.out, HasSubstr("100.0 %"));
}

TEST_F(ReportCommand, EveryFormatHasTheFigures) {
  record(scaling_spec());
  for (const char* format : {"table", "md", "html", "json", "csv"}) {
    const auto answer = cli_.run({"report", "study:@last", "--format", format});
    EXPECT_EQ(answer.exit_code, 0) << format << answer.error;
    EXPECT_THAT(answer.out, HasSubstr("2.00")) << format;
  }
}

TEST_F(ReportCommand, TheFormatFollowsTheNameOfTheFile) {
  record(scaling_spec());
  const std::string page = (cli_.folder() / "page.html").string();
  EXPECT_EQ(cli_.run({"report", "sizes", "-o", page}).exit_code, 0);
  EXPECT_THAT(*read_file(page), StartsWith("<!doctype html>"));
  const std::string odd = (cli_.folder() / "page.docx").string();
  const auto answer = cli_.run({"report", "sizes", "-o", odd});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_THAT(answer.error, HasSubstr("--format table, md, html, json or csv"));
  EXPECT_FALSE(fs::exists(odd));
}

TEST_F(ReportCommand, AStudyIsReportedOnWithoutTheRunsThatWereDeleted) {
  record(matrix_spec());
  ASSERT_EQ(cli_.run({"rm", "@last"}).exit_code, 0);
  const auto report = cli_.run({"report", "rates"});
  EXPECT_EQ(report.exit_code, 0) << report.error;
  EXPECT_THAT(report.out, HasSubstr("3 runs of kind command · 1 deleted since"));
  const auto compared = cli_.run({"compare", "study:@last"});
  EXPECT_EQ(compared.exit_code, 0) << compared.error;
  ASSERT_EQ(cli_.run({"prune", "--yes", "study=rates"}).exit_code, 0);
  const auto none = cli_.run({"report", "rates"});
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_THAT(none.error, HasSubstr("Those of the study were deleted."));
}

TEST_F(ReportCommand, ALinkAndADeviceThatAReportIsWrittenToStayThere) {
  record(scaling_spec());
  const fs::path link = cli_.folder() / "latest.html";
  fs::create_symlink("page.html", link);
  const fs::path device = cli_.folder() / "full.html";
  fs::create_symlink("/dev/full", device);
  for (const char* command : {"report", "export"}) {
    EXPECT_EQ(cli_.run({command, "sizes", "-o", link.string()}).exit_code, 0);
    EXPECT_TRUE(fs::is_symlink(link));
    EXPECT_GT(fs::file_size(cli_.folder() / "page.html"), 1000U);
    const auto full = cli_.run({command, "sizes", "-o", device.string()});
    EXPECT_EQ(full.exit_code, 3);
    EXPECT_THAT(full.error, HasSubstr("No space left on device"));
    EXPECT_TRUE(fs::is_symlink(device));
  }
}

TEST_F(ReportCommand, OneTableAsCsv) {
  record(scaling_spec());
  const auto answer = cli_.run({"report", "sizes", "--format", "csv", "--table", "speedup_table"});
  EXPECT_THAT(answer.out, StartsWith("configuration,"));
  const auto unknown = cli_.run({"report", "sizes", "--format", "csv", "--table", "nonsense"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.error, HasSubstr("speedup_table"));
}

TEST_F(ReportCommand, JsonIsOneEnvelope) {
  record(scaling_spec());
  int code = -1;
  const auto envelope = cli_.json({"report", "sizes"}, &code);
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(envelope.at("result").as_object().contains("sections"));
}

TEST_F(ReportCommand, WrongRequestsAreExplained) {
  record(matrix_spec());
  struct Case {
    std::vector<std::string> arguments;
    const char* says;
  };
  const Case cases[] = {
      {{"report", "no-such-study"}, "no-such-study"},
      {{"report", "rates", "--price", "cheap"}, "--price 'cheap'"},
      {{"report", "rates", "--grid", "dirty"}, "--grid 'dirty'"},
      {{"report", "rates", "--format", "pdf"}, "no format of a report"},
      {{"compare", "@last"}, "two sides"},
      {{"plot", "rates", "--metric", "samples_per_secnod"}, "samples_per_sec"},
      {{"plot", "rates", "--chart", "nonsense"}, "gains"},
      {{"report", "rates", "-o", "/no/such/folder/x.html"}, "/no/such/folder"},
  };
  for (const auto& one : cases) {
    const auto answer = cli_.run(one.arguments);
    EXPECT_EQ(answer.exit_code, 2) << one.says << answer.out;
    EXPECT_THAT(answer.error, HasSubstr(one.says));
  }
}

TEST_F(ReportCommand, OnePointIsNoCurve) {
  ASSERT_EQ(cli_.run({"exec", "--quiet", "--", "echo", "loss=0.5"}).exit_code, 0);
  const auto answer = cli_.run({"plot", "@last", "--metric", "loss"});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_THAT(answer.error, HasSubstr("no run that can be drawn has two points of 'loss'"));
  EXPECT_THAT(answer.error, Not(HasSubstr("Did you mean")));
}

TEST_F(ReportCommand, FewRepeatsGiveNoVerdict) {
  record(matrix_spec());
  const auto report = cli_.run({"report", "rates"});
  EXPECT_THAT(report.out, HasSubstr("1.50×"));
  EXPECT_THAT(report.out, HasSubstr("too few repeats to say"));
  const auto compared = cli_.run({"compare", "rates"});
  EXPECT_EQ(compared.exit_code, 0) << compared.error;
  EXPECT_THAT(compared.out, HasSubstr("params.rate"));
  EXPECT_THAT(compared.out, HasSubstr("too few repeats to say"));
}

TEST_F(ReportCommand, GroupsByTagAreCompared) {
  const auto record_tagged = [&](const char* tag, const char* rate) {
    for (int i = 0; i < 5; ++i) {
      const std::string line = std::string(R"({"assay":1,"type":"result","metrics":{"samples_per_second":)") + rate +
                               std::to_string(i) + "}}";
      ASSERT_EQ(cli_.run({"exec", "--tag", tag, "--", "echo", line}).exit_code, 0);
    }
  };
  record_tagged("before", "100");
  record_tagged("after", "130");
  const auto answer = cli_.run({"compare", "tag:before", "tag:after"});
  EXPECT_EQ(answer.exit_code, 0) << answer.error;
  EXPECT_THAT(answer.out, HasSubstr("1.299× tag:before in samples_per_second, better"));
}

TEST_F(ReportCommand, AChartAsSvg) {
  record(scaling_spec());
  const std::string file = (cli_.folder() / "speedup.svg").string();
  EXPECT_EQ(cli_.run({"plot", "sizes", "--chart", "speedup", "--svg", file}).exit_code, 0);
  EXPECT_THAT(*read_file(file), HasSubstr("<svg"));
  EXPECT_THAT(cli_.run({"plot", "sizes"}).out, HasSubstr("Speed-up"));
}

TEST_F(ReportCommand, TheChecksBeforeAStudyAreInItsReport) {
  record(matrix_spec());
  EXPECT_THAT(cli_.run({"report", "rates", "--format", "md"}).out, HasSubstr("CPU governor"));
}

TEST_F(ReportCommand, AFailedRunIsAnIssueAndNeverAResult) {
  const auto failed =
      cli_.run({"exec", "--name", "broken", "--", "sh", "-c", "echo Traceback: no such module >&2; exit 127"});
  EXPECT_EQ(failed.exit_code, 1);
  const auto answer = cli_.run({"report", "broken"});
  EXPECT_EQ(answer.exit_code, 0) << answer.error;
  EXPECT_THAT(answer.out, HasSubstr("failed"));
  EXPECT_THAT(answer.out, HasSubstr("assay doctor"));
  EXPECT_THAT(answer.out, Not(HasSubstr("valid")));
}

/// The README's own example, with noise that the seed decides.
std::string learning_rates_spec() {
  return R"yaml(kind: command
name: learning rates
command: 'echo "loss=$(awk "BEGIN { srand($ASSAY_SEED); print {rate} * (1 + rand() / 20) }")"'
params: {rate: 0.1}
sweep:
  params.rate: [0.1, 0.01, 0.001]
repeat: 5
)yaml";
}

TEST_F(ReportCommand, AStudyIsAboutWhatItsProgramReports) {
  record(learning_rates_spec());
  const auto answer = cli_.run({"report", "learning rates"});
  EXPECT_EQ(answer.exit_code, 0) << answer.error;
  EXPECT_THAT(answer.out, HasSubstr("Settings against loss"));
  EXPECT_THAT(answer.out, HasSubstr("params.rate=0.001: The best of those that are significantly better in loss"));
  EXPECT_THAT(answer.out, HasSubstr("“params.rate=0.1”")) << "held against what was written first";
}

TEST_F(ReportCommand, TheBaselineIsChosenOrRefused) {
  record(learning_rates_spec());
  for (const char* command : {"report", "compare"}) {
    const auto wrong = cli_.run({command, "learning rates", "--baseline", "params.rate=0.02"});
    EXPECT_EQ(wrong.exit_code, 2) << command;
    EXPECT_THAT(wrong.error, HasSubstr("is none of the configurations"));
  }
  const auto chosen = cli_.run({"compare", "learning rates", "--baseline", "params.rate=0.01"});
  EXPECT_EQ(chosen.exit_code, 0) << chosen.error;
  EXPECT_THAT(chosen.out, HasSubstr("× params.rate=0.01 in loss, better (p"));
  const auto both = cli_.run({"compare", "learning rates", "--higher", "loss", "--lower", "loss"});
  EXPECT_EQ(both.exit_code, 2);
}

TEST_F(ReportCommand, TheSettingsOfARunAreShown) {
  record(learning_rates_spec());
  const auto shown = cli_.run({"show", "@last"});
  EXPECT_THAT(shown.out, HasSubstr("params.rate="));
  EXPECT_THAT(cli_.run({"report", "@last", "--format", "html"}).out, HasSubstr("<dt>params.rate</dt>"));
}

}  // namespace
}  // namespace assay
