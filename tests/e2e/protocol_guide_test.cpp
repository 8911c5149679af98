#include <gmock/gmock.h>

#include "support/assay_cli.h"

// What the guides and the README show must work as it stands there.

namespace assay {
namespace {

using testing::SizeIs;

/// The first code block of that language in a page.
std::string code_block(const std::string& page, const std::string& language) {
  const auto text = read_file(AssayCli::source_folder() / page);
  EXPECT_TRUE(text.ok());
  const std::string fence = "```" + language + "\n";
  const auto start = text->find(fence);
  EXPECT_NE(start, std::string::npos) << page << " has no " << language << " block";
  const auto body = start + fence.size();
  return text->substr(body, text->find("```", body) - body);
}

TEST(ProtocolGuide, ThePythonExampleWorks) {
  AssayCli cli;
  const auto script = cli.write("demo.py", code_block("docs/guides/workload-protocol.md", "python"));
  ASSERT_EQ(cli.run({"exec", "--", "python3", script}).exit_code, 0);
  EXPECT_THAT(cli.last_series("loss"), SizeIs(100));
  EXPECT_THAT(cli.last_series("val_accuracy"), SizeIs(2));
  EXPECT_TRUE(cli.last_run().at("metrics").as_object().contains("best_loss"));
  // The same program on its own prints to standard output, where the lines are recognised by their mark.
  ASSERT_EQ(cli.run({"exec", "--", "env", "-u", "ASSAY_EVENTS", "python3", script}).exit_code, 0);
  EXPECT_THAT(cli.last_series("loss"), SizeIs(100));
}

TEST(ProtocolGuide, TheBashExampleWorks) {
  AssayCli cli;
  const auto script = cli.write("demo.sh", code_block("docs/guides/workload-protocol.md", "bash"));
  ASSERT_EQ(cli.run({"exec", "--", "bash", script}).exit_code, 0);
  EXPECT_THAT(cli.last_series("loss"), SizeIs(10));
  EXPECT_EQ(cli.last_run().at("metrics").at("steps_done").to_number<double>(), 10);
}

TEST(Readme, ItsSpecificationRunsTheFirstTime) {
  AssayCli cli;
  const auto spec = cli.write("bench.yaml", code_block("README.md", "yaml"));
  const auto answer = cli.run({"run", spec, "--set", "repeat=1"});
  EXPECT_EQ(answer.exit_code, 0) << answer.out << answer.error;
}

TEST(Examples, TheTrainingScriptLearns) {
  AssayCli cli;
  ASSERT_EQ(
      cli.run({"exec", "-q", "--", "python3", (AssayCli::source_folder() / "examples/train.py").string()}).exit_code,
      0);
  EXPECT_GE(cli.last_run().at("metrics").at("val_accuracy").to_number<double>(), 0.95);
}

TEST(Examples, EveryExampleValidatesAndTheLocalOnesRun) {
  AssayCli cli;
  int seen = 0;
  for (const auto& entry : fs::directory_iterator(AssayCli::source_folder() / "examples")) {
    if (entry.path().extension() != ".yaml") continue;
    ++seen;
    EXPECT_EQ(cli.run({"validate", entry.path().string()}).exit_code, 0) << entry.path();
  }
  EXPECT_GE(seen, 7);
  for (const auto* name : {"command.yaml", "command-sweep.yaml", "null.yaml"}) {
    const auto answer = cli.run({"run", (AssayCli::source_folder() / "examples" / name).string()});
    EXPECT_EQ(answer.exit_code, 0) << name << answer.out << answer.error;
  }
}

}  // namespace
}  // namespace assay
