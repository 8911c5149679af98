#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <memory>

#include "access/secrets.h"
#include "base/text.h"
#include "base/units.h"
#include "commands.h"
#include "fleet/fleet.h"
#include "stop_signals.h"

namespace assay {
namespace {

struct FleetSimOptions {
  std::size_t nodes = 0;
  std::size_t gpus = 8;
  std::optional<std::size_t> metrics;
  std::string token_file;
  std::string duration;
  std::string rate = "1Hz";
  std::string recording;
  std::vector<std::string> faults;
  std::uint64_t seed = 1;
  std::string prefix = "sim";
};

Error wrong_use(std::string message, std::string hint = "") {
  return Error{.kind = ErrorKind::usage, .message = std::move(message), .hint = std::move(hint)};
}

/// The time between two readings.
Result<Nanos> parse_period(const std::string& rate) {
  auto per_second = parse_rate(rate);
  if (!per_second) return wrong_use(fmt::format("'--rate {}' {}", rate, per_second.error().message));
  const double nanoseconds = 1e9 / *per_second;
  if (!(nanoseconds >= 1 && nanoseconds < 1e15)) {
    return wrong_use(fmt::format("'--rate {}' is out of range", rate),
                     "For example: --rate 1Hz, --rate 10Hz, --rate 6/min");
  }
  return Nanos(std::llround(nanoseconds));
}

Result<std::shared_ptr<const FleetRecording>> fleet_recording(const FleetSimOptions& options) {
  auto recorded = options.recording.empty() ? built_in_recording() : load_recording(options.recording);
  if (!recorded) return std::move(recorded).error();
  return FleetRecording::make(*recorded, {.gpus = options.gpus, .metrics = options.metrics});
}

std::string milliseconds(Nanos time) { return fmt::format("{:.1f} ms", seconds_of(time) * 1000); }

std::string count(std::uint64_t number) { return format_count(static_cast<double>(number)); }

class FleetSimCommand {
 public:
  FleetSimCommand(const Context& context, const FleetSimOptions& options) : context_(context), options_(options) {}

  int run() {
    auto fleet = read_options();
    if (!fleet) return context_.fail(fleet.error());
    auto recording = fleet_recording(options_);
    if (!recording) return context_.fail(recording.error());
    const StopSignals signals;
    FleetHooks hooks{.stop_fd = signals.fd()};
    if (!context_.quiet && ::isatty(STDERR_FILENO) == 1) {
      hooks.on_second = [this](const FleetStatus& status) { show(status); };
    }
    auto summary = simulate_fleet(*fleet, *recording, hooks);
    if (shown_) print_error("\r\x1b[K");
    if (!summary) return context_.fail(summary.error());
    return answer(*summary);
  }

 private:
  Result<FleetOptions> read_options() const {
    if (context_.leader.url.empty()) {
      return wrong_use("no leader to talk to", "Name it: --leader https://HOST:PORT, or set ASSAY_LEADER.");
    }
    FleetOptions fleet{.nodes = options_.nodes, .prefix = options_.prefix, .seed = options_.seed};
    ASSAY_TRY(fleet.leader, parse_url(context_.leader.url));
    ASSAY_TRY(fleet.period, parse_period(options_.rate));
    if (!options_.duration.empty()) {
      auto duration = parse_duration(options_.duration);
      if (!duration) {
        return wrong_use(fmt::format("'--duration {}' {}", options_.duration, duration.error().message));
      }
      fleet.duration = *duration;
    }
    ASSAY_TRY(fleet.faults, parse_fleet_faults(options_.faults, options_.nodes, options_.gpus));
    ASSAY_TRY(const std::string text, read_secret_file(options_.token_file).within("reading the token"));
    ASSAY_TRY(const JoinToken token, parse_join_token(text).within(fmt::format("'{}'", options_.token_file)));
    fleet.join_secret = token.secret;
    fleet.trust.fingerprint = token.fingerprint.value_or("");
    return fleet;
  }

  void show(const FleetStatus& status) {
    const double seconds = std::max(seconds_of(status.recent_time), 1e-9);
    const auto rate = [&](std::uint64_t samples) {
      return format_count(std::round(static_cast<double>(samples) / seconds));
    };
    const std::string line =
        fmt::format(" {}  {}/{} nodes  {}/s sent  {}/s acknowledged  {} refused  p50 {}  p99 {}  behind {:.1f} s",
                    format_duration(std::chrono::floor<std::chrono::seconds>(status.elapsed)), status.connected,
                    status.nodes, rate(status.recent.sent), rate(status.recent.acknowledged),
                    count(status.total.refused), milliseconds(status.recent.latency.percentile(0.5)),
                    milliseconds(status.recent.latency.percentile(0.99)), seconds_of(status.behind));
    print_error("\r" + line + "\x1b[K");
    shown_ = true;
  }

