#include "cluster_fixture.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>

#include "access/secrets.h"
#include "base/spawn.h"
#include "base/text.h"
#include "net/client_messages.h"
#include "net/client_options.h"
#include "net/http_client.h"
#include "net/url.h"

namespace assay {
namespace {

std::string text_at(const json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : "";
}

}  // namespace

AssayProcess::AssayProcess(const std::vector<std::string>& arguments, fs::path log,
                           const std::map<std::string, std::string>& environment)
    : log_(std::move(log)) {
  start(arguments, environment);
}

void AssayProcess::start(const std::vector<std::string>& arguments,
                         const std::map<std::string, std::string>& environment) {
  SpawnOptions options{.arguments = {AssayCli::program().string()}, .folder = log_.parent_path()};
  options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
  auto merged = merged_environment(environment);
  ASSERT_TRUE(merged.ok());
  options.environment = std::move(*merged);
  const auto output = open_file(log_, O_WRONLY | O_CREAT | O_APPEND, 0600);
  const auto nothing = open_file("/dev/null", O_RDONLY);
  ASSERT_TRUE(output.ok() && nothing.ok());
  options.descriptors = {{nothing->get(), 0}, {output->get(), 1}, {output->get(), 2}};
  options.dies_with_parent = true;
  const auto started = spawn(options);
  ASSERT_TRUE(started.ok()) << started.error().text();
  pid_ = *started;
}

AssayProcess::AssayProcess(AssayProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), status_(other.status_), log_(std::move(other.log_)) {}

AssayProcess& AssayProcess::operator=(AssayProcess&& other) noexcept {
  if (this == &other) return *this;
  kill_now();
  pid_ = std::exchange(other.pid_, -1);
  status_ = other.status_;
  log_ = std::move(other.log_);
  return *this;
}

AssayProcess::~AssayProcess() { kill_now(); }

bool AssayProcess::running() {
  int status = 0;
  if (pid_ > 0 && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    status_ = status;
    pid_ = -1;
  }
  return pid_ > 0;
}

void AssayProcess::kill_now() {
  if (!running()) return;
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  status_ = status;
  pid_ = -1;
}

void AssayProcess::hang_up() {
  // Of a process that is gone the number is -1, which means everybody.
  ASSERT_TRUE(running()) << said();
  ::kill(pid_, SIGHUP);
}

int AssayProcess::terminate() {
  if (running()) ::kill(pid_, SIGTERM);
  return wait();
}

int AssayProcess::wait() {
  if (!eventually([&] { return !running(); })) {
    ADD_FAILURE() << "still running: " << log_ << "\n" << said();
    return -1;
  }
  if (!status_ || !WIFEXITED(*status_)) {
    ADD_FAILURE() << "ended by a signal: " << log_ << "\n" << said();
    return -1;
  }
  return WEXITSTATUS(*status_);
}

bool AssayProcess::dies() {
  return eventually([&] { return !running(); }) && status_ && WIFSIGNALED(*status_) && WTERMSIG(*status_) == SIGKILL;
}

std::string AssayProcess::said() const {
  const auto text = read_file(log_);
  return text ? *text : "";
}

std::int64_t AssayProcess::memory_bytes(const std::string& field) const {
  const auto status = read_file("/proc/" + std::to_string(pid_) + "/status");
  const auto at = status ? status->find("\n" + field + ":") : std::string::npos;
  if (at == std::string::npos) {
    ADD_FAILURE() << "nobody knows the " << field << " of process " << pid_;
    return 0;
  }
  return 1024 * std::strtoll(status->c_str() + at + field.size() + 2, nullptr, 10);
}

std::uint16_t TestLeader::port() const {
  const auto url = parse_url(url_);
  EXPECT_TRUE(url.ok()) << url_;
  return url ? url->port : std::uint16_t{0};
}

void TestLeader::start(const std::vector<std::string>& arguments,
                       const std::map<std::string, std::string>& environment) {
  const fs::path endpoint = cli_.data() / "leader" / "endpoint.json";
  // One that was killed has left its address behind.
  std::error_code ignored;
  fs::remove(endpoint, ignored);
  const std::size_t scheme_end = url_.find("://");
  const std::string address = url_.empty() ? "127.0.0.1:0" : url_.substr(scheme_end + 3);
  std::vector<std::string> command = {"serve", "--listen", address};
  command.insert(command.end(), arguments.begin(), arguments.end());
  auto merged = environment;
  merged["ASSAY_DATA"] = cli_.data().string();
  process_.emplace(command, log(), merged);
  const bool up = eventually([&] { return !process_->running() || fs::exists(endpoint, ignored); });
  ASSERT_TRUE(up && process_->running()) << "the leader does not start: " << process_->said();
  const auto text = read_file(endpoint);
  ASSERT_TRUE(text.ok());
  const auto value = parse_json(*text);
  ASSERT_TRUE(value.ok() && value->is_object()) << *text;
  url_ = text_at(value->as_object(), "url");
}

ClientResponse TestLeader::request(const std::string& method, const std::string& target, const std::string& secret) {
  return request(method, target, secret, {}, "");
}

ClientResponse TestLeader::request(const std::string& method, const std::string& target, const std::string& secret,
                                   Headers headers, const std::string& body) {
  auto url = parse_url(url_);
  if (!url) {
    ADD_FAILURE() << url.error().text();
    return {};
  }
  auto client = HttpClient::create(std::move(*url), {});
  if (!secret.empty()) headers.add("Authorization", "Bearer " + secret);
  if (!body.empty() && !headers.find("Content-Type")) headers.add("Content-Type", "application/json");
  auto response = (*client)->send({.method = method, .target = target, .headers = std::move(headers), .body = body});
  if (!response) {
    ADD_FAILURE() << method << " " << target << ": " << response.error().text();
    return {};
  }
  return std::move(*response);
}

json::object TestLeader::get(const std::string& target) {
  const ClientResponse response = request("GET", target, owner_secret());
  EXPECT_EQ(response.status, 200) << target << ": " << response.body;
  auto value = parse_json(response.body);
  if (!value || !value->is_object()) {
    ADD_FAILURE() << target << " answers with no JSON object: " << response.body;
    return {};
  }
  return std::move(value->as_object());
}

std::vector<std::string> TestLeader::problems() {
  std::vector<std::string> texts;
  const auto status = get("/api/v1/status");
  if (const auto* problems = status.if_contains("problems")) {
    for (const auto& problem : problems->as_array()) texts.emplace_back(problem.at("text").as_string());
  }
  return texts;
}

std::set<std::string> TestLeader::silenced() {
  std::set<std::string> nodes;
  const auto events = get("/api/v1/events?kind=node_offline&limit=1000");
  for (const auto& event : events.at("events").as_array()) nodes.emplace(event.at("node").as_string());
  return nodes;
}

fs::path TestLeader::folder_for_runs() {
  fs::path folder = cli_.folder() / "for-runs";
  fs::create_directories(folder);
  return folder;
}

std::string TestLeader::owner_secret() const { return secret_of(cli_.data() / "leader" / "owner.token"); }

fs::path TestLeader::token_file(const std::string& role, const std::vector<std::string>& arguments) {
  fs::path file = cli_.folder() / ("token-" + std::to_string(++tokens_made_));
  std::vector<std::string> command = {"token", "create", "--role", role, "--out", file.string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const auto made = cli_.run(command);
  EXPECT_EQ(made.exit_code, 0) << made.error;
  return file;
}

std::string TestLeader::secret_of(const fs::path& token_file) const {
  const auto text = read_file(token_file);
  if (!text) {
    ADD_FAILURE() << text.error().text();
    return {};
  }
  const std::string secret(trim(*text));
  const auto join = parse_join_token(secret);
  return join ? join->secret : secret;
}

AssayProcess TestLeader::start_agent(const std::string& node, const std::vector<std::string>& arguments,
                                     const std::string& state, const std::map<std::string, std::string>& environment) {
  if (!join_token_) join_token_ = token_file("agent");
  const std::string own = state.empty() ? node : state;
  std::vector<std::string> command = {
      "agent",  "--leader", url_for_agents_.empty() ? url_ : url_for_agents_, "--token-file", join_token_->string(),
      "--name", node};
  command.insert(command.end(), {"--state", (cli_.folder() / "agents" / own).string(), "--no-gpu"});
  if (std::find(arguments.begin(), arguments.end(), "--period") == arguments.end()) {
    command.insert(command.end(), {"--period", "200ms"});
  }
  if (::geteuid() == 0) command.insert(command.end(), {"--run-as", "root"});
  command.insert(command.end(), arguments.begin(), arguments.end());
  auto merged = environment;
  merged["ASSAY_DATA"] = (cli_.folder() / "agent-data").string();
  return {command, cli_.folder() / ("agent-" + own + ".log"), merged};
}

AssayProcess TestLeader::start_fleet(int nodes, const std::vector<std::string>& arguments) {
  if (!join_token_) join_token_ = token_file("agent");
  std::vector<std::string> command = {"--json", "fleet-sim",    std::to_string(nodes), "--leader",
                                      url_,     "--token-file", join_token_->string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return {command, cli_.folder() / "fleet.log", {}};
}

json::object TestLeader::fleet_summary() {
  const auto said = read_file(cli_.folder() / "fleet.log").value_or("");
  // What stands before it was printed by the way.
  const auto begin = said.rfind("\n{\n");
  auto value = parse_json(begin == std::string::npos ? said : said.substr(begin));
  if (!value || !value->is_object() || !value->as_object().contains("result")) {
    ADD_FAILURE() << "the fleet ended without a summary: " << said;
    return {};
  }
  return std::move(value->at("result").as_object());
}

AssayProcess TestLeader::start_command(const std::string& name, const std::vector<std::string>& arguments) {
  return {arguments, cli_.folder() / (name + ".log"), {{"ASSAY_DATA", cli_.data().string()}}};
}

std::string TestLeader::state_of(const std::string& node) {
  const auto answer = cli_.json({"nodes"});
  if (!answer.contains("result")) return "absent";
  for (const auto& entry : answer.at("result").at("nodes").as_array()) {
    if (text_at(entry.as_object(), "name") == node) return text_at(entry.as_object(), "state");
  }
  return "absent";
}

void TestLeader::expect_state(const std::string& node, const std::string& state) {
  std::string seen;
  EXPECT_TRUE(eventually([&] { return (seen = state_of(node)) == state; }))
      << node << " is " << seen << " and not " << state;
}

std::set<std::int64_t> TestLeader::seconds_of(const std::string& node, const std::string& metric) {
  std::set<std::int64_t> seconds;
  const auto answer = cli_.json({"query", metric, "node=" + node, "last=10min", "width=1s"});
  if (!answer.contains("result")) return seconds;
  for (const auto& series : answer.at("result").at("series").as_array()) {
    for (const auto& bucket : series.at("buckets").as_array()) {
      if (bucket.at(4).to_number<std::int64_t>() > 0) seconds.insert(bucket.at(0).to_number<std::int64_t>() / 1000);
    }
  }
  return seconds;
}

void ClusterTest::TearDown() {
  if (!HasFailure()) return;
  for (const auto& entry : fs::directory_iterator(leader_.cli().folder())) {
    if (entry.path().extension() != ".log") continue;
    const auto text = read_file(entry.path());
    if (text) std::cerr << "--- " << entry.path().filename().string() << "\n" << *text;
  }
}

void expect_prompt(const json::object& fleet_summary) {
  EXPECT_LT(fleet_summary.at("batch_latency_ms").at("p99").to_number<double>(), 5000) << json::serialize(fleet_summary);
}

void expect_each_step_once(const std::string& text, int steps) {
  for (int i = 1; i <= steps; ++i) {
    const auto line = fmt::format("step={} ", i);
    const auto first = text.find(line);
    EXPECT_NE(first, std::string::npos) << line << "is lost";
    EXPECT_EQ(text.find(line, first + 1), std::string::npos) << line << "is there twice";
  }
}

std::vector<std::int64_t> missing_between_ends(const std::set<std::int64_t>& seconds) {
  std::vector<std::int64_t> missing;
  if (seconds.empty()) return missing;
  for (std::int64_t second = *seconds.begin(); second < *seconds.rbegin(); ++second) {
    if (!seconds.contains(second)) missing.push_back(second);
  }
  return missing;
}

}  // namespace assay
