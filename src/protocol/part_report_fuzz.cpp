// libFuzzer entry: whatever an agent or a leader says of a part of a run, it is within the limits, or a message.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "protocol/part_report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto report = parse_part_report(text);
  if (!report) {
    if (report.error().kind != ErrorKind::usage || report.error().message.empty()) std::abort();
  } else {
    if (report->meeting && (report->meeting->port < 1 || report->meeting->port > 65'535)) std::abort();
    const auto again = parse_part_report(json::serialize(to_json(*report)));
    if (!again || again->meeting != report->meeting || again->ended != report->ended) std::abort();
  }
  if (const auto value = parse_json(text)) {
    const auto part = part_of_run_from_json(*value);
    if (part && (part->number < 0 || part->number >= part->of)) std::abort();
    if (part && part_of_run_from_json(to_json(*part)).value() != *part) std::abort();
    const auto answer = part_answer_from_json(*value);
    if (answer && !part_answer_from_json(to_json(*answer))) std::abort();
  }
  return 0;
}
