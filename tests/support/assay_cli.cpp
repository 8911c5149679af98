#include "support/assay_cli.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/text.h"
#include "support/source_tree.h"

namespace assay {

AssayCli::AssayCli() : data_(folder_.path() / "data") {}

fs::path AssayCli::program() { return test::build_folder() / "bin/assay"; }
fs::path AssayCli::source_folder() { return test::source_folder(); }

AssayCli::Answer AssayCli::run(const std::vector<std::string>& arguments,
                               const std::map<std::string, std::string>& environment, const std::string& input) {
  std::vector<std::string> command = {program().string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  CommandOptions options{.deadline = std::chrono::seconds(90),
                         .output_limit = std::size_t{128} << 20,
                         .folder = folder_.path(),
                         .input = input};
  options.environment = {{"ASSAY_DATA", data_.string()}, {"LC_ALL", "C.UTF-8"}, {"NO_COLOR", "1"}};
  for (const auto& [name, value] : environment) options.environment[name] = value;
  const auto output = run_command(command, options);
  if (!output) {
    ADD_FAILURE() << output.error().text();
    return {};
  }
  if (output->signal) ADD_FAILURE() << "assay ended by signal " << *output->signal << "\n" << output->error;
  return {output->exit_code.value_or(-1), output->out, output->error};
}

json::object AssayCli::json(std::vector<std::string> arguments, int* exit_code,
                            const std::map<std::string, std::string>& environment) {
  arguments.insert(arguments.begin(), "--json");
  const Answer answer = run(arguments, environment);
  if (exit_code) *exit_code = answer.exit_code;
  auto value = parse_json(answer.out);
  if (!value || !value->is_object()) {
    ADD_FAILURE() << "not one JSON object: " << answer.out << "\n" << answer.error;
    return {};
  }
  return value->as_object();
}

json::object AssayCli::last_run() { return json({"show", "@last"}).at("result").as_object(); }

std::vector<double> AssayCli::last_series(const std::string& name) {
  std::vector<double> values;
  const auto answer = json({"show", "@last", "--series", name});
  if (!answer.contains("result")) return values;
  for (const auto& series : answer.at("result").at("series").as_array()) {
    for (const auto& point : series.at("points").as_array()) {
      values.push_back(point.at("value").is_null() ? std::nan("") : point.at("value").to_number<double>());
    }
  }
  return values;
}

std::string AssayCli::write(const std::string& name, std::string_view content) {
  const auto path = folder_.path() / name;
  EXPECT_TRUE(write_file_atomically(path, content).ok());
  return path.string();
}

std::vector<int> processes_with(std::string_view text) {
  std::vector<int> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    // A zombie has no command line any more.
    const auto line = read_file(entry.path() / "cmdline");
    if (line && line->find(text) != std::string::npos) found.push_back(std::stoi(name));
  }
  return found;
}

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < deadline) {
    if (condition()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return condition();
}

}  // namespace assay
