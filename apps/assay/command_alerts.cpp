#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>

#include "base/text.h"
#include "base/units.h"
#include "client/ask.h"
#include "cluster_view.h"
#include "commands.h"
#include "leader_place.h"
#include "net/url_text.h"
#include "report/text/table.h"

namespace assay {
namespace {

constexpr std::size_t kMostShown = 1000;

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

Colour colour_of_alert(const Alert& alert) {
  return alert.state == AlertState::resolved ? Colour::dim : colour_of(alert.severity);
}

/// What is of no node is the leader's own.
std::string place_of(const Alert& alert) { return alert.node.empty() ? "(leader)" : printable(alert.node); }

std::string times_of(const Alert& alert, WallTime now) {
  const std::string length = format_duration(alert.resolved_at.value_or(now) - alert.since);
  return fmt::format("since {}{}{}", local_time(alert.since), alert.resolved_at ? ", resolved after " : ", for ",
                     length);
}

void print_alert(const AlertRecord& record, const TerminalStyle& style, WallTime now) {
  const Alert& alert = record.alert;
  std::string marks;
  if (!record.acknowledged_by.empty()) marks += "  taken by " + printable(record.acknowledged_by);
  if (record.silenced) marks += "  silenced";
  print(fmt::format("{} {}  {}  {}{}\n",
                    style.paint(colour_of_alert(alert), fmt::format("{:<8}", name_of(alert.severity))),
                    style.paint(Colour::bold, place_of(alert)), printable(alert.rule),
                    style.paint(Colour::dim, times_of(alert, now)), style.paint(Colour::cyan, marks)));
  print(fmt::format("  {}\n", printable(alert.what)));
  if (!alert.remedy.empty() && !alert.resolved_at) print(fmt::format("  {}\n", printable(alert.remedy)));
  if (!record.note.empty()) {
    print(fmt::format("  {}: \"{}\"\n", printable(record.acknowledged_by), printable(record.note)));
  }
  print(fmt::format("  {}\n", style.paint(Colour::dim, printable(alert.id))));
}

std::string brief_table(const std::vector<AlertRecord>& alerts, const TerminalStyle& style) {
  Table table(
      {{"Alert"}, {"Severity"}, {"Node"}, {"Rule", Align::left, false, 1}, {"Since"}, {"What", Align::left, true}});
  for (const auto& record : alerts) {
    const Alert& alert = record.alert;
    const std::string_view state = alert.resolved_at ? "resolved" : name_of(alert.severity);
    table.add({printable(alert.id), Cell(std::string(state), colour_of_alert(alert)),
               Cell(place_of(alert), Colour::bold), printable(alert.rule), local_time(alert.since),
               printable(alert.what)});
  }
  return table.render(style, 0);
}

/// "3 critical, 1 warning; 2 taken, 1 silenced".
std::string summary_of(const std::vector<AlertRecord>& alerts) {
  std::map<AlertSeverity, int, std::greater<>> open;
  int taken = 0;
  int silenced = 0;
  for (const auto& record : alerts) {
    if (record.alert.resolved_at) continue;
    ++open[record.alert.severity];
    taken += record.acknowledged_by.empty() ? 0 : 1;
    silenced += record.silenced ? 1 : 0;
  }
  std::string text;
  for (const auto& [severity, count] : open) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, name_of(severity));
  }
  if (taken > 0) text += fmt::format("; {} taken", taken);
  if (silenced > 0) text += fmt::format("{} {} silenced", taken > 0 ? "," : ";", silenced);
  return text;
}

/// What fits, page after page: all that is open, and of what is resolved no more than somebody reads.
Result<AlertList> find_alerts(Connection& client, const AlertOptions& options) {
  const auto fits = [&](const Alert& alert) {
    return (options.severity.empty() || name_of(alert.severity) == options.severity) &&
           (options.rule.empty() || alert.rule == options.rule);
  };
  AlertList found;
  bool all_open_ones = false;
  do {
    ASSAY_TRY(auto page, ask<AlertList>(client, fmt::format("/api/v1/alerts?all={}&node={}&before={}", options.all,
                                                            percent_encode(options.node), percent_encode(found.next))));
    for (auto& record : page.alerts) {
      all_open_ones = all_open_ones || record.alert.state == AlertState::resolved;
      if (fits(record.alert)) found.alerts.push_back(std::move(record));
    }
    found.next = std::move(page.next);
  } while (!found.next.empty() && (!all_open_ones || found.alerts.size() < kMostShown));
  return found;
}

