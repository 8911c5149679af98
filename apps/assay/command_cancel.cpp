#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "client/leader_runs.h"
#include "commands.h"
#include "leader_place.h"
#include "net/url_text.h"
#include "store/resolve.h"

namespace assay {
namespace {

constexpr std::string_view kStudyPrefix = "study:";

struct Target {
  std::string name;
  std::string path;
};

Result<std::vector<Target>> targets_of(RunStore& store, const std::string& reference) {
  if (reference.starts_with(kStudyPrefix)) {
    ASSAY_TRY(const auto study, resolve_study(store, std::string_view(reference).substr(kStudyPrefix.size())));
    return std::vector{Target{std::string(kStudyPrefix) + study, "/api/v1/studies/" + percent_encode(study) + "/stop"}};
  }
  ASSAY_TRY(const auto runs, resolve_runs(store, reference));
  std::vector<Target> targets;
  targets.reserve(runs.size());
  for (const auto& run : runs) targets.push_back({run, "/api/v1/runs/" + percent_encode(run) + "/stop"});
  return targets;
}

int cancel(const Context& context, const std::vector<std::string>& references) {
  auto connected = connect_to_leader(context);
  if (!connected) return context.fail(connected.error());
  const std::shared_ptr<Connection> leader(std::move(*connected));
  const auto store = open_leader_runs(leader);
  // All are known before any is told: a mistyped name ends nothing.
  std::vector<Target> all;
  for (const auto& reference : references) {
    const auto targets = targets_of(*store, reference);
    if (!targets) return context.fail(targets.error());
    all.insert(all.end(), targets->begin(), targets->end());
  }
  std::size_t stopped = 0;
  std::optional<Error> refused;
  for (const auto& target : all) {
    const auto answer = leader->send_json("POST", target.path, {});
    if (answer) {
      ++stopped;
      if (!context.json && !context.quiet) {
        print(fmt::format("{} is told to end; what it has recorded stays.\n", target.name));
      }
    } else if (!refused) {
      // One that has just ended by itself does not let the others go on.
      refused = answer.error();
    }
  }
  return refused ? context.fail(*refused) : context.succeed({{"stopped", stopped}});
}

}  // namespace

Action add_cancel(CLI::App& app, Context& context) {
  auto runs = std::make_shared<std::vector<std::string>>();
  auto* command = app.add_subcommand("cancel", "End runs that a cluster was asked for")->group("Cluster");
  command->add_option("RUN", *runs, "An id, the beginning of one, a name, @last, tag:T; or study:S")->required();
  command->footer(R"(
Examples:
  assay cancel @last
  assay cancel study:lr-sweep          every run of it, and no further one begins)");
  return [&context, runs] { return cancel(context, *runs); };
}

}  // namespace assay
