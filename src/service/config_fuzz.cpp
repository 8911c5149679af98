// libFuzzer entry: whatever the bytes of a configuration or of a variable, reading it ends with values or with
// messages.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "config/config_reader.h"
#include "service/agent_config.h"
#include "service/leader_config.h"
#include "service/service_files.h"

namespace {

template <typename Config>
void read(const assay::ConfigTable<Config>& table, const assay::ConfigSources& sources) {
  const auto configured = read_config(table, sources);
  if (configured.config.has_value() != configured.reading.diagnostics.empty()) std::abort();
  for (const auto& diagnostic : configured.reading.diagnostics) {
    if (diagnostic.text().empty()) std::abort();
  }
  for (const auto& value : configured.reading.values) {
    static_cast<void>(written_value(value));
    static_cast<void>(value.origin.text());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const assay::ConfigText file{.name = "fuzz.yaml", .text = text};
  static_cast<void>(assay::kind_of_file(file));
  read(assay::leader_table(), {.file = file, .environment = {{"ASSAY_SERVE_WEBHOOKS", text}}, .flags = {}});
  read(assay::agent_table(), {.file = file, .environment = {{"ASSAY_AGENT_ALLOW", text}}, .flags = {}});
  return 0;
}
