#include <cstdint>
#include <cstdlib>

#include "launch/hosted/job_folder.h"
#include "launch/job.h"

// Any text as the order, or as a record of a host: no crash, and an order that can be done is written so that it reads
// the same.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace assay;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (const auto job = read_order(input); job && check_order(*job)) {
    const auto text = write_order(*job).value();
    const auto again = read_order(text);
    if (!again || write_order(*again).value() != text) std::abort();
  }
  const auto value = parse_json(input);
  if (!value) return 0;
  (void)host_record_from_json(*value).ok();
  (void)wish_from_json(*value).ok();
  (void)part_ending_from_json(*value).ok();
  return 0;
}
