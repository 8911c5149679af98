#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"

namespace assay {

/// The built `assay` with a data folder of its own, used as people use it: as a program.
class AssayCli {
 public:
  AssayCli();

  struct Answer {
    int exit_code = -1;
    std::string out;
    std::string error;
  };
  /// `run({"exec", "--", "true"})`. A time-out or a crash by a signal is a test failure and exit code -1.
  Answer run(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& environment = {},
             const std::string& input = "");
  /// The same with --json in front: the parsed envelope. `exit_code` may be null.
  json::object json(std::vector<std::string> arguments, int* exit_code = nullptr,
                    const std::map<std::string, std::string>& environment = {});
  /// The record of the newest run.
  json::object last_run();
  /// Values of a series of the newest run.
  std::vector<double> last_series(const std::string& name);

  const fs::path& data() const { return data_; }
  const fs::path& folder() const { return folder_.path(); }
  /// Writes a file into the test's folder and returns its path.
  std::string write(const std::string& name, std::string_view content);

  static fs::path program();
  static fs::path source_folder();

 private:
  TemporaryFolder folder_;
  fs::path data_;
};

/// Process ids whose command line contains `text`; zombies do not count.
std::vector<int> processes_with(std::string_view text);
/// Waits until `condition` holds, generously; false if it never does.
bool eventually(const std::function<bool()>& condition);

}  // namespace assay
