#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "base/files.h"
#include "base/subprocess.h"
#include "support/assay_cli.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Debian's Chromium, headless, with a profile of its own and nothing that talks to the outside by itself.
class HtmlReport : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists("/usr/bin/chromium")) GTEST_SKIP() << "needs Chromium";
    const fs::path logs = AssayCli::source_folder() / "tests/fixtures/imports/slurm";
    const auto imported = cli_.run({"import", "slurm", logs / "slurm-48211.out", logs / "slurm-48212.out",
                                    logs / "slurm-48213.out", "--name", "guide"});
    ASSERT_THAT(imported.exit_code, ::testing::AnyOf(0, 4)) << imported.error;
    page_ = (cli_.folder() / "guide.html").string();
    const auto report = cli_.run({"report", "guide", "-o", page_});
    ASSERT_EQ(report.exit_code, 0) << report.error;
  }

  /// Has Chromium lay out the page in a window of 1400 pixels, and says in the page's title what sticks out of the
  /// window or has to be scrolled to, and how many figures take more than one line.
  std::string layout() {
    const std::string script = R"(
      const wide = [...document.querySelectorAll('table,.scroll,svg')].filter(
          e => e.getBoundingClientRect().right > innerWidth || (e.className == 'scroll' && e.scrollWidth > e.clientWidth + 1));
      const named = wide.map(e => e.closest('[id]').id);
      const text_height = e => {
        const text = document.createRange();
        text.selectNodeContents(e);
        return text.getBoundingClientRect().height;
      };
      const broken = [...document.querySelectorAll('td.whole')].filter(e => text_height(e) > 30);
      document.title = 'width ' + innerWidth + ' wide ' + named + ' broken ' + broken.length;)";
    auto content = read_file(page_).value_or("");
    // The page forbids itself scripts: this one runs in a copy without that rule.
    const auto rule = content.find("<meta http-equiv");
    content.erase(rule, content.find('>', rule) + 1 - rule);
    content.insert(content.rfind("</body>"), "<script>" + script + "</script>");
    page_ = cli_.write("measured.html", content);
    const std::string shown = browse({"--dump-dom", "--window-size=1400,900"}).out;
    const auto title = shown.find("<title>");
    return title == std::string::npos ? shown : shown.substr(title + 7, shown.find("</title>") - title - 7);
  }

  CommandOutput browse(std::vector<std::string> options) {
    std::vector<std::string> command = {"/usr/bin/chromium",
                                        "--headless=new",
                                        "--no-sandbox",
                                        "--disable-gpu",
                                        "--disable-sync",
                                        "--disable-background-networking",
                                        "--disable-component-update",
                                        "--no-first-run",
                                        "--enable-logging=stderr",
                                        "--user-data-dir=" + (cli_.folder() / "profile").string()};
    command.insert(command.end(), options.begin(), options.end());
    command.push_back("file://" + page_);
    auto output = run_command(command, {.deadline = std::chrono::seconds(120), .output_limit = std::size_t{8} << 20});
    if (!output) {
      ADD_FAILURE() << output.error().text();
      return {};
    }
    return *output;
  }

  AssayCli cli_;
  std::string page_;
};

TEST_F(HtmlReport, OpensFromDiskWithoutARequestOrAnError) {
  const auto opened = browse({"--dump-dom"});
  ASSERT_EQ(opened.exit_code, 0) << opened.error;
  EXPECT_THAT(opened.out, HasSubstr("3.81<span class=\"unit\">×"));
  EXPECT_THAT(opened.out, HasSubstr("79.3"));
  // The page forbids itself every request; one that it tried all the same would be an error on the console.
  EXPECT_THAT(opened.out, HasSubstr("default-src 'none'"));
  EXPECT_THAT(opened.error, Not(HasSubstr("CONSOLE")));
}

TEST_F(HtmlReport, ThreeSidesFitAScreen) {
  for (const std::string side : {"first", "second", "third"}) {
    for (int repeat = 0; repeat < 2; ++repeat) {
      const auto done = cli_.run({"exec", "--name", "side", "--tag", "learning_rate=0.001_" + side, "--", "sh", "-c",
                                  "echo loss=0.1234" + std::to_string(repeat) + " tokens_per_second=123456.789"});
      ASSERT_EQ(done.exit_code, 0) << done.error;
    }
  }
  page_ = (cli_.folder() / "sides.html").string();
  const auto compared = cli_.run({"compare", "tag:learning_rate=0.001_first", "tag:learning_rate=0.001_second",
                                  "tag:learning_rate=0.001_third", "-o", page_});
  ASSERT_EQ(compared.exit_code, 0) << compared.error;
  EXPECT_EQ(layout(), "width 1400 wide  broken 0");
}

/// As the LLM guide's suite: each variant changes another setting, and every run has figures of speed and of learning.
TEST_F(HtmlReport, ASuiteOfManySettingsFitsAScreen) {
  const std::string spec = R"yaml(kind: command
name: suite
command: >-
  awk 'BEGIN { srand('$ASSAY_SEED'); n = 1 + rand() / 50; printf
  "{\"assay\":1,\"type\":\"result\",\"metrics\":{\"samples_per_second\":%f,\"tokens_per_second\":%f,\"val_loss\":%f,\"final_loss\":%f,\"val_accuracy\":%f}}\n",
  80 * n, 9902 * n, 6.09 * n, 6.16 * n, 0.0166 * n }'
params: {batch_size: 4, tokenize: on_the_fly, gradient_checkpointing: "true", lora_rank: 16, optimizer: paged_adamw_8bit, seq_length: 128}
repeat: 3
matrix:
  - {name: other optimiser, params.optimizer: adamw}
  - {name: rank 8, params.lora_rank: 8}
  - {name: shorter, params.seq_length: 64}
  - {name: shorter + bigger batch, params.seq_length: 64, params.batch_size: 8}
  - {name: pre-tokenised, params.tokenize: ahead}
  - {name: no checkpointing, params.gradient_checkpointing: "false"}
)yaml";
  const auto ran = cli_.run({"run", cli_.write("suite.yaml", spec), "--quiet"});
  ASSERT_THAT(ran.exit_code, ::testing::AnyOf(0, 4)) << ran.error << ran.out;
  page_ = (cli_.folder() / "suite.html").string();
  const auto report = cli_.run({"report", "suite", "-o", page_});
  ASSERT_EQ(report.exit_code, 0) << report.error;
  EXPECT_THAT(read_file(page_).value_or(""), HasSubstr("Settings against val_loss"));
  EXPECT_EQ(layout(), "width 1400 wide  broken 0");
}

TEST_F(HtmlReport, PrintsToPaper) {
  const fs::path pdf = cli_.folder() / "guide.pdf";
  ASSERT_EQ(browse({"--print-to-pdf=" + pdf.string()}).exit_code, 0);
  const auto content = read_file(pdf);
  ASSERT_TRUE(content);
  EXPECT_TRUE(content->starts_with("%PDF"));
}

}  // namespace
}  // namespace assay
