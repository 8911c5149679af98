#include <fmt/format.h>

#include <memory>

#include "api/queue_types.h"
#include "api/run_types.h"
#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "client/ask.h"
#include "client/leader_runs.h"
#include "commands.h"
#include "leader_place.h"
#include "queue_view.h"
#include "report/text/table.h"
#include "run_services.h"
#include "store/resolve.h"

namespace assay {
namespace {

constexpr std::size_t kMostSpecBytes = std::size_t{1} << 20;

struct SubmitOptions {
  std::vector<std::string> files;
  RunOrder order;  ///< but for the specification
  std::vector<std::string> gpus;
  std::vector<std::string> after;  ///< as the user names runs
  bool dry_run = false;
};

Result<RunOrder> order_for(const SubmitOptions& options, const std::string& file,
                           const std::vector<std::string>& after) {
  RunOrder order = options.order;
  ASSAY_TRY(order.spec, read_file(file == "-" ? "/dev/stdin" : file, kMostSpecBytes));
  order.file = file;
  order.after = after;
  if (!options.gpus.empty()) order.gpus = options.gpus;
  return order;
}

Result<std::vector<std::string>> ids_of(RunStore& store, const std::vector<std::string>& references) {
  std::vector<std::string> ids;
  for (const auto& reference : references) {
    ASSAY_TRY(const auto found, resolve_runs(store, reference));
    ids.insert(ids.end(), found.begin(), found.end());
  }
  return ids;
}

std::string cost_text(std::optional<double> cost, const std::string& currency) {
  return cost ? fmt::format("{:.2f} {}", *cost, printable(currency)) : "-";
}

void print_preview(const Context& context, const OrderPreview& preview) {
  const TerminalStyle style = context.out_style();
  const WallTime now = context.clock.wall();
  Table table({{"Run", Align::left, true},
               {"Needs", Align::left, true},
               {"Where"},
               {"Starts", Align::right},
               {"Takes", Align::right},
               {"Cost", Align::right}});
  std::string reasons;
  for (const auto& priced : preview.runs) {
    const auto& run = priced.run;
    const std::string repeat = run.repeat > 0 ? fmt::format(" #{}", run.repeat + 1) : "";
    table.add({Cell(printable(run.variant) + repeat, Colour::bold), printable(run.needs),
               run.node.empty() ? "nowhere now" : printable(with_further(run.node, run.further)),
               start_text(run.expected_start, run.late_start, now), length_text(run.length),
               cost_text(priced.cost, preview.currency)});
    if (!run.why.empty() && reasons.empty()) reasons = fmt::format("It would wait: {}\n", printable(run.why));
  }
  print(table.render(style, 0));
  std::string summary =
      fmt::format("{}: {} {}", printable(preview.name), preview.runs.size(), preview.runs.size() == 1 ? "run" : "runs");
  if (preview.expected_end) summary += ", done in about " + rough_time(*preview.expected_end - now);
  if (preview.cost) summary += ", for about " + cost_text(preview.cost, preview.currency);
  print(reasons + style.paint(Colour::dim, summary + ". Nothing was asked for.\n"));
}

/// What is told of an order that was taken: its id alone where nobody looks at a terminal.
Result<void> print_accepted(const Context& context, Connection& leader, const OrderedRun& ordered) {
  print((ordered.study.empty() ? ordered.run : "study:" + ordered.study) + "\n");
  if (!context.out_style().colour) return {};
  const auto queued = ask<QueuedRun>(leader, "/api/v1/queue/" + ordered.run);
  // Short ones may be over by now.
  if (!queued) return queued.error().kind == ErrorKind::not_found ? Result<void>() : Result<void>(queued.error());
  print_error(sentence_of(*queued, context.clock.wall()) + "\n");
  return {};
}

int submit(const Context& context, const SubmitOptions& options) {
  if (!options.order.key.empty() && options.files.size() > 1) {
    return context.fail({.kind = ErrorKind::usage,
                         .message = "--key stands for one order, and several specifications were given",
                         .hint = "Submit them one by one, each with a key of its own."});
  }
  // Mistakes are better said here, before anybody is asked.
  if (auto specs = read_specs(context, options.files, options.order.set); !specs) return context.fail(specs.error());
  auto connected = connect_to_leader(context);
  if (!connected) return context.fail(connected.error());
  const std::shared_ptr<Connection> leader(std::move(*connected));
  const auto after = ids_of(*open_leader_runs(leader), options.after);
  if (!after) return context.fail(after.error());
  json::array answers;
  for (const auto& file : options.files) {
    const auto order = order_for(options, file, *after);
    if (!order) return context.fail(order.error());
    if (options.dry_run) {
      const auto preview = tell<OrderPreview>(*leader, "POST", "/api/v1/queue/preview", *order);
      if (!preview) return context.fail(preview.error());
      if (!context.json) print_preview(context, *preview);
      answers.push_back(write_api(*preview));
      continue;
    }
    const auto ordered = tell<OrderedRun>(*leader, "POST", "/api/v1/runs", *order);
    if (!ordered) return context.fail(ordered.error());
    answers.push_back(write_api(*ordered));
    if (context.json || context.quiet) continue;
    if (auto printed = print_accepted(context, *leader, *ordered); !printed) return context.fail(printed.error());
  }
  return context.succeed({{options.dry_run ? "previews" : "submitted", std::move(answers)}});
}

void add_options(CLI::App& command, SubmitOptions& options) {
  auto& order = options.order;
  command.add_option("SPEC", options.files, "YAML files; - reads standard input")->required();
  command.add_option("--set", order.set, "Change a setting: --set batch_size=64 --set lora.rank=8")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  command.add_option("--name", order.name, "Name of the run or study [the file's name]");
  command.add_option("--tag", order.tags, "Tag: key=value or a word; may be repeated")->allow_extra_args(false);
  auto* node =
      command.add_option("--node", order.node, "On this node [as the specification says, else wherever it fits]")
          ->type_name("NODE");
  command.add_flag("--each-node", order.each_node, "One run on each node that takes runs")->excludes(node);
  command.add_option("--gpus", options.gpus, "On these GPUs of the node, by UUID [as many as it needs]")
      ->delimiter(',')
      ->type_name("UUID,…");
  command.add_option("--priority", order.priority, "A step counts as an hour of waiting; above 0 for administrators")
      ->type_name("N");
  command.add_option("--within", order.within, "It is to have ended so soon: 6h; for administrators")
      ->type_name("TIME");
  command.add_option("--after", options.after, "Once this run has succeeded; may be repeated")
      ->type_name("RUN")
      ->allow_extra_args(false);
  command.add_flag("--hold", order.hold, "It waits until `assay release`");
  command.add_option("--retries", order.retries, "Further attempts where its node is lost")->type_name("N");
  command.add_option("--key", order.key, "Asked again with the same key, it is the same run")->type_name("TEXT");
  command.add_flag("--dry-run", options.dry_run, "Show place, expected time and cost, and ask for nothing");
}

}  // namespace

Action add_submit(CLI::App& app, Context& context) {
  auto options = std::make_shared<SubmitOptions>();
  auto* command = app.add_subcommand("submit", "Ask a cluster for runs, and do not wait for them")->group("Cluster");
  add_options(*command, *options);
  command->footer(R"(
Examples:
  assay submit bench.yaml                       wherever it fits first; `assay queue` shows it
  assay submit bench.yaml --dry-run             where, when, how long and for what money
  assay submit train.yaml --node gpu03 --retries 2
  assay submit check.yaml --each-node
  assay submit report.yaml --after @last        once the newest run has succeeded
  assay submit nightly.yaml --key nightly-$(date +%F)  however often it is asked for, it is done once)");
  return [&context, options] { return submit(context, *options); };
}

}  // namespace assay
