#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"
#include "requests/lengths.h"
#include "requests/request_set.h"

namespace assay {

/// One request of a recorded load.
struct TraceEntry {
  Nanos at{};  ///< since the first request of the trace
  std::uint32_t input_tokens = 0;
  std::uint32_t output_tokens = 0;
  std::uint32_t first_block = 0;  ///< of `RequestTrace::blocks`; equal blocks at the start of prompts are equal words
  std::uint32_t blocks = 0;
};

/// A recorded load: when requests came and how large they were, in order of time. 24 bytes for each request, 4 for each
/// block.
struct RequestTrace {
  std::vector<TraceEntry> entries;    ///< not empty
  std::vector<std::uint32_t> blocks;  ///< Mooncake's hash ids
};

/// Tokens that one hash id of Mooncake's traces stands for.
inline constexpr std::uint32_t kTraceBlockTokens = 512;

/// Reads a trace, of either format, whichever its first line shows:
/// - Azure's LLM inference traces, CSV with the columns TIMESTAMP, ContextTokens, GeneratedTokens (others are passed
///   over), times like `2023-11-16 18:15:46.6805900` with or without a zone;
/// - Mooncake's, JSON on each line: {"timestamp": ms, "input_length": n, "output_length": n, "hash_ids": […]}.
/// Lines that are not in order of time are put in order. Errors (`bad_file`) name the first line that is wrong.
Result<RequestTrace> parse_trace(std::string_view text, std::string name);
/// The same from a file of at most 1 GiB.
Result<RequestTrace> read_trace_file(const fs::path& path);

/// Requests of the trace's sizes with generated words. Where it has hash ids, prompts have the same prefixes in common
/// as the recorded ones. `size` is that of the trace.
std::unique_ptr<RequestSet> requests_of_trace(RequestTrace trace, const RequestSeed& seed);

/// How long inputs and outputs are, to draw from.
Result<Lengths> input_lengths_of(const RequestTrace& trace);
Result<Lengths> output_lengths_of(const RequestTrace& trace);

}  // namespace assay
