#include "outlets/command/command_outlet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"

namespace assay {
namespace {

using testing::HasSubstr;

TEST(CommandOutlet, HandsTheBodyToTheProgram) {
  const TemporaryFolder folder;
  const fs::path file = folder.path() / "alert";
  const auto outlet = make_command_outlet({.command = {"/bin/sh", "-c", "cat > " + file.string()}});
  ASSERT_TRUE(outlet->deliver(R"({"text": "hot"})", {}).ok());
  EXPECT_EQ(read_file(file).value_or(""), R"({"text": "hot"})");
}

TEST(CommandOutlet, SaysWhyItFailed) {
  const auto broken = make_command_outlet({.command = {"/bin/sh", "-c", "echo no mail today >&2; exit 3"}});
  const auto failed = broken->deliver("{}", {});
  ASSERT_FALSE(failed.ok());
  EXPECT_THAT(failed.error().text(), HasSubstr("exit code 3: no mail today"));
  EXPECT_FALSE(make_command_outlet({.command = {"/no/such/program"}})->deliver("{}", {}).ok());
  const auto slow = make_command_outlet({.command = {"/bin/sleep", "60"}, .deadline = std::chrono::milliseconds(20)});
  EXPECT_FALSE(slow->deliver("{}", {}).ok());
}

}  // namespace
}  // namespace assay
