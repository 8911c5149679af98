#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"

namespace assay {

/// Newest version of the workload protocol that this program speaks (docs/guides/workload-protocol.md).
inline constexpr int kProtocolVersion = 1;

enum class EventType { hello, step, steps, epoch, eval, sample, phase, warning, error, result, unknown };

/// Parses lines of the workload protocol: one JSON object per line that carries `"assay": 1`.
/// Made for hundreds of thousands of lines a second: one parser per stream, no allocation per line. One thread.
class ProtocolParser {
 public:
  ProtocolParser();

  enum class Outcome {
    event,         ///< `type()` and `body()` describe it until the next call
    not_protocol,  ///< ordinary text
    malformed,     ///< meant for us, but not valid; `problem()` says why
    newer,         ///< of a version this program does not know
  };

  /// `dedicated`: the stream carries nothing but protocol lines (the event pipe), so anything else is malformed and
  /// the `"assay"` mark may be left out.
  Outcome parse(std::string_view line, bool dedicated);

  EventType type() const { return type_; }
  const json::object& body() const { return *body_; }
  const std::string& problem() const { return problem_; }

 private:
  Outcome reject(std::string_view why);
  bool parse_json_line(std::string_view line);

  // In this order: the value lives in the resource, and the resource in the memory.
  alignas(std::max_align_t) std::array<unsigned char, 32768> memory_;
  std::optional<json::monotonic_resource> resource_;
  std::optional<json::value> value_;
  json::parser parser_;
  const json::object* body_ = nullptr;
  EventType type_ = EventType::unknown;
  std::string repaired_;
  std::string problem_;
};

/// A number as a metric: JSON numbers; null and the words that JSON libraries write in its place ("NaN", "Infinity")
/// are values that were not finite.
std::optional<double> metric_value(const json::value& value);

/// True for the fields that describe an event rather than measure something: assay, type, step, epoch, t, rank, ….
bool is_reserved_field(std::string_view name);

}  // namespace assay
