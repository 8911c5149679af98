#include "requests/trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/ascii.h"
#include "base/json.h"
#include "base/text.h"
#include "requests/input_lines.h"
#include "requests/words.h"

namespace assay {
namespace {

constexpr std::size_t kMostTraceBytes = std::size_t{1} << 30;
constexpr std::uint32_t kMostTraceTokens = 10'000'000;
constexpr std::string_view kTraceHint =
    R"(A trace is CSV with the columns TIMESTAMP,ContextTokens,GeneratedTokens, or lines of {"timestamp": ms, )"
    R"("input_length": n, "output_length": n}.)";

/// A number of exactly `digits` digits at the start of `text`, which it takes off; -1 if there is none.
int take_digits(std::string_view& text, std::size_t digits) {
  int number = 0;
  if (text.size() < digits) return -1;
  for (std::size_t i = 0; i < digits; ++i) {
    if (!is_digit(text[i])) return -1;
    number = number * 10 + (text[i] - '0');
  }
  text.remove_prefix(digits);
  return number;
}

bool take_mark(std::string_view& text, std::string_view marks) {
  if (text.empty() || marks.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

/// The digits behind the full stop, as nanoseconds; more than nine are cut off.
Nanos take_fraction(std::string_view& text) {
  std::int64_t nanos = 0;
  std::int64_t unit = 100'000'000;
  while (!text.empty() && is_digit(text.front())) {
    nanos += (text.front() - '0') * unit;
    unit /= 10;
    text.remove_prefix(1);
  }
  return Nanos(nanos);
}

/// `2023-11-16 18:15:46.6805900`, with `T` for the blank, with or without a fraction, `Z` or `+00:00`.
std::optional<WallTime> parse_trace_time(std::string_view text) {
  text = trim(text);
  constexpr std::array<std::string_view, 6> kMarks = {"-", "-", " T", ":", ":", ""};
  std::array<int, 6> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i] = take_digits(text, i == 0 ? 4 : 2);
    if (parts[i] < 0 || (i + 1 < parts.size() && !take_mark(text, kMarks[i]))) return std::nullopt;
  }
  const std::chrono::year_month_day day{std::chrono::year(parts[0]),
                                        std::chrono::month(static_cast<unsigned>(parts[1])),
                                        std::chrono::day(static_cast<unsigned>(parts[2]))};
  // Nanoseconds since 1970 hold 292 years.
  if (!day.ok() || parts[0] < 1970 || parts[0] > 2200 || parts[3] > 23 || parts[4] > 59 || parts[5] > 60) {
    return std::nullopt;
  }
  WallTime time = std::chrono::sys_days(day) + std::chrono::hours(parts[3]) + std::chrono::minutes(parts[4]) +
                  std::chrono::seconds(parts[5]);
  if (take_mark(text, ".")) time += take_fraction(text);
  if (text.empty() || text == "Z") return time;
  const bool west = text.front() == '-';
  if (!take_mark(text, "+-")) return std::nullopt;
  const int hours = take_digits(text, 2);
  const bool colon = take_mark(text, ":");
  const int minutes = text.empty() && !colon ? 0 : take_digits(text, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || !text.empty()) return std::nullopt;
  const auto offset = std::chrono::hours(hours) + std::chrono::minutes(minutes);
  return west ? time + offset : time - offset;
}

std::optional<std::uint32_t> parse_tokens(std::string_view text) {
  text = trim(text);
  std::uint32_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size() || number > kMostTraceTokens) return std::nullopt;
  return number;
}

struct CsvColumns {
  std::size_t time = 0;
  std::size_t input = 0;
  std::size_t output = 0;
};

Result<CsvColumns> find_columns(std::string_view header, const InputLines& lines) {
  const auto cells = split(header, ',');
  const auto find = [&](std::string_view name) {
    return static_cast<std::size_t>(
        std::find_if(cells.begin(), cells.end(),
                     [&](std::string_view cell) { return lower_case(trim(cell)) == name; }) -
        cells.begin());
  };
  const CsvColumns columns{find("timestamp"), find("contexttokens"), find("generatedtokens")};
  if (std::max({columns.time, columns.input, columns.output}) >= cells.size()) {
    return lines.error("has not all of the columns TIMESTAMP, ContextTokens and GeneratedTokens",
                       std::string(kTraceHint));
  }
  return columns;
}

Result<void> read_csv(std::string_view header, InputLines& lines, RequestTrace& trace) {
  ASSAY_TRY(const CsvColumns columns, find_columns(header, lines));
  std::optional<WallTime> origin;
  while (const auto line = lines.next()) {
    const auto cells = split(*line, ',');
    if (cells.size() <= std::max({columns.time, columns.input, columns.output})) {
      return lines.error("has too few columns", std::string(kTraceHint));
    }
    const auto time = parse_trace_time(cells[columns.time]);
    if (!time) {
      return lines.error(fmt::format("'{}' is no time like 2023-11-16 18:15:46.68",
                                     printable(trim(cells[columns.time]).substr(0, 60))));
    }
    const auto input = parse_tokens(cells[columns.input]);
    const auto output = parse_tokens(cells[columns.output]);
    if (!input || !output) {
      return lines.error(fmt::format("a number of tokens is not a whole number up to {}", kMostTraceTokens));
    }
    if (!origin) origin = time;
    trace.entries.push_back({.at = *time - *origin, .input_tokens = *input, .output_tokens = *output});
  }
  return {};
}

/// What is wrong with the line, or "".
std::string read_mooncake_line(const json::object& line, RequestTrace& trace) {
  const auto number = [&](std::string_view key) -> std::optional<double> {
    const json::value* value = line.if_contains(key);
    return value && value->is_number() ? std::optional(value->to_number<double>()) : std::nullopt;
  };
  const auto time = number("timestamp");
  // 1e12 ms are thirty years: a trace may count from 1970, too.
  if (!time || !(*time >= 0 && *time < 1e13)) return "'timestamp' must be a number of milliseconds";
  TraceEntry entry{.at = Nanos(static_cast<std::int64_t>(*time * 1e6)),
                   .first_block = static_cast<std::uint32_t>(trace.blocks.size())};
  for (const auto& [key, into] :
       {std::pair{"input_length", &entry.input_tokens}, {"output_length", &entry.output_tokens}}) {
    const auto length = number(key);
    if (!length || !(*length >= 0 && *length <= kMostTraceTokens) || *length != std::floor(*length)) {
      return fmt::format("'{}' must be a whole number up to {}", key, kMostTraceTokens);
    }
    *into = static_cast<std::uint32_t>(*length);
  }
  if (const json::value* ids = line.if_contains("hash_ids")) {
    if (!ids->is_array()) return "'hash_ids' must be a list";
    for (const json::value& id : ids->get_array()) {
      if (!id.is_int64() || id.get_int64() < 0 || id.get_int64() > 0xffffffffLL) {
        return "'hash_ids' must be whole numbers from 0 to 4294967295";
      }
      trace.blocks.push_back(static_cast<std::uint32_t>(id.get_int64()));
      ++entry.blocks;
    }
  }
  trace.entries.push_back(entry);
  return {};
}

Result<void> read_json_lines(std::string_view first, InputLines& lines, RequestTrace& trace) {
  for (std::optional<std::string_view> line = first; line; line = lines.next()) {
    const auto value = parse_json(*line);
    if (!value) return lines.error("is not JSON: " + value.error().message, std::string(kTraceHint));
    if (!value->is_object()) return lines.error("is not a JSON object", std::string(kTraceHint));
    if (auto problem = read_mooncake_line(value->get_object(), trace); !problem.empty()) {
      return lines.error(problem, std::string(kTraceHint));
    }
  }
  return {};
}

/// In order of time, from 0 on.
void put_in_order(RequestTrace& trace) {
  std::stable_sort(trace.entries.begin(), trace.entries.end(),
                   [](const TraceEntry& a, const TraceEntry& b) { return a.at < b.at; });
  const Nanos first = trace.entries.front().at;
  for (TraceEntry& entry : trace.entries) entry.at -= first;
}

class TraceRequests final : public RequestSet {
 public:
  TraceRequests(RequestTrace trace, const RequestSeed& seed)
      : trace_(std::move(trace)),
        blocks_(seed.combined(), "words of trace blocks"),
        words_(seed.combined(), "words of trace prompts") {}

