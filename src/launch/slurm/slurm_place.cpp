#include "launch/slurm/slurm_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/units.h"

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
  ASSAY_TRY(const auto time, duration_option_or(text, "time", Nanos(0)));
  if (text.options.contains("time")) place.time = time;
  if (place.time && place.time->count() <= 0) return place_error("time=" + option_or(text, "time", ""), "is no time");
  return place;
}

std::string slurm_comment(std::string_view key) { return fmt::format("assay:{}", key); }

std::vector<std::string> sbatch_arguments(const SlurmPlace& place, const Job& job, std::string_view key) {
  // No requeue: a job that was begun is never begun again, and its host would refuse to.
  std::vector<std::string> arguments = {"--no-requeue", fmt::format("--nodes={}", job.ranks.nodes),
                                        "--ntasks-per-node=1", "--job-name=" + job_name(job),
                                        "--comment=" + slurm_comment(key)};
  const auto add = [&](std::string_view option, const std::string& value) {
    if (!value.empty()) arguments.push_back(fmt::format("--{}={}", option, value));
  };
  add("partition", place.partition);
  add("account", place.account);
  add("qos", place.qos);
  add("constraint", place.constraint);
  add("reservation", place.reservation);
  add("nodelist", job.nodes.empty() ? place.nodelist : join(job.nodes, ","));
  add("exclude", place.exclude);
  add("mem", place.memory);
  if (!place.cpus.empty()) {
    add("cpus-per-task", place.cpus);
  } else if (job.ranks.per_node > 1) {
    add("cpus-per-task", std::to_string(job.ranks.per_node));
  }
  if (!place.gres.empty()) {
    add("gres", place.gres);
  } else if (job.gpus_per_node.value_or(0) > 0) {
    add("gpus-per-node", std::to_string(*job.gpus_per_node));
  }
  if (place.exclusive) arguments.emplace_back("--exclusive");
  if (const auto minutes = time_limit_minutes(place, job)) add("time", std::to_string(*minutes));
  return arguments;
}

}  // namespace assay