  int answer(const FleetSummary& summary) const {
    if (!context_.json && !context_.quiet) print(text_of(summary));
    if (summary.complete()) return context_.succeed(to_json(summary));
    const Error lost{.kind = ErrorKind::lost_peer,
                     .message = fmt::format("{} of {} samples were lost, {} readings skipped", count(summary.lost()),
                                            count(summary.counts.samples), count(summary.counts.skipped_readings))};
    if (!context_.json) print_error(fmt::format("assay: {}\n", lost.message));
    const json::object error = to_json(lost);
    return context_.answer(1, to_json(summary), &error);
  }

  static std::string text_of(const FleetSummary& summary) {
    const FleetCounts& counts = summary.counts;
    const double seconds = std::max(seconds_of(summary.elapsed), 1e-9);
    std::string text = fmt::format("\n  {} nodes with {} series each, {}\n\n", count(summary.nodes),
                                   count(summary.series_per_node), format_duration(summary.elapsed));
    const auto line = [&](std::string_view title, const std::string& value) {
      text += fmt::format("  {:<11}{}\n", title, value);
    };
    line("samples", fmt::format("{} read, {} sent, {} acknowledged, {} lost; {}/s", count(counts.samples),
                                count(counts.sent), count(counts.acknowledged), count(summary.lost()),
                                format_count(std::round(static_cast<double>(counts.acknowledged) / seconds))));
    line("requests", fmt::format("{}, {} refused, {}", count(counts.requests), count(counts.refused),
                                 format_bytes(Bytes{static_cast<std::int64_t>(counts.bytes)})));
    line("latency", fmt::format("p50 {}, p90 {}, p99 {}, max {}", milliseconds(counts.latency.percentile(0.5)),
                                milliseconds(counts.latency.percentile(0.9)),
                                milliseconds(counts.latency.percentile(0.99)), milliseconds(counts.latency.largest())));
    line("simulator", fmt::format("{:.1f} % of a core", summary.cpu_seconds / seconds * 100));
    for (const auto& [kind, problem] : counts.problems) {
      line("problem", fmt::format("{} times {}, first {}", count(problem.count), kind, printable(problem.example)));
    }
    return text + "\n";
  }

  const Context& context_;
  const FleetSimOptions& options_;
  bool shown_ = false;
};

}  // namespace

Action add_fleet_sim(CLI::App& app, Context& context) {
  auto options = std::make_shared<FleetSimOptions>();
  auto* command =
      app.add_subcommand("fleet-sim", "Simulate nodes with GPUs that send telemetry to a leader")->group("Cluster");
  command->add_option("N", options->nodes, "Number of nodes")->required();
  command->add_option("--gpus", options->gpus, "GPUs of each node [8]")->check(CLI::Range(1, 1024));
  command->add_option("--token-file", options->token_file, "File with a join token for agents")
      ->type_name("FILE")
      ->required();
  command->add_option("--duration", options->duration, "How long: 10min [until stopped]")->type_name("DURATION");
  command->add_option("--rate", options->rate, "Readings: 1Hz, 10Hz, 6/min [1Hz]")->type_name("RATE");
  command->add_option("--seed", options->seed, "Gives every GPU its identity and character [1]");
  command->add_option("--fault", options->faults, "What goes wrong; may be repeated")
      ->type_name("KIND:nodeN[:gpuM][@START[-END]]")
      ->allow_extra_args(false);
  command->add_option("--metrics", options->metrics, "Series of each GPU at most [all that were recorded]")
      ->check(CLI::Range(1, 32'768));
  command->add_option("--prefix", options->prefix, "Of the nodes' names: sim001, sim002, … [sim]");
  command->add_option("--recording", options->recording, "Recording to play [one of an H200]")->type_name("FILE");
  command->footer(R"(
Faults: hot, slow, dead, leak, capped, idle, ecc, remap befall a GPU (every one of the node without ':gpuM'); node-dead,
flapping (the link goes for 30 s and comes back for 20 s), skew (the clock is 5 s ahead) befall a node. Nodes count from
1, GPUs from 0.
Exit codes: 0 everything was acknowledged, 1 samples were lost, 2 the request is wrong, 3 the leader cannot be reached
or refuses the token.
Examples:
  assay fleet-sim 100 --leader https://leader:8470 --token-file join.token --duration 10min
  assay fleet-sim 12 --gpus 4 --leader http://127.0.0.1:8470 --token-file join.token \
      --fault hot:node3:gpu0@30s --fault flapping:node5@1min-3min)");
  return [&context, options] { return FleetSimCommand(context, *options).run(); };
}

}  // namespace assay
