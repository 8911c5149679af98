#include "target/openai/openai_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {
namespace {

std::optional<std::string> variables(const std::string& name) {
  return name == "KEY" ? std::optional<std::string>("from the environment") : std::nullopt;
}

Result<OpenAiOptions> options_of(json::object target) {
  return openai_options_of({{"model", {{"name", "m"}}}, {"target", std::move(target)}}, variables);
}

TEST(OpenAiSettings, BecomeOptions) {
  const auto options = options_of({{"openai", "http://a:8000/v1"},
                                   {"endpoints", {"https://b/v1"}},
                                   {"weights", {1, 3}},
                                   {"token_env", "KEY"},
                                   {"headers", {"X-Tenant: a:b"}},
                                   {"api", "completions"},
                                   {"balance", "least_outstanding"},
                                   {"extra_body", {{"top_p", 0.5}}},
                                   {"ignore_eos", true},
                                   {"retries", 2}});
  ASSERT_TRUE(options.ok()) << options.error().text();
  EXPECT_EQ(options->model, "m");
  ASSERT_EQ(options->endpoints.size(), 2U);
  EXPECT_EQ(options->endpoints[1].url.host, "b");
  EXPECT_EQ(options->endpoints[1].weight, 3);
  EXPECT_EQ(options->token, "from the environment");
  EXPECT_EQ(options->headers, (NamedValues{{"X-Tenant", "a:b"}}));
  EXPECT_EQ(options->api, OpenAiOptions::Api::completions);
  EXPECT_EQ(options->balance, OpenAiOptions::Balance::least_outstanding);
  EXPECT_EQ(options->extra_body.at("top_p"), 0.5);
  EXPECT_TRUE(options->ignore_eos);
  EXPECT_TRUE(options->stream);
  EXPECT_EQ(options->retries, 2U);
}

TEST(OpenAiSettings, TakeTheTokenFromAFile) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "token";
  ASSERT_TRUE(write_file_atomically(file, "abc\n").ok());
  EXPECT_EQ(options_of({{"openai", "http://a/v1"}, {"token_file", file.string()}})->token, "abc");
}

TEST(OpenAiSettings, SayWhatIsWrong) {
  const auto problem = [](json::object target) { return options_of(std::move(target)).error().message; };
  EXPECT_EQ(problem({{"openai", "http://a/v1"}, {"token_env", "NONE"}}),
            "the variable 'NONE' that 'target.token_env' names is not set");
  EXPECT_THAT(problem({{"openai", "host:8000"}}), testing::StartsWith("target: "));
  EXPECT_EQ(problem({{"openai", "http://a/v1"}, {"weights", {1, 2}}}), "'target.weights' has 2 numbers for 1 servers");
  EXPECT_EQ(problem({{"openai", "http://a/v1"}, {"headers", {"nothing"}}}), "'nothing' is no header field");
  EXPECT_EQ(options_of({{"openai", "http://a/v1"}, {"token_file", "/nowhere"}}).error().kind, ErrorKind::missing_file);
}

}  // namespace
}  // namespace assay
