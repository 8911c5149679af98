#include "launch/slurm/slurm_rest.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "base/text.h"
#include "net/client_messages.h"
#include "net/client_options.h"
#include "net/http_client.h"
#include "net/url.h"

namespace assay {
namespace {

constexpr std::string_view kRestVersion = "/slurm/v0.0.38/";
constexpr Nanos kRestSubmitTime = std::chrono::seconds(60);
/// Of Slurm's error numbers: ESLURM_INVALID_JOB_ID.
constexpr std::int64_t kNoSuchJob = 2017;
/// Which Slurm it is, for srun in the job.
constexpr std::string_view kSlurmConf = "SLURM_CONF";

const json::array& list_in(const json::value& answer, std::string_view key) {
  static const json::array kNothing;
  const auto* object = answer.if_object();
  const auto* value = object ? object->if_contains(key) : nullptr;
  return value && value->is_array() ? value->get_array() : kNothing;
}

std::string_view text_in(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  return value && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

std::optional<std::int64_t> integer_in(const json::object& object, std::string_view key) {
  const auto* value = object.if_contains(key);
  if (!value) return std::nullopt;
  if (value->is_int64()) return value->get_int64();
  if (value->is_uint64() && value->get_uint64() <= INT64_MAX) return static_cast<std::int64_t>(value->get_uint64());
  return std::nullopt;
}

Result<std::int64_t> whole_in(std::string_view text, std::string_view option) {
  std::int64_t number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code == std::errc() && end == text.data() + text.size() && number > 0) return number;
  return Error{.kind = ErrorKind::usage, .message = fmt::format("'{}={}' is no whole number", option, printable(text))};
}

/// As sbatch reads it: megabytes unless there is a unit.
Result<std::int64_t> megabytes_in(std::string_view text) {
  constexpr std::array<std::pair<char, std::int64_t>, 3> kUnits = {{{'M', 1}, {'G', 1024}, {'T', 1024 * 1024}}};
  std::int64_t factor = 1;
  auto number = text;
  for (const auto& [unit, times] : kUnits) {
    if (number.empty() || (number.back() != unit && number.back() != unit + ('a' - 'A'))) continue;
    number.remove_suffix(1);
    factor = times;
    break;
  }
  auto count = whole_in(number, "memory");
  if (!count || *count > INT64_MAX / factor) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("'memory={}' is no amount for slurmrestd", printable(text)),
                 .hint = "Write it in whole megabytes, or with M, G or T: memory=64G"};
  }
  return *count * factor;
}

/// What is set wins.
std::map<std::string, std::string> own_environment(const std::map<std::string, std::string>& set) {
  auto all = set;
  for (char** entry = environ; *entry; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    // An allocation that we are in is not that of the job.
    const auto name = text.substr(0, equals);
    if (equals == std::string_view::npos || (name.starts_with("SLURM_") && name != kSlurmConf)) continue;
    all.emplace(name, text.substr(equals + 1));
  }
  return all;
}

}  // namespace

Result<json::object> rest_submission(const SlurmRequest& request, std::string_view script,
                                     const std::map<std::string, std::string>& environment) {
  json::object job{{"name", request.name},
                   {"comment", request.comment},
                   {"nodes", json::array{request.nodes, request.nodes}},
                   {"tasks", request.nodes},
                   {"tasks_per_node", 1},
                   {"requeue", false},
                   {"current_working_directory", "/"},
                   {"standard_output", "/dev/null"},
                   {"standard_error", "/dev/null"}};
  const auto put = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) job[key] = value;
  };
  put("partition", request.partition);
  put("account", request.account);
  put("qos", request.qos);
  put("constraints", request.constraint);
  put("reservation", request.reservation);
  put("nodelist", request.nodelist);
  put("exclude_nodes", request.exclude);
  put("gres", request.gres);
  put("gpus_per_node", request.gpus_per_node);
  if (request.exclusive) job["exclusive"] = "exclusive";
  if (request.minutes) job["time_limit"] = *request.minutes;
  if (!request.memory.empty()) {
    ASSAY_TRY(job["memory_per_node"], megabytes_in(request.memory));
  }
  if (!request.cpus.empty()) {
    ASSAY_TRY(job["cpus_per_task"], whole_in(request.cpus, "cpus"));
  }
  json::object given;
  for (const auto& [name, value] : environment) {
    const auto& wanted = request.environment;
    if (wanted.empty() || name == kSlurmConf || std::find(wanted.begin(), wanted.end(), name) != wanted.end())
      given[name] = value;
  }
  // slurmrestd takes none without one.
  if (!given.contains("PATH")) given["PATH"] = "/usr/local/bin:/usr/bin:/bin";
  job["environment"] = std::move(given);
  return json::object{{"script", script}, {"job", std::move(job)}};
}

