// libFuzzer entry: whatever a leader sends, it is a command within the limits or a message; whatever an agent sends, it
// is a report or the agent's mistake.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "protocol/command.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto command = parse_command(text);
  if (!command) {
    if (command.error().message.empty()) std::abort();
  } else if (!is_command_id(command->id) || command_id_in(text) != command->id ||
             parse_command(json::serialize(to_json(*command))).value() != *command) {
    std::abort();
  }
  const auto report = parse_command_report(text);
  if (!report) {
    if (report.error().kind != ErrorKind::usage) std::abort();
  } else if (parse_command_report(json::serialize(to_json(*report))).value() != *report) {
    std::abort();
  }
  return 0;
}