int list_alerts(const Context& context, Connection& client, const AlertOptions& options) {
  if (!options.node.empty()) {
    // Nothing is wrong with a node that does not exist, which is no good answer to a typing mistake.
    if (const auto node = client.get("/api/v1/nodes/" + percent_encode(options.node)); !node)
      return context.fail(node.error());
  }
  const auto list = find_alerts(client, options);
  if (!list) return context.fail(list.error());
  const auto& alerts = list->alerts;
  if (context.json) return context.succeed(write_api(*list));
  const TerminalStyle style = context.out_style();
  if (alerts.empty()) print("Nothing needs attention.\n");
  if (options.brief && !alerts.empty()) print(brief_table(alerts, style));
  if (!options.brief) {
    for (const auto& alert : alerts) print_alert(alert, style, context.clock.wall());
  }
  if (const std::string summary = summary_of(alerts); !summary.empty()) print(style.paint(Colour::dim, summary + "\n"));
  if (!list->next.empty())
    print(style.paint(Colour::dim, "There are more, older ones: --node and --rule find them.\n"));
  const auto printed = print_problems(context, client);
  return printed ? 0 : context.fail(printed.error());
}

int acknowledge_alert(const Context& context, Connection& client, const AlertOptions& options) {
  // Taking it without a word keeps what was said before.
  const auto taken =
      tell<AlertRecord>(client, "POST", fmt::format("/api/v1/alerts/{}/acknowledge", percent_encode(options.id)),
                        AlertNote{.note = options.note});
  if (!taken) return context.fail(taken.error());
  if (context.json) return context.succeed(write_api(*taken));
  print(fmt::format("{} has it: {}\n", printable(taken->acknowledged_by), printable(taken->alert.what)));
  return 0;
}

int add_silence(const Context& context, Connection& client, const AlertOptions& options) {
  if (!options.everything && options.rule.empty() && options.node.empty() && options.about.empty()) {
    return context.fail({.kind = ErrorKind::usage,
                         .message = "this would silence every alert of the cluster",
                         .hint = "Say which with --rule, --on or --about; or --everything, if you mean it."});
  }
  const auto made = tell<Silence>(client, "POST", "/api/v1/silences",
                                  SilenceRequest{.rule = options.rule,
                                                 .node = options.node,
                                                 .about = options.about,
                                                 .everything = options.everything,
                                                 .length = options.length,
                                                 .reason = options.reason});
  if (!made) return context.fail(made.error());
  if (context.json) return context.succeed(write_api(*made));
  const auto part = [](std::string_view label, const std::string& text) {
    return text.empty() ? std::string() : fmt::format(" {} {}", label, text);
  };
  print(fmt::format("Silent until {}:{}{}{}{}. `assay alerts unsilence {}` ends it.\n", local_time(made->until),
                    options.everything ? " every alert" : "", part("rule", options.rule), part("node", options.node),
                    part("about", options.about), made->id));
  return 0;
}

int list_silences(const Context& context, Connection& client) {
  const auto list = ask<SilenceList>(client, "/api/v1/silences");
  if (!list) return context.fail(list.error());
  if (context.json) return context.succeed(write_api(*list));
  Table table({{"Silence"}, {"Rule"}, {"Node"}, {"About"}, {"Until"}, {"By"}, {"Reason", Align::left, true}});
  const auto or_any = [](const std::string& text) { return printable(text.empty() ? "any" : text); };
  for (const auto& silence : list->silences) {
    table.add({silence.id, or_any(silence.rule), or_any(silence.node), or_any(silence.about), local_time(silence.until),
               or_any(silence.by), printable(silence.reason)});
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
