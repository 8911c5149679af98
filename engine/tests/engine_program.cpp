#include "tests/engine_program.h"
#include "support/source_tree.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

extern char** environ;

namespace assay::engine {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string new_folder() {
  std::string pattern = (fs::temp_directory_path() / "engine-test-XXXXXX").string();
  if (!::mkdtemp(pattern.data())) throw std::runtime_error("no temporary folder");
  return pattern;
}

int open_for_writing(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
}

/// As exec wants them, a null pointer last.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (auto& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

bool group_is_alive(pid_t group) { return ::kill(-group, 0) == 0; }

}  // namespace

EngineProgram::EngineProgram(std::vector<std::string> arguments, const std::map<std::string, std::string>& environment)
    : folder_(new_folder()) {
  arguments.insert(arguments.begin(), (assay::test::build_folder() / "bin/assay-engine").string());
  std::vector<char*> argv = pointers_to(arguments);
  std::map<std::string, std::string> variables = environment;
  variables["ASSAY_EVENTS"] = "file:" + folder_ + "/events";
  variables["OMP_WAIT_POLICY"] = "passive";
  std::vector<std::string> texts;
  for (char** entry = environ; *entry; ++entry) {
    const std::string text = *entry;
    if (!variables.contains(text.substr(0, text.find('=')))) texts.push_back(text);
  }
  for (const auto& [name, value] : variables) texts.push_back(std::string(name).append("=").append(value));
  std::vector<char*> envp = pointers_to(texts);
  const int output = open_for_writing(folder_ + "/output");
  const int errors = open_for_writing(folder_ + "/errors");
  pid_ = ::fork();
  if (pid_ == 0) {
    ::setpgid(0, 0);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(errors, STDERR_FILENO);
    ::execve(argv[0], argv.data(), envp.data());
    ::_exit(127);
  }
  ::setpgid(pid_, pid_);
  ::close(output);
  ::close(errors);
}

EngineProgram::~EngineProgram() {
  if (pid_ > 0) {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  std::error_code code;
  fs::remove_all(folder_, code);
}

bool EngineProgram::wait_for_event(const std::string& text) {
  while (content(folder_ + "/events").find(text) == std::string::npos) {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
      return content(folder_ + "/events").find(text) != std::string::npos;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

std::vector<pid_t> EngineProgram::children() const {
  std::ifstream file("/proc/" + std::to_string(pid_) + "/task/" + std::to_string(pid_) + "/children");
  std::vector<pid_t> pids;
  for (pid_t pid = 0; file >> pid;) pids.push_back(pid);
  return pids;
}

Outcome EngineProgram::finish() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  Outcome outcome;
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  outcome.left_processes = group_is_alive(pid_);
  if (outcome.left_processes) ::kill(-pid_, SIGKILL);
  pid_ = -1;
  outcome.errors = content(folder_ + "/errors");
  std::istringstream lines(content(folder_ + "/events"));
  for (std::string line; std::getline(lines, line);) outcome.events.push_back(json::parse(line).as_object());
  return outcome;
}

std::vector<double> Outcome::series(const std::string& name) const {
  std::vector<double> values;
  for (const auto& event : events) {
    const auto* found = event.if_contains(name);
    if (!found || (event.at("type") != "steps" && event.at("type") != "eval")) continue;
    if (!found->is_array()) {
      values.push_back(found->to_number<double>());
      continue;
    }
    for (const auto& value : found->get_array()) values.push_back(value.is_null() ? NAN : value.to_number<double>());
  }
  return values;
}

const json::object* Outcome::first(const std::string& type) const {
  for (const auto& event : events) {
    if (event.at("type").as_string() == type) return &event;
  }
  return nullptr;
}

double Outcome::metric(const std::string& name) const {
  const auto* result = first("result");
  if (!result) return NAN;
  const auto* value = result->at("metrics").as_object().if_contains(name);
  return value && value->is_number() ? value->to_number<double>() : NAN;
}

std::string Outcome::error_kind() const {
  const auto* error = first("error");
  return error ? std::string(error->at("kind").as_string()) : std::string();
}

std::string spec_file(const json::object& settings) {
  static const std::string folder = new_folder();
  static int count = 0;
  json::object spec{{"kind", "train"}, {"name", "test"}, {"device", "cpu"}};
  for (const auto& setting : settings) spec[setting.key()] = setting.value();
  std::string path = folder + "/spec-" + std::to_string(++count) + ".json";
  std::ofstream(path) << json::serialize(spec);
  return path;
}

json::object tiny_gpt(const json::object& changes) {
  json::object spec{{"model", {{"name", "gpt2"}, {"layers", 2}, {"width", 32}, {"heads", 2}, {"vocabulary", 64}}},
                    {"task", "pretrain"},
                    {"dataset", {{"name", "markov-text"}, {"samples", 2000}}},
                    {"steps", 12},
                    {"batch_size", 4},
                    {"seq_length", 16},
                    {"learning_rate", 3e-3}};
  for (const auto& change : changes) spec[change.key()] = change.value();
  return spec;
}

Outcome train(const json::object& settings, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"train", "--spec", spec_file(settings)});
  return EngineProgram(std::move(arguments)).finish();
}

}  // namespace assay::engine
