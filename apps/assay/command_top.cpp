#include <fmt/format.h>
#include <unistd.h>

#include <limits>
#include <memory>
#include <thread>

#include "client/ask.h"
#include "cluster_view.h"
#include "commands.h"
#include "full_screen.h"
#include "leader_place.h"
#include "net/http_client.h"
#include "net/sse.h"
#include "stop_signals.h"
#include "top_picture.h"

namespace assay {
namespace {

/// Everything that a picture shows, and nothing more: the stream of a thousand nodes is large enough.
constexpr const char* kLive =
    "/api/v1/live?metrics=gpu.util,gpu.memory_used_bytes,gpu.memory_total_bytes,gpu.temperature_c,gpu.power_w,"
    "gpu.sm_clock_mhz,host.cpu_util";
constexpr Nanos kFrame = std::chrono::milliseconds(200);
constexpr Nanos kPatience = std::chrono::seconds(10);

struct TopOptions {
  bool once = false;
  TopView view;
  std::string sort = "name";
};

Result<void> load(Connection& client, TopModel& model) {
  ASSAY_TRY(const auto nodes, all_nodes(client, true));
  model.set_nodes(nodes);
  ASSAY_TRY(const auto alerts, all_open_alerts(client));
  model.set_open_alerts(alerts);
  return {};
}

Result<void> take_event(Connection& client, TopModel& model, const ServerEvent& event) {
  ASSAY_CHECK(model.apply(event.data, event.event == "snapshot"));
  if (model.nodes_are_stale()) return load(client, model);
  return {};
}

void press(TopView& view, char key, bool& quit) {
  switch (key) {
    case 'q': quit = true; break;
    case 'g': view.gpus = !view.gpus; break;
    case 'n': view.sort = TopView::Sort::name; break;
    case 'u': view.sort = TopView::Sort::use; break;
    case 't': view.sort = TopView::Sort::temperature; break;
    case 'p': view.sort = TopView::Sort::power; break;
    case 'h':
    case '?': view.help = !view.help; break;
    case 'U': view.first = view.first > 0 ? view.first - 1 : 0; break;
    case 'D': ++view.first; break;
    default: break;
  }
}

Result<void> watch(const Context& context, const TopOptions& options, Connection& client) {
  TopModel model;
  ASSAY_CHECK(load(client, model));
  ASSAY_TRY(auto first, client.open_events(kLive));
  std::optional<EventSource> events(std::move(first));
  StopSignals stop;
  FullScreen screen;
  TopView view = options.view;
  std::string notice;
  SteadyTime heard = context.clock.now();
  for (bool quit = false; !quit && !stop.requested();) {
    const SteadyTime frame_end = context.clock.now() + kFrame;
    while (events && context.clock.now() < frame_end) {
      const auto event = events->next(frame_end - context.clock.now());
      if (event) {
        heard = context.clock.now();
        notice.clear();
        if (const auto taken = take_event(client, model, *event); !taken) notice = taken.error().text();
      } else if (event.error().kind != ErrorKind::timeout) {
        events.reset();
      }
    }
    if (!events || context.clock.now() - heard > kPatience) {
      notice = "The leader is away; trying again …";
      std::this_thread::sleep_for(kFrame);
      if (auto again = client.open_events(kLive)) events.emplace(std::move(*again));
      heard = context.clock.now();
    }
    for (char key = screen.key(); key != 0; key = screen.key()) press(view, key, quit);
    screen.show(draw_top(model, view, context.out_style(), FullScreen::rows(), notice));
  }
  return {};
}

int run_top(const Context& context, TopOptions& options) {
  static const std::map<std::string, TopView::Sort> kSorts = {{"name", TopView::Sort::name},
                                                              {"use", TopView::Sort::use},
                                                              {"temperature", TopView::Sort::temperature},
                                                              {"power", TopView::Sort::power}};
  options.view.sort = kSorts.at(options.sort);
  auto client = connect_to_leader(context);
  if (!client) return context.fail(client.error());
  if (context.json) {
    const auto nodes = all_nodes(**client, true);
    return nodes ? context.succeed(write_api(*nodes)) : context.fail(nodes.error());
  }
  const auto terminal = context.environment.find("TERM");
  const bool can_draw =
      ::isatty(STDOUT_FILENO) != 0 && terminal != context.environment.end() && terminal->second != "dumb";
  if (options.once || !can_draw) {
    TopModel model;
    auto loaded = load(**client, model);
    auto events = loaded ? (*client)->open_events(kLive) : Result<EventSource>(loaded.error());
    if (!events) return context.fail(events.error());
    const auto event = events->next(kPatience);
    if (!event) return context.fail(event.error());
    if (const auto taken = model.apply(event->data, true); !taken) return context.fail(taken.error());
    print(draw_top(model, options.view, context.out_style(), std::numeric_limits<int>::max(), ""));
    return 0;
  }
  const auto watched = watch(context, options, **client);
  return watched ? 0 : context.fail(watched.error());
}

}  // namespace

Action add_top(CLI::App& app, Context& context) {
  auto options = std::make_shared<TopOptions>();
  auto* command = app.add_subcommand("top", "Watch the whole cluster live")->group("Cluster");
  command->add_flag("-g,--gpus", options->view.gpus, "A line for each GPU");
  command->add_option("--sort", options->sort, "name, use, temperature or power")
      ->check(CLI::IsMember({"name", "use", "temperature", "power"}))
      ->type_name("BY");
  command->add_flag("--once", options->once, "Print one picture and end");
  command->footer(fmt::format("\nKeys:\n{}", kTopKeys));
  return [&context, options] { return run_top(context, *options); };
}

}  // namespace assay
