#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace assay {

/// What a leader asks of an agent, apart from runs (job_list.h): the data of a `command` event.
struct Command {
  enum class Kind { doctor };
  std::string id;  ///< 1 to 64 letters, digits, '-' and '_'
  Kind kind = Kind::doctor;
  bool operator==(const Command&) const = default;
};

std::string_view name_of(Command::Kind kind);
std::optional<Command::Kind> command_kind_from(std::string_view name);

inline constexpr const char* kCommandEvent = "command";

bool is_command_id(std::string_view text);

json::object to_json(const Command& command);
/// Any text.
Result<Command> parse_command(std::string_view text);
/// The id of what `parse_command` could not read, so that the leader can be told; nothing where there is none.
std::optional<std::string> command_id_in(std::string_view text);

/// What becomes of a command.
struct CommandReport {
  enum class State { running, done, failed, refused };
  State state = State::running;
  std::optional<int> exit_code;
  std::string output;  ///< at most `kMaxCommandOutput`
  std::string message;
  bool operator==(const CommandReport&) const = default;
};

inline constexpr std::size_t kMaxCommandOutput = std::size_t{1} << 20;

std::string_view name_of(CommandReport::State state);
json::object to_json(const CommandReport& report);
/// Any bytes: `usage`. Texts may be longer than they should be.
Result<CommandReport> parse_command_report(std::string_view body);

}  // namespace assay
