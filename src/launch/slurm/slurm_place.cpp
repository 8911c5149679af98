#include "launch/slurm/slurm_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/units.h"
#include "launch/job.h"

namespace assay {
namespace {

/// Behind the job's own limit: its owner and then its host end it first, and the last words travel.
constexpr Nanos kTimeMargin = std::chrono::minutes(5);
/// Slurm keeps longer names, but nobody reads them.
constexpr std::size_t kNameLimit = 64;

struct TextOption {
  std::string_view name;
  std::string SlurmPlace::* value;
};
constexpr std::array kTextOptions = {
    TextOption{"partition", &SlurmPlace::partition},
    TextOption{"account", &SlurmPlace::account},
    TextOption{"qos", &SlurmPlace::qos},
    TextOption{"constraint", &SlurmPlace::constraint},
    TextOption{"reservation", &SlurmPlace::reservation},
    TextOption{"gres", &SlurmPlace::gres},
    TextOption{"nodelist", &SlurmPlace::nodelist},
    TextOption{"exclude", &SlurmPlace::exclude},
    TextOption{"cpus", &SlurmPlace::cpus},
    TextOption{"memory", &SlurmPlace::memory},
    TextOption{"assay", &SlurmPlace::assay},
    TextOption{"rest", &SlurmPlace::rest},
};

Error place_error(std::string_view what, std::string_view rule, std::string hint = {}) {
  return {.kind = ErrorKind::usage,
          .message = fmt::format("'--on slurm:{}' {}", printable(what), rule),
          .hint = std::move(hint)};
}

Result<void> check_names(const PlaceText& text) {
  std::vector<std::string_view> names = {"folder", "time"};
  for (const auto& option : kTextOptions) names.push_back(option.name);
  std::sort(names.begin(), names.end());
  ASSAY_CHECK(check_options(text, names));
  for (const auto& word : text.words) {
    if (word == "exclusive") continue;
    return place_error(word, contains(names, word) ? "has no value" : "is not an option of it",
                       fmt::format("It has exclusive, {}, each as NAME=VALUE but the first. Several nodes are written "
                                   "'nodelist=node[1,3]'.",
                                   join(names, ", ")));
  }
  for (const auto& [name, value] : text.options) {
    const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    if (value.empty()) return place_error(name, "has no value");
    if (std::any_of(value.begin(), value.end(), is_control)) return place_error(name, "holds a control character");
  }
  return {};
}

/// Whole minutes, as sbatch counts.
std::int64_t minutes_of(Nanos time) { return std::chrono::ceil<std::chrono::minutes>(time).count(); }

std::optional<std::int64_t> time_limit_minutes(const SlurmPlace& place, const Job& job) {
  if (place.time) return minutes_of(*place.time);
  if (job.time_limit.count() > 0) return minutes_of(job.time_limit + job.grace + kTimeMargin);
  return std::nullopt;
}

std::string job_name(const Job& job) {
  std::string name = printable(job.name);
  std::replace_if(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  if (name.size() > kNameLimit) name = printable(name.substr(0, kNameLimit));
  return name.empty() ? "assay" : name;
}

}  // namespace

Result<SlurmPlace> slurm_place_from(const PlaceText& text) {
  ASSAY_CHECK(check_names(text));
  SlurmPlace place;
  place.exclusive = !text.words.empty();
  for (const auto& option : kTextOptions) place.*option.value = option_or(text, std::string(option.name), "");
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (!std::all_of(place.cpus.begin(), place.cpus.end(), is_digit)) {
    return place_error("cpus=" + place.cpus, "is not a whole number");
  }
  place.folder = option_or(text, "folder", "");
  if (!place.folder.empty() && !place.folder.is_absolute()) {
    return place_error("folder=" + place.folder.string(), "is not an absolute path",
                       "Name a folder of the file system that the nodes share, from '/' on.");
  }
  if (!place.rest.empty() && (!place.rest.starts_with("unix:/") || place.rest.size() <= 6)) {
    return place_error("rest=" + place.rest, "is no socket of slurmrestd",
                       "Write it as rest=unix:/run/slurmrestd.sock, from '/' on.");
  }
  ASSAY_TRY(const auto time, duration_option_or(text, "time", Nanos(0)));
  if (text.options.contains("time")) place.time = time;
  if (place.time && place.time->count() <= 0) return place_error("time=" + option_or(text, "time", ""), "is no time");
  return place;
}

std::string slurm_comment(std::string_view key) { return fmt::format("assay:{}", key); }

SlurmRequest slurm_request(const SlurmPlace& place, const Job& job, std::string_view key) {
  SlurmRequest request{.name = job_name(job),
                       .comment = slurm_comment(key),
                       .partition = place.partition,
                       .account = place.account,
                       .qos = place.qos,
                       .constraint = place.constraint,
                       .reservation = place.reservation,
                       .nodelist = job.nodes.empty() ? place.nodelist : join(job.nodes, ","),
                       .exclude = place.exclude,
                       .gres = place.gres,
                       .gpus_per_node = {},
                       .cpus = place.cpus,
                       .memory = place.memory,
                       .nodes = job.ranks.nodes,
                       .exclusive = place.exclusive,
                       .minutes = time_limit_minutes(place, job),
                       .environment = place.environment};
  if (request.cpus.empty() && job.ranks.per_node > 1) request.cpus = std::to_string(job.ranks.per_node);
  if (request.gres.empty() && job.gpus_per_node.value_or(0) > 0) {
    request.gpus_per_node = std::to_string(*job.gpus_per_node);
  }
  return request;
}

std::vector<std::string> sbatch_arguments(const SlurmRequest& request) {
  std::vector<std::string> arguments = {"--no-requeue", fmt::format("--nodes={}", request.nodes), "--ntasks-per-node=1",
                                        "--job-name=" + request.name, "--comment=" + request.comment};
  const auto add = [&](std::string_view option, const std::string& value) {
    if (!value.empty()) arguments.push_back(fmt::format("--{}={}", option, value));
  };
  add("partition", request.partition);
  add("account", request.account);
  add("qos", request.qos);
  add("constraint", request.constraint);
  add("reservation", request.reservation);
  add("nodelist", request.nodelist);
  add("exclude", request.exclude);
  add("mem", request.memory);
  add("cpus-per-task", request.cpus);
  add("gres", request.gres);
  add("gpus-per-node", request.gpus_per_node);
  add("export", join(request.environment, ","));
  if (request.exclusive) arguments.emplace_back("--exclusive");
  if (request.minutes) add("time", std::to_string(*request.minutes));
  return arguments;
}

}  // namespace assay
