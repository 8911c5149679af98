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

TEST_F(HtmlReport, PrintsToPaper) {
  const fs::path pdf = cli_.folder() / "guide.pdf";
  ASSERT_EQ(browse({"--print-to-pdf=" + pdf.string()}).exit_code, 0);
  const auto content = read_file(pdf);
  ASSERT_TRUE(content);
  EXPECT_TRUE(content->starts_with("%PDF"));
}

}  // namespace
}  // namespace assay
