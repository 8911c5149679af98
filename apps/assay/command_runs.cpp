#include <fmt/format.h>

#include <memory>
#include <set>

#include "base/text.h"
#include "base/units.h"
#include "commands.h"
#include "model/metric.h"
#include "model/run.h"
#include "model/run_label.h"
#include "report/text/table.h"
#include "run_view.h"
#include "store/resolve.h"
#include "store/run_query.h"
#include "store/run_store.h"

namespace assay {
namespace {

struct ListOptions {
  std::vector<std::string> filter;
  std::string sort = "-created";
  std::int64_t limit = 50;
  bool all = false;
  bool ids = false;
  std::string metrics;
};

json::object to_json(const RunRow& row) {
  json::object object{{"id", row.id},
                      {"name", row.name},
                      {"kind", row.kind},
                      {"state", name_of(row.state)},
                      {"verdict", name_of(row.verdict)},
                      {"tags", json::value_from(row.tags)},
                      {"study", row.study},
                      {"variant", row.variant},
                      {"repeat", row.repeat},
                      {"ranks", row.ranks},
                      {"nodes", row.nodes},
                      {"host", row.host},
                      {"created", iso8601(row.created)},
                      {"duration_seconds", seconds_of(row.duration)}};
  auto& metrics = object["metrics"].emplace_object();
  for (const auto& [name, value] : row.metrics) metrics[name] = finite(value);
  return object;
}

/// The runs of the page that go on at their place while nobody records them.
std::set<std::string> without_owner(RunStore& store, const RunPage& page) {
  std::set<std::string> found;
  for (const auto& row : page.rows) {
    if (row.state != RunState::running) continue;
    const auto run = store.find_run(row.id);
    if (run && is_without_owner(store, *run).value_or(false)) found.insert(row.id);
  }
  return found;
}

Table make_table(const RunPage& page, const std::set<std::string>& without_owner,
                 const std::vector<std::string>& metrics, const TerminalStyle& style) {
  std::vector<Column> columns = {{"Run"},
                                 {"Name", Align::left, true, 0, 12},
                                 {"Variant", Align::left, true, 0, 20},
                                 {"Verdict"},
                                 {"Created", Align::left, false, 1},
                                 {"Time", Align::right},
                                 {"Host", Align::left, false, 2},
                                 {"Tags", Align::left, true, 3}};
  const auto& rows = page.rows;
  const auto none = [&](auto member) {
    return std::all_of(rows.begin(), rows.end(), [&](const RunRow& row) { return (row.*member).empty(); });
  };
  const bool variants = !none(&RunRow::variant);
  const bool tags = !none(&RunRow::tags);
  if (!tags) columns.pop_back();
  if (!variants) columns.erase(columns.begin() + 2);
  for (const auto& metric : metrics) columns.push_back({metric, Align::right});
  Table table(std::move(columns));
  for (const auto& row : rows) {
    std::vector<Cell> cells = {row.id, Cell(row.name, Colour::bold)};
    if (variants) cells.emplace_back(run_label(row.variant, row.repeat));
    auto verdict = verdict_text(row.verdict, row.state, style);
    if (without_owner.contains(row.id)) verdict += ", without an owner";
    cells.emplace_back(std::move(verdict), verdict_colour(row.verdict, row.state));
    cells.emplace_back(local_time(row.created));
    // Files that were imported do not all say how long it took.
    const bool timed = row.state == RunState::ended && row.duration > Nanos(0);
    cells.emplace_back(timed ? format_duration(row.duration) : std::string("-"));
    cells.emplace_back(row.host, Colour::dim);
    if (tags) cells.emplace_back(join(row.tags, ", "));
    for (const auto& metric : metrics) {
      const auto found = row.metrics.find(metric);
      const MetricInfo* info = find_metric(metric);
      cells.emplace_back(found == row.metrics.end() ? std::string("-")
                                                    : format_value(found->second, info ? info->unit : ""));
    }
    table.add(std::move(cells));
  }
  return table;
}

Result<RunQuery> make_query(const Context& context, RunStore& store, const ListOptions& options) {
  RunQuery query;
  ASSAY_TRY(query.conditions, parse_conditions(join(options.filter, " "), context.clock.wall()));
  ASSAY_CHECK(resolve_studies(store, query.conditions));
  ASSAY_CHECK(set_sort(query, options.sort));
  query.limit = options.all ? -1 : options.limit;
  return query;
}

/// Metrics that the user asked for and no run has: a spelling mistake, mostly.
void tell_unknown_metrics(RunStore& store, const RunQuery& query, std::vector<std::string> asked) {
  for (const auto& condition : query.conditions) {
    if (run_field_kind(condition.field) == RunFieldKind::metric) asked.push_back(metric_of(condition.field));
  }
  if (run_field_kind(query.sort) == RunFieldKind::metric) asked.push_back(metric_of(query.sort));
  if (asked.empty()) return;
  const auto recent = list_whole(store, {.limit = 1000});
  if (!recent || recent->rows.empty()) return;
  std::set<std::string> known;
  for (const auto& row : recent->rows) {
    for (const auto& [name, value] : row.metrics) known.insert(name);
  }
  const std::vector<std::string> names(known.begin(), known.end());
  for (const auto& metric : asked) {
    if (known.contains(metric)) continue;
    const auto meant = nearest(metric, names);
    print_error(fmt::format("assay: no run has a metric '{}'{}\n", metric,
                            meant ? fmt::format(". Did you mean '{}'?", *meant) : std::string()));
  }
}

int list_runs(const Context& context, const ListOptions& options) {
  auto store = context.open_store();
  if (!store) return context.fail(store.error());
  auto query = make_query(context, **store, options);
  if (!query) return context.fail(query.error());
  auto page = list_whole(**store, *query);
  if (!page) return context.fail(page.error());

  std::vector<std::string> metrics;
  for (const auto name : split(options.metrics, ',')) {
    if (!trim(name).empty()) metrics.emplace_back(trim(name));
  }
  tell_unknown_metrics(**store, *query, metrics);
  if (context.json) {
    json::array rows;
    for (const auto& row : page->rows) rows.push_back(to_json(row));
    return context.succeed(
        {{"total", page->total ? json::value(*page->total) : json::value(nullptr)}, {"runs", std::move(rows)}});
  }
  if (options.ids) {
    std::string ids;
    for (const auto& row : page->rows) ids += row.id + "\n";
    print(ids);
    return 0;
  }
  const TerminalStyle style = context.out_style();
  if (page->rows.empty()) {
    print(options.filter.empty() ? "No runs yet. Record one with: assay exec COMMAND\n" : "No run matches.\n");
    return 0;
  }
  const auto ownerless = without_owner(**store, *page);
  print(make_table(*page, ownerless, metrics, style).render(style, 0));
  for (const auto& id : ownerless) {
    print(style.paint(Colour::dim, fmt::format("Go on with {0}: assay run --resume {0}\n", id)));
  }
  const auto shown = std::ssize(page->rows);
  if (page->total ? shown < *page->total : !page->next.empty()) {
    const auto of = page->total ? fmt::format("{} of {} runs", shown, *page->total)
                                : fmt::format("{} runs, not all that fit", shown);
    print(style.paint(Colour::dim, of + "; --all shows the rest\n"));
  }
  return 0;
}

}  // namespace

Action add_runs(CLI::App& app, Context& context) {
  auto options = std::make_shared<ListOptions>();
  auto* command = app.add_subcommand("runs", "List recorded runs")->group("Look");
  command->add_option("FILTER", options->filter,
                      "Conditions that must all hold: verdict=valid tag=4gpu metrics.loss<0.5");
  command
      ->add_option("--sort", options->sort,
                   "Field to sort by, - in front for descending: -created, duration, metrics.loss")
      ->type_name("FIELD");
  command->add_option("-n,--limit", options->limit, "How many to show")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command->add_flag("-a,--all", options->all, "Show all");
  command->add_flag("--ids", options->ids, "Print nothing but the ids");
  command->add_option("-m,--metrics", options->metrics, "Metrics to show as columns: loss,val_accuracy")
      ->type_name("NAMES");
  command->footer(R"(
Fields: id name kind state verdict study variant host node tag created duration ranks nodes metrics.NAME
Operators: = != < <= > >= ~ (contains). `study` takes a name or an id; last=5m is created>5m.
Examples:
  assay runs 'verdict=valid' 'created>2d'
  assay runs 'name=my first run' last=2h
  assay runs study=lr-sweep --sort metrics.val_loss -m val_loss,samples_per_second
  assay runs 'name~mnist' 'duration>10min' --ids)");
  return [&context, options] { return list_runs(context, *options); };
}

}  // namespace assay
