#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>

#include "base/text.h"
#include "base/units.h"
#include "cluster_view.h"
#include "commands.h"
#include "leader_place.h"
#include "net/url.h"
#include "report/text/table.h"

namespace assay {
namespace {

struct AlertOptions {
  bool all = false;
  bool brief = false;
  std::string severity;
  std::string node;
  std::string id;
  std::string note;
  std::string rule;
  std::string about;
  bool everything = false;
  std::string length;
  std::string reason;
};

/// What is shown of an alert, whichever way.
struct AlertView {
  std::string id, severity, node, rule, what, remedy, note, taken_by;
  WallTime since;
  std::optional<WallTime> resolved;
  bool silenced = false;

  static AlertView from(const json::value& value) {
    JsonFields fields(value, "alert");
    AlertView view{.id = printable(fields.text("id")),
                   .severity = fields.text("severity"),
                   .node = printable(fields.text("node")),
                   .rule = fields.text("rule"),
                   .what = printable(fields.text("what")),
                   .remedy = printable(fields.text_or("remedy", "")),
                   .note = printable(fields.text_or("note", "")),
                   .taken_by = printable(fields.text_or("acknowledged_by", "")),
                   .since = WallTime(Nanos(fields.integer_or("since_ns", 0)))};
    view.silenced = fields.boolean_or("silenced", false);
    if (fields.text("state") != "open") view.resolved = WallTime(Nanos(fields.integer_or("resolved_at_ns", 0)));
    return view;
  }

  Colour colour() const { return resolved ? Colour::dim : colour_of_severity(severity); }
  std::string times(WallTime now) const {
    const std::string length = format_duration(resolved.value_or(now) - since);
    return fmt::format("since {}{}{}", local_time(since), resolved ? ", resolved after " : ", for ", length);
  }
};

void print_alert(const AlertView& alert, const TerminalStyle& style, WallTime now) {
  std::string marks;
  if (!alert.taken_by.empty()) marks += "  taken by " + alert.taken_by;
  if (alert.silenced) marks += "  silenced";
  print(fmt::format("{} {}  {}  {}{}\n", style.paint(alert.colour(), fmt::format("{:<8}", alert.severity)),
                    style.paint(Colour::bold, alert.node), alert.rule, style.paint(Colour::dim, alert.times(now)),
                    style.paint(Colour::cyan, marks)));
  print(fmt::format("  {}\n", alert.what));
  if (!alert.remedy.empty() && !alert.resolved) print(fmt::format("  {}\n", alert.remedy));
  if (!alert.note.empty()) print(fmt::format("  {}: \"{}\"\n", alert.taken_by, alert.note));
  print(fmt::format("  {}\n", style.paint(Colour::dim, alert.id)));
}

std::string brief_table(const std::vector<AlertView>& alerts, const TerminalStyle& style) {
  Table table(
      {{"Alert"}, {"Severity"}, {"Node"}, {"Rule", Align::left, false, 1}, {"Since"}, {"What", Align::left, true}});
  for (const auto& alert : alerts) {
    table.add({alert.id, Cell(alert.resolved ? "resolved" : alert.severity, alert.colour()),
               Cell(alert.node, Colour::bold), alert.rule, local_time(alert.since), alert.what});
  }
  return table.render(style, 0);
}

/// "3 critical, 1 warning; 2 taken, 1 silenced".
std::string summary_of(const std::vector<AlertView>& alerts) {
  std::map<int, std::pair<std::string, int>> open;
  int taken = 0;
  int silenced = 0;
  for (const auto& alert : alerts) {
    if (alert.resolved) continue;
    auto& [severity, count] = open[rank_of_severity(alert.severity)];
    severity = alert.severity;
    ++count;
    taken += alert.taken_by.empty() ? 0 : 1;
    silenced += alert.silenced ? 1 : 0;
  }
  std::string text;
  for (const auto& [rank, entry] : open) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", entry.second, entry.first);
  }
  if (taken > 0) text += fmt::format("; {} taken", taken);
  if (silenced > 0) text += fmt::format("{} {} silenced", taken > 0 ? "," : ";", silenced);
  return text;
}

int list_alerts(const Context& context, Connection& client, const AlertOptions& options) {
  if (!options.node.empty()) {
    // Nothing is wrong with a node that does not exist, which is no good answer to a typing mistake.
    if (const auto node = client.get("/api/v1/nodes/" + percent_encode(options.node)); !node)
      return context.fail(node.error());
  }
  const auto value =
      client.get(fmt::format("/api/v1/alerts?all={}&node={}", options.all, percent_encode(options.node)));
  if (!value) return context.fail(value.error());
  json::array wanted;
  JsonFields fields(*value, "alerts");
  for (const auto& entry : fields.array_or_empty("alerts")) {
    JsonFields alert(entry, "alert");
    if (!options.severity.empty() && alert.text_or("severity", "") != options.severity) continue;
    if (!options.rule.empty() && alert.text_or("rule", "") != options.rule) continue;
    wanted.push_back(entry);
  }
  if (context.json) return context.succeed({{"alerts", std::move(wanted)}});
  std::vector<AlertView> alerts;
  alerts.reserve(wanted.size());
  for (const auto& alert : wanted) alerts.push_back(AlertView::from(alert));
  const TerminalStyle style = context.out_style();
  if (alerts.empty()) print("Nothing needs attention.\n");
  if (options.brief && !alerts.empty()) print(brief_table(alerts, style));
  if (!options.brief) {
    for (const auto& alert : alerts) print_alert(alert, style, context.clock.wall());
  }
  if (const std::string summary = summary_of(alerts); !summary.empty()) print(style.paint(Colour::dim, summary + "\n"));
  const auto printed = print_problems(context, client);
  return printed ? 0 : context.fail(printed.error());
}

int acknowledge_alert(const Context& context, Connection& client, const AlertOptions& options) {
  json::object body;
  // Taking it without a word keeps what was said before.
  if (!options.note.empty()) body["note"] = options.note;
  const auto value =
      client.send_json("POST", fmt::format("/api/v1/alerts/{}/acknowledge", percent_encode(options.id)), body);
  if (!value) return context.fail(value.error());
  if (context.json) return context.succeed(value->as_object());
  const auto alert = AlertView::from(*value);
  print(fmt::format("{} has it: {}\n", alert.taken_by, alert.what));
  return 0;
}

int add_silence(const Context& context, Connection& client, const AlertOptions& options) {
  const auto value = client.send_json("POST", "/api/v1/silences",
                                      {{"rule", options.rule},
                                       {"node", options.node},
                                       {"about", options.about},
                                       {"everything", options.everything},
                                       {"for", options.length},
                                       {"reason", options.reason}});
  if (!value) return context.fail(value.error());
  if (context.json) return context.succeed(value->as_object());
  JsonFields fields(*value, "silence");
  const auto until = parse_iso8601(fields.text("until"));
  const auto part = [](std::string_view label, const std::string& text) {
    return text.empty() ? std::string() : fmt::format(" {} {}", label, text);
  };
  print(fmt::format("Silent until {}:{}{}{}{}. `assay alerts unsilence {}` ends it.\n",
                    until ? local_time(*until) : "-", options.everything ? " every alert" : "",
                    part("rule", options.rule), part("node", options.node), part("about", options.about),
                    fields.text("id")));
  return 0;
}

int list_silences(const Context& context, Connection& client) {
  const auto value = client.get("/api/v1/silences");
  if (!value) return context.fail(value.error());
  if (context.json) return context.succeed(value->as_object());
  Table table({{"Silence"}, {"Rule"}, {"Node"}, {"About"}, {"Until"}, {"By"}, {"Reason", Align::left, true}});
  JsonFields fields(*value, "silences");
  for (const auto& entry : fields.array_or_empty("silences")) {
    JsonFields silence(entry, "silence");
    const auto text = [&](const char* name) {
      const std::string given = silence.text_or(name, "");
      return printable(given.empty() ? "any" : given);
    };
    const auto until = parse_iso8601(silence.text("until"));
    table.add({silence.text("id"), text("rule"), text("node"), text("about"), until ? local_time(*until) : "-",
               text("by"), printable(silence.text_or("reason", ""))});
  }
  print(table.empty() ? "Nothing is silenced.\n" : table.render(context.out_style(), 0));
  return 0;
}

}  // namespace

