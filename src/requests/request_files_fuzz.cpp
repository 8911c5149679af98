// libFuzzer entry: whatever is in a file of requests or a trace, it is read or refused with a place, and every request
// of it can be made.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "requests/request_file.h"
#include "requests/trace_file.h"

namespace {

using namespace assay;

void demand(bool holds) {
  if (!holds) std::abort();
}

void check_error(const Error& error) {
  demand(error.kind == ErrorKind::bad_file && error.message.starts_with("file:"));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  PromptRequest request;
  if (const auto set = parse_request_lines(text, "file", 64)) {
    demand((*set)->size() > 0);
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>((*set)->size(), 100); ++i) {
      (*set)->make(i, request);
      demand(request.prompt.empty() == !request.messages.empty() && request.output_tokens > 0);
    }
  } else {
    check_error(set.error());
  }
  auto trace = parse_trace(text, "file");
  if (!trace) {
    check_error(trace.error());
    return 0;
  }
  demand(trace->entries.front().at == Nanos(0));
  Nanos last{};
  bool small = true;
  for (const TraceEntry& entry : trace->entries) {
    demand(entry.at >= last);
    last = entry.at;
    demand(std::size_t{entry.first_block} + entry.blocks <= trace->blocks.size());
    small = small && entry.input_tokens < 10'000;
  }
  if (!small) return 0;
  const auto set = requests_of_trace(std::move(*trace), {.seed = 1, .cell = "fuzz"});
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(set->size(), 20); ++i) set->make(i, request);
  return 0;
}
