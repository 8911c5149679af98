#pragma once

#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "context.h"

namespace assay {

/// A command registers its options with CLI11 and hands back what to do when it was chosen.
using Action = std::function<int()>;

/// Everything after the `--` of `exec`, which CLI11 must not see (it would split `[a,b]` into two arguments).
/// Absent when there was no `--`.
using PassedArguments = std::optional<std::vector<std::string>>;

Action add_cancel(CLI::App& app, Context& context);
Action add_submit(CLI::App& app, Context& context);
Action add_queue(CLI::App& app, Context& context);
Action add_hold(CLI::App& app, Context& context);
Action add_release(CLI::App& app, Context& context);
Action add_run(CLI::App& app, Context& context);
Action add_exec(CLI::App& app, Context& context, const PassedArguments& passed);
Action add_validate(CLI::App& app, Context& context);
Action add_schema(CLI::App& app, Context& context);
Action add_runs(CLI::App& app, Context& context);
Action add_show(CLI::App& app, Context& context);
Action add_logs(CLI::App& app, Context& context);
Action add_tag(CLI::App& app, Context& context);
Action add_rm(CLI::App& app, Context& context);
Action add_prune(CLI::App& app, Context& context);
Action add_reindex(CLI::App& app, Context& context);
Action add_report(CLI::App& app, Context& context);
Action add_compare(CLI::App& app, Context& context);
Action add_plot(CLI::App& app, Context& context);
Action add_import(CLI::App& app, Context& context);
Action add_export(CLI::App& app, Context& context);
Action add_doctor(CLI::App& app, Context& context);
Action add_serve(CLI::App& app, Context& context);
Action add_config(CLI::App& app, Context& context);
Action add_token(CLI::App& app, Context& context);
Action add_user(CLI::App& app, Context& context);
Action add_audit(CLI::App& app, Context& context);
Action add_login(CLI::App& app, Context& context);
Action add_logout(CLI::App& app, Context& context);
Action add_nodes(CLI::App& app, Context& context);
Action add_top(CLI::App& app, Context& context);
Action add_query(CLI::App& app, Context& context);
Action add_alerts(CLI::App& app, Context& context);
Action add_events(CLI::App& app, Context& context);
Action add_backup(CLI::App& app, Context& context);
Action add_restore(CLI::App& app, Context& context);
Action add_repair(CLI::App& app, Context& context);
Action add_fleet_sim(CLI::App& app, Context& context);
Action add_simulate(CLI::App& app, Context& context);
Action add_version(CLI::App& app, Context& context);
Action add_agent(CLI::App& app, Context& context);
Action add_completion(CLI::App& app, Context& context, const CLI::App& root);

}  // namespace assay