Action add_alerts(CLI::App& app, Context& context) {
  auto options = std::make_shared<AlertOptions>();
  auto* command = app.add_subcommand("alerts", "What needs attention on the cluster")->group("Cluster");
  command->require_subcommand(0, 1);
  command->add_flag("-a,--all", options->all, "Resolved ones, too");
  command->add_flag("--brief", options->brief, "A line for each");
  command->add_option("--node", options->node, "Of this node only")->type_name("NODE");
  command->add_option("--severity", options->severity, "Only critical, warning or info")
      ->check(CLI::IsMember({"critical", "warning", "info"}))
      ->type_name("SEVERITY");
  command->add_option("--rule", options->rule, "Of this rule only: overheating, …")->type_name("RULE");
  auto* acknowledge = command->add_subcommand("ack", "Say that you take care of it");
  acknowledge->add_option("ALERT", options->id, "Its id, or the beginning of it")->required();
  acknowledge->add_option("--note", options->note, "For the others")->type_name("TEXT");
  auto* silence = command->add_subcommand("silence", "Tell nobody about some alerts for a while");
  silence->add_option("--for", options->length, "How long: 2h")->required()->type_name("TIME");
  silence->add_option("--rule", options->rule, "Of this rule only")->type_name("RULE");
  silence->add_option("--on", options->node, "Of this node only")->type_name("NODE");
  silence->add_option("--about", options->about, "About this GPU or file system only")->type_name("THING");
  silence->add_flag("--everything", options->everything, "Every alert of the cluster");
  silence->add_option("--reason", options->reason, "For the others")->type_name("TEXT");
  auto* silences = command->add_subcommand("silences", "What is silenced");
  auto* unsilence = command->add_subcommand("unsilence", "End a silence");
  unsilence->add_option("SILENCE", options->id, "Its id")->required();
  command->footer(R"(
Examples:
  assay alerts --node gpu03                                       what is wrong with it
  assay alerts ack 7k2m --note 'on my way'
  assay alerts silence --on gpu03 --for 2h --reason 'new fans')");
  return [=, &context]() -> int {
    auto client = connect_to_leader(context);
    if (!client) return context.fail(client.error());
    if (acknowledge->parsed()) return acknowledge_alert(context, **client, *options);
    if (silence->parsed()) return add_silence(context, **client, *options);
    if (silences->parsed()) return list_silences(context, **client);
    if (unsilence->parsed()) {
      return change_at_leader(context, **client, "DELETE", "/api/v1/silences/" + percent_encode(options->id), {},
                              "The silence is over.");
    }
    return list_alerts(context, **client, *options);
  };
}

}  // namespace assay
