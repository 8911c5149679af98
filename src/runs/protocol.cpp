#include "runs/protocol.h"

#include <fmt/format.h>

#include <cmath>

namespace assay {
namespace {

constexpr std::size_t kMaxDepth = 16;

struct TypeName {
  std::string_view name;
  EventType type;
};

constexpr std::array kTypes = {
    TypeName{"step", EventType::step},   TypeName{"steps", EventType::steps},
    TypeName{"hello", EventType::hello}, TypeName{"epoch", EventType::epoch},
    TypeName{"eval", EventType::eval},   TypeName{"sample", EventType::sample},
    TypeName{"phase", EventType::phase}, TypeName{"warning", EventType::warning},
    TypeName{"error", EventType::error}, TypeName{"result", EventType::result},
};

json::parse_options parse_options() {
  json::parse_options options;
  options.max_depth = kMaxDepth;
  return options;
}

/// Python writes bare NaN and Infinity, which are not JSON: null stands for them. Text inside quotes is left alone.
std::string without_bare_non_finite(std::string_view line) {
  std::string repaired;
  repaired.reserve(line.size());
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char character = line[i];
    if (quoted && character == '\\' && i + 1 < line.size()) {
      repaired += character;
      repaired += line[++i];
      continue;
    }
    if (character == '"') quoted = !quoted;
    if (!quoted) {
      const std::string_view rest = line.substr(i);
      const auto token = [&](std::string_view word) { return rest.starts_with(word); };
      const std::size_t length = token("NaN")         ? 3
                                 : token("-NaN")      ? 4
                                 : token("Infinity")  ? 8
                                 : token("-Infinity") ? 9
                                                      : 0;
      if (length) {
        repaired += "null";
        i += length - 1;
        continue;
      }
    }
    repaired += character;
  }
  return repaired;
}

std::optional<double> non_finite_word(std::string_view text) {
  static constexpr std::array<std::string_view, 8> kWords = {"NaN", "nan",  "Infinity", "-Infinity",
                                                             "inf", "-inf", "Inf",      "-Inf"};
  if (std::find(kWords.begin(), kWords.end(), text) == kWords.end()) return std::nullopt;
  return std::nan("");
}

}  // namespace

ProtocolParser::ProtocolParser() : parser_({}, parse_options()) {}

ProtocolParser::Outcome ProtocolParser::reject(std::string_view why) {
  problem_ = why;
  return Outcome::malformed;
}

bool ProtocolParser::parse_json_line(std::string_view line) {
  value_.reset();
  resource_.emplace(memory_.data(), memory_.size());
  parser_.reset(&*resource_);
  json::error_code code;
  parser_.write(line.data(), line.size(), code);
  if (code) {
    problem_ = code.message();
    return false;
  }
  value_.emplace(parser_.release());
  return true;
}

ProtocolParser::Outcome ProtocolParser::parse(std::string_view line, bool dedicated) {
  const std::size_t start = line.find_first_not_of(" \t");
  if (start == std::string_view::npos) return Outcome::not_protocol;
  line.remove_prefix(start);
  if (!dedicated && (line.front() != '{' || line.find("\"assay\"") == std::string_view::npos))
    return Outcome::not_protocol;

  if (!parse_json_line(line)) {
    repaired_ = without_bare_non_finite(line);
    if (repaired_.size() == line.size() || !parse_json_line(repaired_)) return reject(problem_);
  }
  body_ = value_->if_object();
  if (!body_) return reject("not a JSON object");

  const auto* version = body_->if_contains("assay");
  if (!version && !dedicated) return Outcome::not_protocol;
  if (version) {
    const auto* number = version->if_int64();
    if (!number || *number < 1)
      return dedicated ? reject("\"assay\" must be the protocol version, 1") : Outcome::not_protocol;
    if (*number > kProtocolVersion) return Outcome::newer;
  }
  const auto* type = body_->if_contains("type");
  const auto* name = type ? type->if_string() : nullptr;
  if (!name) return reject("an event needs a \"type\"");
  type_ = EventType::unknown;
  for (const auto& known : kTypes) {
    if (known.name == std::string_view(*name)) type_ = known.type;
  }
  return Outcome::event;
}

std::optional<double> metric_value(const json::value& value) {
  switch (value.kind()) {
    case json::kind::double_: return value.get_double();
    case json::kind::int64: return static_cast<double>(value.get_int64());
    case json::kind::uint64: return static_cast<double>(value.get_uint64());
    case json::kind::null: return std::nan("");
    case json::kind::string: return non_finite_word(value.get_string());
    default: return std::nullopt;
  }
}

bool is_reserved_field(std::string_view name) {
  static constexpr std::array<std::string_view, 8> kReserved = {"assay", "type", "step",  "epoch",
                                                                "t",     "rank", "first", "count"};
  return std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end();
}

}  // namespace assay
