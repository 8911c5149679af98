#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "base/spawn.h"
#include "support/assay_cli.h"

// Load on a server as somebody would write one, through `assay run`.

namespace assay {
namespace {

using testing::HasSubstr;

/// tests/fixtures/stub_openai.py on a free port.
class PythonServer {
 public:
  explicit PythonServer(const std::string& token = "") {
    auto pipe = make_pipe().value();
    const auto nothing = open_file("/dev/null", O_RDONLY).value();
    SpawnOptions options{
        .arguments = {"python3", (AssayCli::source_folder() / "tests/fixtures/stub_openai.py").string()},
        .environment = merged_environment({}).value(),
        .descriptors = {{nothing.get(), 0}, {pipe.write_end.get(), 1}, {2, 2}},
        .dies_with_parent = true};
    if (!token.empty()) options.arguments.push_back(token);
    const auto started = spawn(options);
    if (!started) {
      ADD_FAILURE() << started.error().text();
      return;
    }
    pid_ = *started;
    pipe.write_end.reset();
    std::string line;
    for (char c = 0; ::read(pipe.read_end.get(), &c, 1) == 1 && c != '\n';) line += c;
    if (!line.empty()) port_ = std::stoi(line);
  }
  PythonServer(const PythonServer&) = delete;
  PythonServer& operator=(const PythonServer&) = delete;
  ~PythonServer() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/v1"; }

 private:
  pid_t pid_ = -1;
  int port_ = 0;
};

std::string serve_spec(const std::string& target) {
  return "kind: serve\nmodel: stub-1b\ntarget: {" + target +
         "}\nscenario: closed\nconcurrency: 2\nsamples: 20\nmin_duration: 0s\n"
         "requests: {input_tokens: 10, output_tokens: 4}\n";
}

TEST(ServeOpenAi, AnswersOfAPythonServerAreCountedAsItCountsThem) {
  const PythonServer server;
  AssayCli cli;
  int exit_code = -1;
  const auto answer =
      cli.json({"run", cli.write("serve.yaml", serve_spec("openai: \"" + server.url() + "\""))}, &exit_code);
  // A busy machine may make the client late, which is said of the result; its counts hold.
  EXPECT_THAT(exit_code, testing::AnyOf(0, 4)) << json::serialize(answer);
  const auto& metrics = answer.at("result").at("metrics").as_object();
  EXPECT_GE(metrics.at("samples_done").to_number<double>(), 20);
  EXPECT_EQ(metrics.at("samples_lost").to_number<double>(), 0);
  const double samples = metrics.at("samples_per_second").to_number<double>();
  EXPECT_NEAR(metrics.at("tokens_per_second").to_number<double>(), 4 * samples, 0.05 * samples);
  EXPECT_GT(metrics.at("ttft_p50_seconds").to_number<double>(), 0);
}

TEST(ServeOpenAi, SeveralClientsOfOneServerAreAccountedForTogether) {
  const PythonServer server;
  AssayCli cli;
  const std::string spec = serve_spec("openai: \"" + server.url() + "\"") + "clients: 2\n";
  const auto run = cli.run({"run", cli.write("serve.yaml", spec)});
  ASSERT_THAT(run.exit_code, testing::AnyOf(0, 4)) << run.out << run.error;
  const json::object last = cli.last_run();
  const auto& metrics = last.at("metrics").as_object();
  const int asked = metrics.at("samples_asked").to_number<int>();
  EXPECT_GE(asked, 20);
  EXPECT_EQ(metrics.at("samples_lost").to_number<int>(), 0);
  const fs::path artifacts = cli.data() / "runs" / std::string(last.at("id").as_string()) / "artifacts";
  const json::value load = json::parse(read_file(artifacts / "load.json").value());
  ASSERT_EQ(load.at("endpoints").as_array().size(), 1u) << "one server, however many clients ask it";
  EXPECT_EQ(load.at("endpoints").at(0).at("ok").to_number<int>(), asked);
  ASSERT_EQ(load.at("clients").as_array().size(), 2u);
  const json::value target = json::parse(read_file(artifacts / "target.json").value());
  ASSERT_EQ(target.at("endpoints").as_array().size(), 1u);
  EXPECT_EQ(target.at("endpoints").at(0).at("ok").to_number<int>(), asked);
  EXPECT_EQ(target.at("endpoints").at(0).at("requests").to_number<int>(), asked);
  EXPECT_EQ(target.at("token_counts").at("by_server").to_number<int>(), asked);
}

TEST(ServeOpenAi, AWrongModelStartsNothing) {
  const PythonServer server;
  AssayCli cli;
  const auto wrong = cli.run(
      {"run", cli.write("wrong.yaml", serve_spec("openai: \"" + server.url() + "\"")), "--set", "model.name=stub-2b"});
  EXPECT_NE(wrong.exit_code, 0);
  EXPECT_THAT(wrong.out + wrong.error, HasSubstr("does not know the model 'stub-2b'"));
  EXPECT_THAT(wrong.out + wrong.error, HasSubstr("Did you mean 'stub-1b'?"));
}

TEST(ServeOpenAi, TheTokenIsSentAndShownNowhere) {
  const PythonServer server("a-key-of-ours-4711");
  AssayCli cli;
  const std::string spec = cli.write("serve.yaml", serve_spec("openai: \"" + server.url() + "\", token_env: STUB_KEY"));
  const auto wrong = cli.run({"run", spec}, {{"STUB_KEY", "another-key-4712"}});
  EXPECT_NE(wrong.exit_code, 0);
  EXPECT_THAT(wrong.out + wrong.error, HasSubstr("wrong API key"));
  const auto right = cli.run({"run", spec}, {{"STUB_KEY", "a-key-of-ours-4711"}});
  EXPECT_THAT(right.exit_code, testing::AnyOf(0, 4)) << right.out << right.error;
  const auto grep = run_command({"grep", "-r", "-l", "a-key-of-ours-4711", cli.data().string()}).value();
  EXPECT_EQ(grep.out, "");
}

TEST(ServeOpenAi, AServerThatIsNotThereIsNamed) {
  AssayCli cli;
  const auto answer = cli.run({"run", cli.write("serve.yaml", serve_spec("openai: \"http://127.0.0.1:1/v1\""))});
  EXPECT_NE(answer.exit_code, 0);
  EXPECT_THAT(answer.out + answer.error, HasSubstr("Connection refused"));
}

}  // namespace
}  // namespace assay
