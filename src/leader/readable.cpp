#include "leader/readable.h"

#include <map>

#include "base/text.h"
#include "protocol/batch.h"
#include "protocol/hello.h"

namespace assay {
namespace {

std::string one_line(std::string_view bytes) {
  std::string text = printable(bytes);
  for (char& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return text;
}

template <typename Value>
std::map<std::string, Value> with_readable_names(const std::map<std::string, Value>& entries) {
  std::map<std::string, Value> readable;
  for (const auto& [name, value] : entries) {
    if constexpr (std::is_same_v<Value, std::string>) {
      readable[one_line(name)] = one_line(value);
    } else {
      readable[one_line(name)] = value;
    }
  }
  return readable;
}

}  // namespace

void make_readable(Batch& batch) {
  for (auto& series : batch.series) {
    series.key.name = one_line(series.key.name);
    series.key.labels = with_readable_names(series.key.labels);
    series.unit = one_line(series.unit);
  }
  for (auto& event : batch.events) {
    event.kind = one_line(event.kind);
    event.about = one_line(event.about);
    event.message = one_line(event.message);
    event.values = with_readable_names(event.values);
  }
  if (batch.devices) {
    for (auto& device : *batch.devices) {
      device.id = one_line(device.id);
      device.facts = with_readable_names(device.facts);
    }
  }
  if (batch.processes) {
    for (auto& process : *batch.processes) process.gpu = one_line(process.gpu);
  }
}

AgentHello readable(AgentHello hello) {
  hello.version = one_line(hello.version);
  hello.facts = with_readable_names(hello.facts);
  for (auto& name : hello.allow) name = one_line(name);
  for (auto& name : hello.sources) name = one_line(name);
  return hello;
}

}  // namespace assay
