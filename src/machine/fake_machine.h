#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "machine/machine.h"
#include "support/source_tree.h"

namespace assay {

/// A machine made of files and canned answers, for tests: `view()` sees nothing of the real one. The view must not
/// outlive it.
class FakeMachine {
 public:
  /// Copies a recorded root into this one.
  void copy_from(const fs::path& recorded_root) {
    fs::copy(recorded_root, root_.path(), fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  }

  void write(std::string_view path, std::string_view content) {
    const fs::path file = root_.path() / fs::path(path).relative_path();
    fs::create_directories(file.parent_path());
    ASSAY_ASSERT(write_file_atomically(file, content).ok());
  }
  void remove(std::string_view path) { fs::remove_all(root_.path() / fs::path(path).relative_path()); }

  /// The command that starts with `program` and has `part` in one of its arguments gives this. Later ones win; a
  /// command nobody answers for does not exist.
  void answer(std::string program, std::string part, Result<CommandOutput> output) {
    answers_.push_back({std::move(program), std::move(part), std::move(output)});
  }
  void answer(std::string program, std::string part, std::string out, int exit_code = 0) {
    answer(std::move(program), std::move(part), CommandOutput{.exit_code = exit_code, .out = std::move(out)});
  }

  struct Call {
    std::vector<std::string> arguments;
    CommandOptions options;
  };
  const std::vector<Call>& calls() const { return calls_; }

  std::map<std::string, std::string> environment;

  MachineView view() {
    MachineView view;
    view.root = root_.path();
    view.environment = environment;
    view.run = [this](const std::vector<std::string>& arguments, const CommandOptions& options) {
      return run(arguments, options);
    };
    return view;
  }

 private:
  struct Answer {
    std::string program;
    std::string part;
    Result<CommandOutput> output;
  };

  Result<CommandOutput> run(const std::vector<std::string>& arguments, const CommandOptions& options) {
    calls_.push_back({arguments, options});
    for (auto answer = answers_.rbegin(); answer != answers_.rend(); ++answer) {
      if (answer->program != arguments[0]) continue;
      for (const auto& argument : arguments) {
        if (argument.find(answer->part) != std::string::npos) return answer->output;
      }
    }
    return Error{.kind = ErrorKind::missing_file, .message = "no program '" + arguments[0] + "'"};
  }

  TemporaryFolder root_;
  std::vector<Answer> answers_;
  std::vector<Call> calls_;
};

/// A file below tests/fixtures/machine.
inline fs::path machine_fixture(std::string_view name) { return test::fixture_folder() / "machine" / name; }
inline std::string machine_fixture_text(std::string_view name) {
  auto text = read_file(machine_fixture(name));
  ASSAY_ASSERT(text.ok());
  return std::move(*text);
}

}  // namespace assay
