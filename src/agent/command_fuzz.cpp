// libFuzzer entry: whatever a leader sends, it is a command within the limits or a message.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/command.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto command = assay::parse_command(text);
  if (!command) {
    if (command.error().message.empty()) std::abort();
  } else if (!assay::is_command_id(command->id) || assay::command_id_in(text) != command->id) {
    std::abort();
  }
  if (const auto value = assay::parse_json(text)) static_cast<void>(assay::command_report_from_json(*value));
  return 0;
}
