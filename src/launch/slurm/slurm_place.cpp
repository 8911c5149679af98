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

using PlaceText = std::string SlurmPlace::*;

struct TextKey {
  std::string_view name;
  PlaceText value;
  bool list = false;  ///< may be repeated
};
constexpr std::array kTextKeys = {
    TextKey{"partition", &SlurmPlace::partition},
    TextKey{"account", &SlurmPlace::account},
    TextKey{"qos", &SlurmPlace::qos},
    TextKey{"constraint", &SlurmPlace::constraint},
    TextKey{"reservation", &SlurmPlace::reservation},
    TextKey{"gres", &SlurmPlace::gres},
    TextKey{"nodelist", &SlurmPlace::nodelist, true},
    TextKey{"exclude", &SlurmPlace::exclude, true},
    TextKey{"cpus", &SlurmPlace::cpus},
    TextKey{"memory", &SlurmPlace::memory},
    TextKey{"assay", &SlurmPlace::assay},
};
/// Those that are not plain text.
constexpr std::array<std::string_view, 3> kOtherKeys = {"exclusive", "folder", "time"};

std::vector<std::string> all_keys() {
  std::vector<std::string> keys;
  for (const auto& key : kTextKeys) keys.emplace_back(key.name);
  keys.insert(keys.end(), kOtherKeys.begin(), kOtherKeys.end());
  std::sort(keys.begin(), keys.end());
  return keys;
}

Error place_error(std::string message, std::string hint = {}) {
  return {.kind = ErrorKind::usage, .message = "slurm: " + std::move(message), .hint = std::move(hint)};
}

/// Parts between commas that stand in no bracket.
std::vector<std::string_view> split_settings(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t start = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']') --depth;
    if (text[i] != ',' || depth > 0) continue;
    parts.push_back(text.substr(start, i - start));
    start = i + 1;
  }
  parts.push_back(text.substr(start));
  return parts;
}

Result<void> check_value(std::string_view key, std::string_view value) {
  if (value.empty()) return place_error(fmt::format("'{}' has no value. Write '{}=…'", key, key));
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (std::any_of(value.begin(), value.end(), is_control)) {
    return place_error(fmt::format("'{}' holds a control character", key));
  }
  return {};
}

Result<void> set_text(SlurmPlace& place, const TextKey& key, std::string_view value) {
  std::string& into = place.*key.value;
  if (!into.empty() && !key.list) return place_error(fmt::format("'{}' stands twice", key.name));
  if (!into.empty()) into += ',';
  into += value;
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (key.name == "cpus" && !std::all_of(value.begin(), value.end(), is_digit)) {
    return place_error(fmt::format("'cpus={}' is not a whole number", value));
  }
  return {};
}

Result<void> set_other(SlurmPlace& place, std::string_view key, std::string_view value) {
  if (key == "folder") {
    if (!fs::path(value).is_absolute()) {
      return place_error(fmt::format("'folder={}' is not an absolute path", value),
                         "Name a folder of the file system that the nodes share, from '/' on.");
    }
    place.folder = value;
    return {};
  }
  auto time = parse_duration(value);
  if (!time) return place_error(fmt::format("'time={}' {}", value, time.error().message));
  if (time->count() <= 0) return place_error(fmt::format("'time={}' is no time at all", value));
  place.time = *time;
  return {};
}

Result<void> set_key(SlurmPlace& place, std::string_view part) {
  const auto equals = part.find('=');
  const auto key = trim(part.substr(0, equals));
  if (key == "exclusive" && equals == std::string_view::npos) {
    place.exclusive = true;
    return {};
  }
  const auto keys = all_keys();
  if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
    const auto meant = nearest(key, keys);
    return place_error(
        fmt::format("unknown key '{}'.{}", printable(key), meant ? fmt::format(" Did you mean '{}'?", *meant) : ""),
        fmt::format("There are {}. Names of nodes go as 'nodelist=node[1,3]'.", join(keys, ", ")));
  }
  if (key == "exclusive") return place_error("'exclusive' has no value: it is there or not");
  const auto value = equals == std::string_view::npos ? std::string_view() : trim(part.substr(equals + 1));
  ASSAY_CHECK(check_value(key, value));
  const auto* const text =
      std::find_if(kTextKeys.begin(), kTextKeys.end(), [&](const TextKey& known) { return known.name == key; });
  return text != kTextKeys.end() ? set_text(place, *text, value) : set_other(place, key, value);
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

Result<SlurmPlace> parse_slurm_place(std::string_view text) {
  SlurmPlace place;
  if (trim(text).empty()) return place;
  for (const auto part : split_settings(text)) ASSAY_CHECK(set_key(place, part));
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
  add("nodelist", place.nodelist);
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
