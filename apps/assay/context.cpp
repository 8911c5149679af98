#include "context.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

#include "base/version.h"
#include "client/leader_runs.h"
#include "leader_place.h"
#include "report/text/style.h"
#include "runs/judge.h"
#include "store/local/local_store.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace assay {

TerminalStyle Context::out_style() const { return TerminalStyle::of(STDOUT_FILENO, environment, !no_colour); }
TerminalStyle Context::error_style() const { return TerminalStyle::of(STDERR_FILENO, environment, !no_colour); }

std::filesystem::path Context::data_folder() const {
  const auto variable = [&](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  if (!data_option.empty()) return data_option;
  if (const auto data = variable("ASSAY_DATA"); !data.empty()) return data;
  if (const auto data = variable("XDG_DATA_HOME"); !data.empty()) return std::filesystem::path(data) / "assay";
  if (const auto home = variable("HOME"); !home.empty()) return std::filesystem::path(home) / ".local/share/assay";
  return ".assay";
}

Result<std::unique_ptr<RunStore>> Context::open_store() const {
  if (!leader.url.empty()) {
    ASSAY_TRY(auto connection, connect_to_leader(*this));
    return open_leader_runs(std::move(connection));
  }
  return open_local_store(data_folder()).within("opening the data folder");
}

json::object to_json(const Error& error) {
  return {{"kind", name_of(error.kind)}, {"message", error.text()}, {"hint", error.hint}, {"at", error.at}};
}

int Context::answer(int exit_code, json::object result, const json::object* error) const {
  if (json) {
    json::object envelope{{"assay", version()}, {"schema", 1}, {"command", command}, {"ok", exit_code == 0}};
    envelope["result"] = std::move(result);
    if (error) envelope["error"] = *error;
    print(pretty_json(envelope));
  }
  return exit_code;
}

int Context::succeed(json::object result) const { return answer(0, std::move(result), nullptr); }

int Context::fail(const Error& error) const {
  if (json) {
    print(pretty_json(json::object{
        {"assay", version()}, {"schema", 1}, {"command", command}, {"ok", false}, {"error", to_json(error)}}));
  } else {
    const TerminalStyle style = error_style();
    const std::string where = error.at.empty() ? "" : error.at + ": ";
    print_error(fmt::format("{} {}{}\n", style.paint(Colour::red, "assay:"), where, error.text()));
    if (!error.hint.empty()) print_error(fmt::format("       {}\n", error.hint));
  }
  return exit_code_of(error.kind);
}

namespace {

/// Why standard output did not take something; 0: it took everything.
std::atomic<int> output_problem{0};

}  // namespace

void print(std::string_view text) {
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) return;
  int none = 0;
  output_problem.compare_exchange_strong(none, errno);
}

Result<void> check_printed() {
  const int problem = output_problem;
  if (problem == 0 || problem == EPIPE) return {};
  return system_error(problem, "cannot write to standard output");
}

void print_error(std::string_view text) {
  std::fflush(stdout);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

std::map<std::string, std::string> process_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text = *entry;
    if (const auto equals = text.find('='); equals != std::string_view::npos) {
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return variables;
}

std::filesystem::path self_path() {
  std::error_code code;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", code);
  return code ? std::filesystem::path("assay") : path;
}

}  // namespace assay
