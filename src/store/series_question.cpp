#include "store/series_question.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <set>
#include <vector>

#include "base/age.h"
#include "base/text.h"
#include "base/units.h"

namespace assay {
namespace {

constexpr std::size_t kMaxQuestion = 4096;
constexpr std::size_t kMaxPoints = 100'000;

Error misuse(std::string message, std::string hint = "For example: gpu.util node=gpu03 last=1h") {
  return {.kind = ErrorKind::usage, .message = std::move(message), .hint = std::move(hint)};
}

/// Words are separated by blanks; a part in double quotes keeps them and loses the quotes.
Result<std::vector<std::string>> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool quoted = false;
  bool inside = false;
  for (const char c : text) {
    if (c == '"') {
      quoted = !quoted;
      inside = true;
    } else if (!quoted && (c == ' ' || c == '\t' || c == '\n')) {
      if (inside) words.push_back(std::exchange(word, {}));
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (quoted) return misuse("a double quote is opened and not closed");
  if (inside) words.push_back(std::move(word));
  return words;
}

struct Times {
  std::optional<Nanos> last;
  std::optional<WallTime> from;
  std::optional<WallTime> to;
};

Result<Nanos> duration_of(std::string_view key, std::string_view value) {
  auto duration = parse_age(value);
  if (!duration) return misuse(fmt::format("'{}={}' {}", key, value, duration.error().message));
  if (*duration <= Nanos::zero()) return misuse(fmt::format("'{}={}' must be above 0", key, value));
  return duration;
}

Result<WallTime> time_of(std::string_view key, std::string_view value) {
  auto time = parse_iso8601(value);
  if (!time) return misuse(fmt::format("'{}={}' is no time", key, value), "Write it as 2026-11-15T08:00:00Z.");
  return time;
}

/// True if the word was one of time or width.
Result<bool> take_setting(std::string_view key, std::string_view value, Times& times, SeriesQuery& query) {
  if (key == "last") {
    ASSAY_TRY(times.last, duration_of(key, value));
  } else if (key == "from") {
    ASSAY_TRY(times.from, time_of(key, value));
  } else if (key == "to") {
    ASSAY_TRY(times.to, time_of(key, value));
  } else if (key == "width") {
    ASSAY_TRY(const auto width, duration_of(key, value));
    query.width_ns = width.count();
    query.max_points = 0;
  } else if (key == "points") {
    const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), query.max_points);
    if (code != std::errc() || end != value.data() + value.size() || query.max_points < 1 ||
        query.max_points > kMaxPoints) {
      return misuse(fmt::format("'points={}' must be a number from 1 to {}", value, kMaxPoints));
    }
  } else {
    return false;
  }
  return true;
}

Result<LabelMatch> match_of(std::string_view word, std::size_t equals) {
  const bool differs = equals > 0 && word[equals - 1] == '!';
  LabelMatch match{.label = std::string(word.substr(0, differs ? equals - 1 : equals)),
                   .test = differs ? LabelMatch::Test::differs : LabelMatch::Test::equals,
                   .value = std::string(word.substr(equals + 1))};
  if (match.label.empty()) return misuse(fmt::format("'{}' has no label before '='", word));
  if (!match.value.ends_with('*')) return match;
  if (differs) return misuse(fmt::format("'{}': '*' goes with '=' only", word));
  match.value.pop_back();
  match.test = match.value.empty() ? LabelMatch::Test::present : LabelMatch::Test::starts_with;
  return match;
}

Result<TimeRange> range_of(const Times& times, WallTime now) {
  if (times.last && (times.from || times.to)) return misuse("'last' does not go with 'from' and 'to'");
  if (times.to && !times.from) return misuse("'to' needs 'from'");
  const WallTime to = times.to.value_or(now);
  const Nanos last = times.last.value_or(std::chrono::hours(1));
  // The clock of 1970 is the earliest that there is.
  const Nanos since_epoch = to.time_since_epoch();
  const WallTime from =
      times.from ? *times.from : WallTime(std::max(Nanos::zero(), since_epoch - std::min(last, since_epoch)));
  if (from >= to) return misuse("the time begins after it ends");
  return TimeRange{.from_ns = from.time_since_epoch().count(), .to_ns = to.time_since_epoch().count()};
}

}  // namespace

Result<SeriesQuery> parse_series_question(std::string_view text, WallTime now) {
  if (text.size() > kMaxQuestion) return misuse(fmt::format("the question is longer than {} bytes", kMaxQuestion));
  ASSAY_TRY(const auto words, words_of(text));
  SeriesQuery query;
  Times times;
  std::set<std::string, std::less<>> said;
  for (const auto& word : words) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) {
      if (!query.selector.name.empty()) {
        return misuse(fmt::format("'{}' is a second metric after '{}'", printable(word), query.selector.name),
                      "Ask for one metric at a time; labels are written as node=gpu03.");
      }
      query.selector.name = word;
      continue;
    }
    // 'device!=sda device!=sdb' makes sense; anything else that is said twice is a slip of the pen.
    const std::string key = word.substr(0, equals);
    if (!key.ends_with('!') && !said.insert(key).second) {
      return misuse(fmt::format("'{}' is given twice", printable(key)));
    }
    ASSAY_TRY(const bool taken, take_setting(std::string_view(word).substr(0, equals),
                                             std::string_view(word).substr(equals + 1), times, query));
    if (taken) continue;
    ASSAY_TRY(auto match, match_of(word, equals));
    query.selector.labels.push_back(std::move(match));
  }
  if (said.contains("width") && said.contains("points")) return misuse("'width' does not go with 'points'");
  ASSAY_TRY(query.range, range_of(times, now));
  return query;
}

}  // namespace assay
