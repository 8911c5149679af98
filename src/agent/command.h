#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace assay {

/// What a leader asks of an agent, apart from runs (job_list.h).
struct Command {
  enum class Kind { doctor };
  std::string id;  ///< 1 to 64 letters, digits, '-' and '_'
  Kind kind = Kind::doctor;
};

std::string_view name_of(Command::Kind kind);
std::optional<Command::Kind> command_kind_from(std::string_view name);

inline constexpr std::size_t kMaxCommandOutput = std::size_t{1} << 20;

bool is_command_id(std::string_view text);

/// Reads the data of a `command` event. Any text.
Result<Command> parse_command(std::string_view text);
/// The id of what `parse_command` could not read, so that the leader can be told; nothing where there is none.
std::optional<std::string> command_id_in(std::string_view text);

/// What becomes of a command.
struct CommandReport {
  enum class State { running, done, failed, refused };
  State state = State::running;
  std::optional<int> exit_code;
  std::string output;
  std::string message;
};
std::string_view name_of(CommandReport::State state);
json::object to_json(const CommandReport& report);
Result<CommandReport> command_report_from_json(const json::value& value);

}  // namespace assay