SlurmRecords parse_rest_jobs(const json::value& answer, std::optional<std::int64_t> user) {
  SlurmRecords records;
  for (const auto& value : list_in(answer, "jobs")) {
    const auto* job = value.if_object();
    if (!job) continue;
    const auto id = integer_in(*job, "job_id");
    auto state = said_by_slurm(text_in(*job, "job_state"));
    if (!id || *id <= 0 || state.empty() || (user && integer_in(*job, "user_id") != user)) continue;
    records[*id] = {.state = std::move(state),
                    .reason = said_by_slurm(text_in(*job, "state_reason")),
                    .nodes = said_by_slurm(text_in(*job, "nodes")),
                    .key = key_in_comment(text_in(*job, "comment"))};
  }
  return records;
}

std::string rest_error_in(const json::value& answer) {
  std::string words;
  for (const auto& value : list_in(answer, "errors")) {
    const auto* error = value.if_object();
    if (!error) continue;
    // The description is closer to what is wrong than the error that it led to.
    auto text = said_by_slurm(text_in(*error, "description"));
    if (text.empty()) text = said_by_slurm(text_in(*error, "error"));
    if (text.empty()) text = "an error without words";
    words += (words.empty() ? "" : "; ") + text;
  }
  return words;
}

bool says_no_such_job(const json::value& answer) {
  const auto& errors = list_in(answer, "errors");
  return std::any_of(errors.begin(), errors.end(), [](const json::value& value) {
    const auto* error = value.if_object();
    return error &&
           (integer_in(*error, "error_number") == kNoSuchJob || integer_in(*error, "error_code") == kNoSuchJob);
  });
}

Result<std::int64_t> parse_rest_submitted(const json::value& answer) {
  if (const auto words = rest_error_in(answer); !words.empty()) return refused_by_slurm(words);
  const auto* object = answer.if_object();
  const auto id = object ? integer_in(*object, "job_id") : std::nullopt;
  if (id && *id > 0) return *id;
  return Error{.kind = ErrorKind::bad_file, .message = "slurmrestd answered neither with a job nor with an error"};
}

Result<SlurmRest::Answer> SlurmRest::ask(const Question& question) const {
  ASSAY_TRY(auto url, parse_url(socket_));
  ASSAY_TRY(auto client, HttpClient::create(std::move(url), {.server = "slurmrestd",
                                                             .request_time = question.time,
                                                             .response_bytes = std::size_t{256} << 20}));
  ClientRequest request{.method = question.method, .target = std::string(kRestVersion) + question.path};
  request.headers.add("Accept", "application/json");
  if (!question.body.empty()) request.headers.add("Content-Type", "application/json");
  request.body = question.body;
  auto response = client->send(std::move(request));
  if (!response) return std::move(response).error().within("asking slurmrestd");
  if (response->status == 404) {
    return Error{
        .kind = ErrorKind::unsupported,
        .message = fmt::format("slurmrestd at {} does not know version v0.0.38 of its API", socket_),
        .hint = "Start it with `-s openapi/v0.0.38`, or leave 'rest' out: sbatch, squeue and scancel do as well."};
  }
  if (response->status == 401 || response->status == 403) {
    return Error{.kind = ErrorKind::denied,
                 .message = fmt::format("slurmrestd at {} does not let this user in", socket_),
                 .hint = "It does for the user that runs it: `slurmrestd -a rest_auth/local unix:SOCKET`."};
  }
  auto body = parse_json(response->body);
  if (!body) {
    return Error{.kind = ErrorKind::unreachable,
                 .message = fmt::format("slurmrestd answered with {} and no JSON", response->status)};
  }
  return Answer{.status = response->status, .body = std::move(*body)};
}

Result<std::int64_t> SlurmRest::submit(const SlurmRequest& request, const fs::path& script) const {
  ASSAY_TRY(const auto text, read_file(script));
  ASSAY_TRY(const auto body, rest_submission(request, text, own_environment(environment_)));
  ASSAY_TRY(const auto answer,
            ask({.method = "POST", .path = "job/submit", .body = json::serialize(body), .time = kRestSubmitTime}));
  return parse_rest_submitted(answer.body);
}

Result<SlurmRecords> SlurmRest::list(const std::vector<std::int64_t>& ids) const {
  const auto unreachable = [](std::string words) {
    return Error{.kind = ErrorKind::unreachable, .message = std::move(words)};
  };
  SlurmRecords records;
  const auto take = [&](const std::string& path, std::optional<std::int64_t> user) -> Result<void> {
    const auto answer = ask({.path = path});
    if (!answer) return unreachable(answer.error().text());
    auto words = rest_error_in(answer->body);
    if (!words.empty() && !says_no_such_job(answer->body)) return unreachable(std::move(words));
    records.merge(parse_rest_jobs(answer->body, user));
    return {};
  };
  // All jobs are those of everybody, which may be very many.
  if (ids.empty()) ASSAY_CHECK(take("jobs", static_cast<std::int64_t>(::geteuid())));
  for (const auto id : ids) ASSAY_CHECK(take(fmt::format("job/{}", id), std::nullopt));
  return records;
}

Result<void> SlurmRest::cancel(std::int64_t id) const {
  ASSAY_TRY(const auto answer, ask({.method = "DELETE", .path = fmt::format("job/{}", id)}));
  const auto words = rest_error_in(answer.body);
  if (words.empty() || says_no_such_job(answer.body)) return {};
  return Error{.kind = ErrorKind::io, .message = words};
}

}  // namespace assay
