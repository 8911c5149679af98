#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "client/leader_runs.h"
#include "commands.h"
#include "leader_place.h"
#include "net/url_text.h"
#include "store/resolve.h"

namespace assay {
namespace {

constexpr std::string_view kStudyPrefix = "study:";

Result<std::vector<std::string>> targets_of(RunStore& store, const std::string& reference) {
  if (reference.starts_with(kStudyPrefix)) {
    ASSAY_TRY(const auto study, resolve_study(store, std::string_view(reference).substr(kStudyPrefix.size())));
    return std::vector{"/api/v1/studies/" + percent_encode(study) + "/stop"};
  }
  ASSAY_TRY(const auto runs, resolve_runs(store, reference));
  std::vector<std::string> targets;
  for (const auto& run : runs) targets.push_back("/api/v1/runs/" + percent_encode(run) + "/stop");
  return targets;
}

int cancel(const Context& context, const std::vector<std::string>& references) {
  auto connected = connect_to_leader(context);
  if (!connected) return context.fail(connected.error());
  const std::shared_ptr<Connection> leader(std::move(*connected));
  const auto store = open_leader_runs(leader);
  std::size_t stopped = 0;
  for (const auto& reference : references) {
    const auto targets = targets_of(*store, reference);
    if (!targets) return context.fail(targets.error());
    for (const auto& target : *targets) {
      if (const auto answer = leader->send_json("POST", target, {}); !answer) return context.fail(answer.error());
      ++stopped;
    }
  }
  if (!context.json && !context.quiet) print("It is told to end; what it has recorded stays.\n");
  return context.succeed({{"stopped", stopped}});
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
