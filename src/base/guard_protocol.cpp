#include "base/guard_protocol.h"

#include <charconv>

#include "base/json.h"

namespace assay {
namespace {

// The request is a row of strings, each ended by a NUL byte, since none of them can hold one.
void append(std::string& bytes, std::string_view text) {
  bytes += text;
  bytes += '\0';
}

class StringReader {
 public:
  explicit StringReader(std::string_view bytes) : rest_(bytes) {}

  std::string_view text() {
    const auto end = rest_.find('\0');
    failed_ = failed_ || end == std::string_view::npos;
    const std::string_view text = rest_.substr(0, end);
    rest_.remove_prefix(failed_ ? rest_.size() : end + 1);
    return text;
  }
  std::int64_t integer() {
    const std::string_view digits = text();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    failed_ = failed_ || error != std::errc();
    return failed_ ? 0 : number;
  }
  bool failed() const { return failed_; }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

json::array names(const std::vector<std::string>& list) { return json::array(list.begin(), list.end()); }

std::vector<std::string> texts(JsonFields& fields, std::string_view key) {
  std::vector<std::string> list;
  for (const auto& item : fields.array_or_empty(key)) {
    if (const auto* text = item.if_string()) list.emplace_back(*text);
  }
  return list;
}

}  // namespace

std::string encode_request(const GuardedOptions& options) {
  std::string bytes;
  append(bytes, std::to_string(options.grace.count()));
  append(bytes, options.folder ? "1" : "0");
  append(bytes, options.folder.value_or("").native());
  append(bytes, std::to_string(options.arguments.size()));
  for (const auto& argument : options.arguments) append(bytes, argument);
  append(bytes, std::to_string(options.environment.size()));
  for (const auto& [name, value] : options.environment) {
    append(bytes, name);
    append(bytes, value);
  }
  append(bytes, options.group ? "1" : "0");
  append(bytes, options.group.value_or("").native());
  append(bytes, options.confinement ? "1" : "0");
  if (!options.confinement) return bytes;
  append(bytes, options.confinement->user);
  append(bytes, std::to_string(options.confinement->hidden.size()));
  for (const auto& path : options.confinement->hidden) append(bytes, path.native());
  return bytes;
}

Result<GuardedOptions> decode_request(std::string_view bytes) {
  StringReader reader(bytes);
  GuardedOptions options;
  options.grace = Nanos(reader.integer());
  const bool has_folder = reader.integer() == 1;
  const std::string_view folder = reader.text();
  if (has_folder) options.folder = folder;
  for (auto left = reader.integer(); left > 0 && !reader.failed(); --left) {
    options.arguments.emplace_back(reader.text());
  }
  for (auto left = reader.integer(); left > 0 && !reader.failed(); --left) {
    const std::string name(reader.text());
    options.environment[name] = reader.text();
  }
  const bool has_group = reader.integer() == 1;
  const std::string_view group = reader.text();
  if (has_group) options.group = group;
  if (reader.integer() == 1) {
    auto& confinement = options.confinement.emplace();
    confinement.user = reader.text();
    for (auto left = reader.integer(); left > 0 && !reader.failed(); --left) {
      confinement.hidden.emplace_back(reader.text());
    }
  }
  if (reader.failed()) return Error{.kind = ErrorKind::internal, .message = "the request to the guard is damaged"};
  return options;
}

std::string start_line(const Result<pid_t>& workload) {
  json::object line;
  if (workload) {
    line["pid"] = *workload;
  } else {
    const Error& error = workload.error();
    line["error"] = {{"kind", name_of(error.kind)}, {"message", error.text()}, {"hint", error.hint}};
  }
  return json::serialize(line) + '\n';
}

Result<pid_t> parse_start_line(std::string_view line) {
  ASSAY_TRY(const auto value, parse_json(line));
  JsonFields fields(value, "the guard's answer");
  if (const auto* problem = fields.find("error")) {
    JsonFields error(*problem, "the guard's error");
    return Error{.kind = error_kind_from(error.text("kind")).value_or(ErrorKind::internal),
                 .message = error.text("message"),
                 .hint = error.text("hint")};
  }
  const auto pid = static_cast<pid_t>(fields.integer("pid"));
  ASSAY_CHECK(fields.finish());
  return pid;
}

std::string report_line(const GuardReport& report) {
  json::object line{{"user_ns", report.user_time.count()},          {"system_ns", report.system_time.count()},
                    {"peak_rss_bytes", report.peak_rss_bytes},      {"left_behind", names(report.left_behind)},
                    {"still_running", names(report.still_running)}, {"stopped", report.stopped}};
  if (report.exit_code) line["exit_code"] = *report.exit_code;
  if (report.signal) line["signal"] = *report.signal;
  return json::serialize(line) + '\n';
}

Result<GuardReport> parse_report_line(std::string_view line) {
  ASSAY_TRY(const auto value, parse_json(line));
  JsonFields fields(value, "the guard's report");
  GuardReport report{.user_time = Nanos(fields.integer("user_ns")),
                     .system_time = Nanos(fields.integer("system_ns")),
                     .peak_rss_bytes = fields.integer("peak_rss_bytes"),
                     .left_behind = texts(fields, "left_behind"),
                     .still_running = texts(fields, "still_running"),
                     .stopped = fields.boolean_or("stopped", false)};
  if (fields.find("exit_code")) report.exit_code = static_cast<int>(fields.integer("exit_code"));
  if (fields.find("signal")) report.signal = static_cast<int>(fields.integer("signal"));
  ASSAY_CHECK(fields.finish());
  return report;
}

}  // namespace assay
