#include <fmt/format.h>

#include <iterator>
#include <memory>

#include "api/queue_types.h"
#include "api/slurm_types.h"
#include "base/text.h"
#include "base/units.h"
#include "client/ask.h"
#include "client/leader_runs.h"
#include "commands.h"
#include "leader_place.h"
#include "net/url_text.h"
#include "queue_view.h"
#include "report/text/table.h"
#include "store/resolve.h"

namespace assay {
namespace {

struct QueueOptions {
  bool mine = false;
  bool slurm = false;
  std::vector<std::string> runs;
  int priority = 0;
};

std::pair<std::string, Colour> state_shown(const QueuedRun& run) {
  if (run.stopping) return {"stopping", Colour::yellow};
  if (run.state != RunState::queued) return {std::string(name_of(run.state)), Colour::green};
  if (run.held) return {"held", Colour::dim};
  if (run.reason == "no_such_node" || run.reason == "never") return {"stuck", Colour::red};
  return {run.reason.empty() ? "placed" : "waiting", Colour::plain};
}

std::string place_shown(const QueuedRun& run) {
  if (!run.node.empty()) {
    return printable(with_further(run.node, run.further)) +
           (run.gpus.empty() ? "" : fmt::format(" ({} GPU{})", run.gpus.size(), run.gpus.size() == 1 ? "" : "s"));
  }
  return run.expected_node.empty() ? "anywhere"
                                   : "→ " + printable(with_further(run.expected_node, run.expected_further));
}

std::string name_of_run(const QueuedRun& run) {
  std::string name = printable(run.name);
  if (!run.variant.empty()) name += " / " + printable(run.variant);
  if (run.attempt > 1) name += fmt::format(" (attempt {} of {})", run.attempt, run.attempts);
  return name;
}

Table queue_table(const std::vector<QueuedRun>& runs, WallTime now) {
  Table table({{"Run"},
               {"Name", Align::left, true},
               {"User", Align::left, true, 3},
               {"State"},
               {"Where", Align::left, true},
               {"Prio", Align::right, false, 4},
               {"Takes", Align::right, false, 2},
               {"Starts", Align::right, false, 1},
               {"Why", Align::left, true}});
  for (const auto& run : runs) {
    const auto [state, colour] = state_shown(run);
    const bool waits = run.state == RunState::queued && !run.reason.empty();
    const std::string started = run.started ? rough_time(now - *run.started) + " ago" : "now";
    QueuedRun told = run;
    told.expected_start.reset();  // it has a column of its own
    table.add({Cell(run.run, Colour::bold), name_of_run(run), printable(run.by), Cell(state, colour), place_shown(run),
               run.priority == 0 ? "" : std::to_string(run.priority), length_text(run.length),
               waits ? waiting_start_text(run, now) : started, Cell(sentence_of(told, now), Colour::dim)});
  }
  return table;
}

/// All pages of it.
Result<QueueList> whole_queue(Connection& leader, bool mine) {
  QueueList all;
  do {
    auto target = fmt::format("/api/v1/queue?mine={}", mine);
    // Not for the first: a leader from before there were pages knows no such parameter.
    if (!all.next.empty()) target += "&after=" + percent_encode(all.next);
    ASSAY_TRY(auto page, ask<QueueList>(leader, target));
    std::move(page.runs.begin(), page.runs.end(), std::back_inserter(all.runs));
    all.total = page.total;
    all.next = std::move(page.next);
  } while (!all.next.empty());
  return all;
}

int show_queue(const Context& context, Connection& leader, const QueueOptions& options) {
  const auto list = whole_queue(leader, options.mine);
  if (!list) return context.fail(list.error());
  if (context.json) return context.succeed(write_api(*list));
  const TerminalStyle style = context.out_style();
  if (list->runs.empty()) {
    print("Nothing waits and nothing runs. `assay submit SPEC` asks for something.\n");
    return 0;
  }
  print(queue_table(list->runs, context.clock.wall()).render(style, 0));
  std::size_t running = 0;
  std::size_t held = 0;
  for (const auto& run : list->runs) {
    running += run.state != RunState::queued ? 1 : 0;
    held += run.state == RunState::queued && run.held ? 1 : 0;
  }
  std::string summary = fmt::format("{} running, {} waiting", running, list->runs.size() - running - held);
  if (held > 0) summary += fmt::format(", {} held", held);
  print(style.paint(Colour::dim, summary + "\n"));
  return 0;
}

std::string gpus_shown(const SlurmQueueEntry& job) { return job.gpus ? std::to_string(*job.gpus) : "?"; }

Table slurm_table(const SlurmJobList& list, WallTime now) {
  Table table({{"Job"},
               {"Name", Align::left, true, 1},
               {"User", Align::left, true},
               {"State"},
               {"Partition", Align::left, true, 2},
               {"Nodes", Align::left, true},
               {"GPUs", Align::right},
               {"Since", Align::right, false, 3},
               {"Why", Align::left, true}});
  for (const auto& listed : list.jobs) {
    const SlurmQueueEntry& job = listed.job;
    const bool waits = job.nodes.empty();
    const auto hidden = [&](const std::string& text) { return list.keeps_private ? "private" : printable(text); };
    table.add({Cell(printable(job.id), Colour::bold), hidden(job.name), hidden(job.user),
               Cell(lower_case(printable(job.state)), waits ? Colour::plain : Colour::green), printable(job.partition),
               waits ? fmt::format("{} wanted", job.node_count) : printable(job.nodes), gpus_shown(job),
               job.since ? rough_time(now - *job.since) : "-",
               Cell(job.of_assay ? "a run of assay" : printable(job.reason), Colour::dim)});
  }
  return table;
}

int show_slurm(const Context& context, Connection& leader) {
  const auto value = leader.get("/api/v1/slurm/jobs");
  if (!value) return context.fail(value.error());
  if (context.json) return context.succeed(value->as_object());
  const auto list = read_api<SlurmJobList>(*value);
  if (!list) return context.fail(list.error());
  const auto now = context.clock.wall();
  if (list->told_by.empty()) {
    print(
        "Nobody tells this leader of Slurm's jobs. An agent with 'slurm_jobs: true' does, once the leader's\n"
        "'slurm_from' names its node (docs/guides/slurm.md).\n");
    return 0;
  }
  if (!list->jobs.empty()) print(slurm_table(*list, now).render(context.out_style(), 0));
  std::string summary = list->as_of ? fmt::format("{} job{} of Slurm, as '{}' said {} ago", list->jobs.size(),
                                                  list->jobs.size() == 1 ? "" : "s", printable(list->told_by),
                                                  rough_time(now - *list->as_of))
                                    : fmt::format("'{}' has not told of Slurm's jobs", printable(list->told_by));
  if (list->left_out > 0) summary += fmt::format("; {} more wait", list->left_out);
  if (list->keeps_private) summary += "; Slurm keeps users and names private";
  print(context.out_style().paint(Colour::dim, summary + "\n"));
  if (!list->problem.empty()) print(context.out_style().paint(Colour::yellow, printable(list->problem) + "\n"));
  return 0;
}

/// The same change for every run that the references name; `rest` follows the id in the path.
int change_runs(const Context& context, const std::vector<std::string>& references, std::string_view rest,
                const json::object& body, std::string_view done) {
  auto connected = connect_to_leader(context);
  if (!connected) return context.fail(connected.error());
  const std::shared_ptr<Connection> leader(std::move(*connected));
  const auto store = open_leader_runs(leader);
  json::array changed;
  for (const auto& reference : references) {
    const auto runs = resolve_runs(*store, reference);
    if (!runs) return context.fail(runs.error());
    for (const auto& run : *runs) {
      const auto answer = leader->send_json("POST", fmt::format("/api/v1/runs/{}{}", percent_encode(run), rest), body);
      if (!answer) return context.fail(answer.error());
      if (!context.json && !context.quiet) print(fmt::format("{} {}\n", run, done));
      changed.push_back(*answer);
    }
  }
  return context.succeed({{"runs", std::move(changed)}});
}

void add_runs_option(CLI::App& command, QueueOptions& options) {
  command.add_option("RUN", options.runs, "An id, the beginning of one, a name, @last, tag:T")->required();
}

}  // namespace

Action add_queue(CLI::App& app, Context& context) {
  auto options = std::make_shared<QueueOptions>();
  auto* command =
      app.add_subcommand("queue", "What a cluster does and has to do, and why something waits")->group("Cluster");
  command->require_subcommand(0, 1);
  auto* mine = command->add_flag("--mine", options->mine, "Only what is yours");
  command->add_flag("--slurm", options->slurm, "The jobs of the Slurm cluster beside it, whoever's they are")
      ->excludes(mine);
  auto* set = command->add_subcommand("set", "Make runs that wait more or less urgent");
  add_runs_option(*set, *options);
  set->add_option("--priority", options->priority, "A step counts as an hour of waiting; above 0 for administrators")
      ->type_name("N")
      ->required();
  command->footer(R"(
Examples:
  assay queue                          what runs, what waits, where, why and until when probably
  assay queue --mine
  assay queue --slurm                  who uses the same nodes through Slurm, and what waits there
  assay queue set @last --priority 2   as if it had been asked for two hours earlier
  assay hold @last; assay release @last)");
  return [&context, options, set]() -> int {
    if (set->parsed()) {
      return change_runs(context, options->runs, "/priority", write_api(NewPriority{.priority = options->priority}),
                         fmt::format("has priority {}.", options->priority));
    }
    auto leader = connect_to_leader(context);
    if (!leader) return context.fail(leader.error());
    return options->slurm ? show_slurm(context, **leader) : show_queue(context, **leader, *options);
  };
}

Action add_hold(CLI::App& app, Context& context) {
  auto options = std::make_shared<QueueOptions>();
  auto* command = app.add_subcommand("hold", "Let runs that wait go on waiting")->group("Cluster");
  add_runs_option(*command, *options);
  command->footer(R"(
Examples:
  assay hold @last                     it does not start until `assay release @last`
  assay hold tag:nightly)");
  return [&context, options] { return change_runs(context, options->runs, "/hold", {}, "is held."); };
}

Action add_release(CLI::App& app, Context& context) {
  auto options = std::make_shared<QueueOptions>();
  auto* command =
      app.add_subcommand("release", "Let runs that were held start when it is their turn")->group("Cluster");
  add_runs_option(*command, *options);
  command->footer(R"(
Examples:
  assay release @last)");
  return [&context, options] { return change_runs(context, options->runs, "/release", {}, "waits for its turn."); };
}

}  // namespace assay
