#pragma once

#include <sys/types.h>

#include <boost/json.hpp>
#include <map>
#include <string>
#include <vector>

namespace assay::engine {

/// What a run of assay-engine left behind.
struct Outcome {
  int exit_code = -1;  ///< 128 + signal if it was killed
  std::vector<boost::json::object> events;
  std::string errors;  ///< its standard error
  bool left_processes = false;

  /// Values of a metric over all `step` and `steps` events.
  std::vector<double> series(const std::string& name) const;
  /// A final value; NaN if there is none.
  double metric(const std::string& name) const;
  const boost::json::object* first(const std::string& type) const;
  std::string error_kind() const;
};

/// A running assay-engine in a process group of its own. The destructor ends whatever is left of it.
class EngineProgram {
 public:
  EngineProgram(std::vector<std::string> arguments, const std::map<std::string, std::string>& environment = {});
  ~EngineProgram();
  EngineProgram(const EngineProgram&) = delete;
  EngineProgram& operator=(const EngineProgram&) = delete;

  pid_t pid() const { return pid_; }
  /// Waits until the events contain this text; false if the program ended before.
  bool wait_for_event(const std::string& text);
  std::vector<pid_t> children() const;
  /// Waits for the end.
  Outcome finish();

 private:
  pid_t pid_ = -1;
  std::string folder_;
};

/// Settings over small defaults on the CPU, as the file that `--spec` takes.
std::string spec_file(const boost::json::object& settings);
/// A tiny language model for quick tests.
boost::json::object tiny_gpt(const boost::json::object& changes = {});

Outcome train(const boost::json::object& settings, std::vector<std::string> arguments = {});

}  // namespace assay::engine
