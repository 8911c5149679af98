#include <fmt/format.h>

#include <memory>

#include "base/text.h"
#include "base/units.h"
#include "commands.h"
#include "leader_place.h"
#include "net/url.h"
#include "report/table.h"

namespace assay {
namespace {

struct AlertOptions {
  bool all = false;
  std::string node;
  std::string id;
  std::string note;
  std::string rule;
  std::string about;
  std::string length;
  std::string reason;
  LeaderClient::Options leader;
};

Colour colour_of_severity(std::string_view severity) {
  return severity == "critical" ? Colour::red : severity == "warning" ? Colour::yellow : Colour::dim;
}

void print_alert(const json::value& value, const TerminalStyle& style, WallTime now) {
  JsonFields fields(value, "alert");
  const std::string severity = fields.text("severity");
  const bool open = fields.text("state") == "open";
  const WallTime since{Nanos(fields.integer_or("since_ns", 0))};
  const std::string by = fields.text_or("acknowledged_by", "");
  std::string marks;
  if (!open) marks += "  resolved";
  if (!by.empty()) marks += "  taken by " + by;
  if (fields.boolean_or("silenced", false)) marks += "  silenced";
  const std::string what = printable(fields.text("what"));
  print(fmt::format("{} {}  {}  {}{}\n",
                    style.paint(open ? colour_of_severity(severity) : Colour::dim, style.pick("●", "*")),
                    style.paint(Colour::bold, printable(fields.text("node"))), fields.text("rule"),
                    style.paint(Colour::dim, fmt::format("for {}", format_duration(now - since))),
                    style.paint(Colour::cyan, printable(marks))));
  print(fmt::format("  {}\n  {}\n  {}\n", what, printable(fields.text_or("remedy", "")),
                    style.paint(Colour::dim, fields.text("id"))));
  if (const std::string note = fields.text_or("note", ""); !note.empty())
    print(fmt::format("  \"{}\"\n", printable(note)));
}

int list_alerts(const Context& context, LeaderClient& client, const AlertOptions& options) {
  const auto value =
      client.get(fmt::format("/api/v1/alerts?all={}&node={}", options.all, percent_encode(options.node)));
  if (!value) return context.fail(value.error());
  if (context.json) return context.succeed(value->as_object());
  JsonFields fields(*value, "alerts");
  const auto& alerts = fields.array_or_empty("alerts");
  if (alerts.empty()) print("Nothing needs attention.\n");
  for (const auto& alert : alerts) print_alert(alert, context.out_style(), context.clock.wall());
  return 0;
}

int list_silences(const Context& context, LeaderClient& client) {
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
    table.add({silence.text("id"), text("rule"), text("node"), text("about"), silence.text("until"), text("by"),
               printable(silence.text_or("reason", ""))});
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
  command->add_option("--node", options->node, "Of this node only")->type_name("NODE");
  add_leader_options(*command, options->leader);
  auto* acknowledge = command->add_subcommand("ack", "Say that you take care of it");
  acknowledge->add_option("ALERT", options->id, "Its id, or the beginning of it")->required();
  acknowledge->add_option("--note", options->note, "For the others")->type_name("TEXT");
  auto* silence = command->add_subcommand("silence", "Tell nobody about some alerts for a while");
  silence->add_option("--for", options->length, "How long: 2h")->required()->type_name("TIME");
  silence->add_option("--rule", options->rule, "Of this rule only")->type_name("RULE");
  silence->add_option("--on", options->node, "Of this node only")->type_name("NODE");
  silence->add_option("--about", options->about, "About this GPU or file system only")->type_name("THING");
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
    auto client = LeaderClient::connect(context, options->leader);
    if (!client) return context.fail(client.error());
    if (acknowledge->parsed()) {
      return change_at_leader(context, *client, "POST",
                              fmt::format("/api/v1/alerts/{}/acknowledge", percent_encode(options->id)),
                              {{"note", options->note}}, "It is yours.");
    }
    if (silence->parsed()) {
      return change_at_leader(context, *client, "POST", "/api/v1/silences",
                              {{"rule", options->rule},
                               {"node", options->node},
                               {"about", options->about},
                               {"for", options->length},
                               {"reason", options->reason}},
                              fmt::format("Silent for {}.", options->length));
    }
    if (silences->parsed()) return list_silences(context, *client);
    if (unsilence->parsed()) {
      return change_at_leader(context, *client, "DELETE", "/api/v1/silences/" + percent_encode(options->id), {},
                              "The silence is over.");
    }
    return list_alerts(context, *client, *options);
  };
}

}  // namespace assay
