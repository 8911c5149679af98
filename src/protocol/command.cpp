#include "protocol/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "protocol/message.h"

namespace assay {
namespace {

constexpr std::array<std::pair<Command::Kind, std::string_view>, 1> kKinds = {{{Command::Kind::doctor, "doctor"}}};

constexpr std::array<std::pair<CommandReport::State, std::string_view>, 4> kStates = {
    {{CommandReport::State::running, "running"},
     {CommandReport::State::done, "done"},
     {CommandReport::State::failed, "failed"},
     {CommandReport::State::refused, "refused"}}};

constexpr std::size_t kLongestId = 64;

Result<CommandReport> read_report(std::string_view body) {
  ASSAY_TRY(const auto value, parse_json(body));
  JsonFields fields(value, "report");
  CommandReport report;
  const std::string name = fields.text("state");
  report.output = fields.text_or("output", "");
  report.message = fields.text_or("message", "");
  if (const auto* given = fields.find("exit_code"); given != nullptr && !given->is_null()) {
    report.exit_code = fields.small_integer("exit_code");
  }
  ASSAY_CHECK(fields.finish());
  const auto state =
      std::find_if(kStates.begin(), kStates.end(), [&](const auto& known) { return known.second == name; });
  if (state == kStates.end()) {
    return Error{.kind = ErrorKind::bad_file,
                 .message = fmt::format("'{}' is no state of a report", printable(name.substr(0, 64))),
                 .hint = "States are running, done, failed and refused."};
  }
  report.state = state->first;
  return report;
}

}  // namespace

std::string_view name_of(Command::Kind kind) {
  return std::find_if(kKinds.begin(), kKinds.end(), [kind](const auto& known) { return known.first == kind; })->second;
}

std::optional<Command::Kind> command_kind_from(std::string_view name) {
  for (const auto& [kind, known] : kKinds) {
    if (known == name) return kind;
  }
  return std::nullopt;
}

bool is_command_id(std::string_view text) {
  return !text.empty() && text.size() <= kLongestId && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
  });
}

json::object to_json(const Command& command) { return {{"id", command.id}, {"kind", name_of(command.kind)}}; }

Result<Command> parse_command(std::string_view text) {
  ASSAY_TRY(const auto value, parse_json(text));
  JsonFields fields(value, "command");
  Command command;
  command.id = fields.text("id");
  const std::string kind = fields.text("kind");
  if (!is_command_id(command.id)) fields.fail("id", "is not 1 to 64 letters, digits, '-' and '_'");
  const auto known = command_kind_from(kind);
  if (!known) fields.fail("kind", "is not doctor");
  ASSAY_CHECK(fields.finish());
  command.kind = *known;
  return command;
}

std::optional<std::string> command_id_in(std::string_view text) {
  const auto value = parse_json(text);
  if (!value) return std::nullopt;
  JsonFields fields(*value, "command");
  std::string id = fields.text("id");
  return is_command_id(id) ? std::optional(std::move(id)) : std::nullopt;
}

std::string_view name_of(CommandReport::State state) {
  return std::find_if(kStates.begin(), kStates.end(), [state](const auto& known) { return known.first == state; })
      ->second;
}

json::object to_json(const CommandReport& report) {
  json::object object{{"state", name_of(report.state)}};
  if (report.exit_code) object["exit_code"] = *report.exit_code;
  object["output"] = report.output;
  object["message"] = report.message;
  return object;
}

Result<CommandReport> parse_command_report(std::string_view body) { return as_usage(read_report(body)); }

}  // namespace assay
