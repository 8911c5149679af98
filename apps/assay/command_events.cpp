#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/units.h"
#include "client/ask.h"
#include "commands.h"
#include "leader_place.h"
#include "net/url_text.h"
#include "node_show.h"
#include "report/text/style.h"

namespace assay {
namespace {

struct EventOptions {
  std::string node;
  std::string kind;
  std::string last;
  int limit = 50;
};

/// Page after page, since an answer may end before it has found as many as were asked for.
Result<EventList> get_events(Connection& client, const std::string& target, std::size_t limit) {
  EventList all;
  do {
    ASSAY_TRY(auto page, ask<EventList>(client, all.next.empty() ? target : target + "&before=" + all.next));
    const std::size_t wanted = std::min(limit - all.events.size(), page.events.size());
    all.events.insert(all.events.end(), page.events.begin(), page.events.begin() + static_cast<std::ptrdiff_t>(wanted));
    all.next = std::move(page.next);
  } while (!all.next.empty() && all.events.size() < limit);
  return all;
}

int list_events(const Context& context, const EventOptions& options) {
  std::string target = fmt::format("/api/v1/events?limit={}", options.limit);
  if (!options.node.empty()) target += "&node=" + percent_encode(options.node);
  if (!options.kind.empty()) target += "&kind=" + percent_encode(options.kind);
  if (!options.last.empty()) {
    const auto last = parse_duration(options.last);
    if (!last) {
      return context.fail({.kind = ErrorKind::usage,
                           .message = fmt::format("--last '{}' {}", options.last, last.error().message),
                           .hint = "Write 90s, 15min, 6h or 7d."});
    }
    target += "&from=" + percent_encode(iso8601(context.clock.wall() - *last));
  }
  auto client = connect_to_leader(context);
  if (!client) return context.fail(client.error());
  const auto events = get_events(**client, target, static_cast<std::size_t>(options.limit));
  if (!events) return context.fail(events.error());
  if (context.json) return context.succeed(write_api(*events));
  const std::string table = events_table(events->events, true, context.out_style());
  print(table.empty() ? "Nothing happened in that time.\n" : table);
  return 0;
}

}  // namespace

Action add_events(CLI::App& app, Context& context) {
  auto options = std::make_shared<EventOptions>();
  auto* command = app.add_subcommand("events", "What happened on the cluster, newest first")->group("Cluster");
  command->add_option("--node", options->node, "Of this node only")->type_name("NODE");
  command->add_option("--kind", options->kind, "Of this kind only: xid, ecc, throttle, inventory, …")
      ->type_name("KIND");
  command->add_option("--last", options->last, "Of this time only: 6h")->type_name("TIME");
  command->add_option("--limit", options->limit, "At most so many [50]")->check(CLI::Range(1, 10'000))->type_name("N");
  command->footer(R"(
Examples:
  assay events --node gpu03 --last 24h      faults, throttling, GPUs that came and went
  assay events --kind xid --json)");
  return [&context, options] { return list_events(context, *options); };
}

}  // namespace assay