  std::uint64_t size() const override { return trace_.entries.size(); }

  void make(std::uint64_t index, PromptRequest& into) const override {
    into.clear();
    const TraceEntry& entry = trace_.entries[static_cast<std::size_t>(index % trace_.entries.size())];
    into.input_tokens = entry.input_tokens;
    into.output_tokens = std::max(entry.output_tokens, 1U);
    std::uint32_t left = std::max(entry.input_tokens, 1U);
    for (std::uint32_t i = 0; i < entry.blocks && left > 0; ++i) {
      Random words = blocks_;
      // 32 blocks of the generator are 512 words.
      words.skip_to(std::uint64_t{trace_.blocks[entry.first_block + i]} * (kTraceBlockTokens / 16));
      const std::uint32_t count = std::min(left, kTraceBlockTokens);
      append_words(count, words, into.prompt);
      left -= count;
    }
    Random words = words_;
    words.skip_to(index << 24);
    append_words(left, words, into.prompt);
  }

 private:
  RequestTrace trace_;
  Random blocks_;
  Random words_;
};

Result<Lengths> lengths_of(const RequestTrace& trace, std::uint32_t TraceEntry::* tokens) {
  std::vector<std::uint32_t> seen;
  seen.reserve(trace.entries.size());
  for (const TraceEntry& entry : trace.entries) seen.push_back(std::max(entry.*tokens, 1U));
  return Lengths::histogram(std::move(seen));
}

}  // namespace

Result<RequestTrace> parse_trace(std::string_view text, std::string name) {
  InputLines lines(text, std::move(name));
  RequestTrace trace;
  if (const auto first = lines.next()) {
    if (trim(*first).starts_with('{')) {
      ASSAY_CHECK(read_json_lines(*first, lines, trace));
    } else {
      ASSAY_CHECK(read_csv(*first, lines, trace));
    }
  }
  if (trace.entries.empty()) {
    return lines.error_of_all("there is no request in the trace", std::string(kTraceHint));
  }
  put_in_order(trace);
  return trace;
}

Result<RequestTrace> read_trace_file(const fs::path& path) {
  ASSAY_TRY(const auto text, read_file(path, kMostTraceBytes).within("reading the trace"));
  return parse_trace(text, path.string());
}

std::unique_ptr<RequestSet> requests_of_trace(RequestTrace trace, const RequestSeed& seed) {
  return std::make_unique<TraceRequests>(std::move(trace), seed);
}

Result<Lengths> input_lengths_of(const RequestTrace& trace) { return lengths_of(trace, &TraceEntry::input_tokens); }
Result<Lengths> output_lengths_of(const RequestTrace& trace) { return lengths_of(trace, &TraceEntry::output_tokens); }

}  // namespace assay
