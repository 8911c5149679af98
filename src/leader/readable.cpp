#include "leader/readable.h"

#include <map>

#include "base/text.h"
#include "protocol/batch.h"

namespace assay {
namespace {

template <typename Value>
std::map<std::string, Value> with_readable_names(const std::map<std::string, Value>& entries) {
  std::map<std::string, Value> readable;
  for (const auto& [name, value] : entries) {
    if constexpr (std::is_same_v<Value, std::string>) {
      readable[printable(name)] = printable(value);
    } else {
      readable[printable(name)] = value;
    }
  }
  return readable;
}

}  // namespace

std::string shortened(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return std::string(text);
  const auto continues = [&](std::size_t at) { return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  while (limit > 0 && continues(limit)) --limit;
  return std::string(text.substr(0, limit));
}

void make_readable(Batch& batch) {
  for (auto& series : batch.series) {
    series.key.name = printable(series.key.name);
    series.key.labels = with_readable_names(series.key.labels);
    series.unit = printable(series.unit);
  }
  for (auto& event : batch.events) {
    event.kind = printable(event.kind);
    event.about = printable(event.about);
    event.message = printable(event.message);
    event.values = with_readable_names(event.values);
  }
  if (batch.devices) {
    for (auto& device : *batch.devices) {
      device.id = printable(device.id);
      device.facts = with_readable_names(device.facts);
    }
  }
  if (batch.processes) {
    for (auto& process : *batch.processes) process.gpu = printable(process.gpu);
  }
}

}  // namespace assay
