#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "context.h"
#include "launch/launcher.h"

namespace assay {

/// Where runs are done, as `--on` says.
struct LaunchPlace {
  std::unique_ptr<Launcher> launcher;
  std::string text;  ///< what it was made from, to make it again; empty: this machine, where jobs end with us
  std::string node;  ///< instead of a launcher: of the cluster that --leader or the data folder names

  bool is_this_machine() const { return text.empty(); }
};

/// Whose runs they are: those of others get no more of this program's environment than a workload needs.
enum class RunsFor { us, others };

/// This machine, for a text that is empty. Errors: `usage`, also for a kind of place that there is not, with those that
/// there are.
Result<LaunchPlace> open_place(const std::string& text, const Context& context, RunsFor whom = RunsFor::us);

/// One line for each kind of place, for help texts.
std::string describe_places();

}  // namespace assay
