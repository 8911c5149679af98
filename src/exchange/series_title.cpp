#include "exchange/run_series.h"

namespace assay {
namespace {

void append_protected(std::string& out, std::string_view text, std::string_view special) {
  for (const char character : text) {
    if (character == '\\' || special.find(character) != std::string_view::npos) out += '\\';
    out += character;
  }
}

/// Takes the text up to the first unprotected character of `ends`, without its backslashes.
std::string take_protected(std::string_view& text, std::string_view ends) {
  std::string taken;
  while (!text.empty() && ends.find(text.front()) == std::string_view::npos) {
    if (text.front() == '\\' && text.size() > 1) text.remove_prefix(1);
    taken += text.front();
    text.remove_prefix(1);
  }
  return taken;
}

bool take(std::string_view& text, std::string_view expected) {
  if (!text.starts_with(expected)) return false;
  text.remove_prefix(expected.size());
  return true;
}

}  // namespace

std::string series_title(const SeriesKey& key, std::string_view unit) {
  std::string title;
  append_protected(title, key.name, "{[");
  char separator = '{';
  for (const auto& [label, value] : key.labels) {
    title += separator;
    append_protected(title, label, "=\"");
    title += "=\"";
    append_protected(title, value, "\"");
    title += '"';
    separator = ',';
  }
  if (!key.labels.empty()) title += '}';
  if (!unit.empty()) {
    title += " [";
    append_protected(title, unit, "]");
    title += ']';
  }
  return title;
}

std::optional<std::pair<SeriesKey, std::string>> read_series_title(std::string_view title) {
  SeriesKey key;
  std::string unit;
  key.name = take_protected(title, "{[");
  if (take(title, "{")) {
    do {
      const std::string label = take_protected(title, "=");
      if (!take(title, "=\"")) return std::nullopt;
      const std::string value = take_protected(title, "\"");
      if (!take(title, "\"")) return std::nullopt;
      key.labels[label] = value;
    } while (take(title, ","));
    if (!take(title, "}")) return std::nullopt;
    if (!title.empty() && !title.starts_with(" [")) return std::nullopt;
    take(title, " ");
  } else if (title.starts_with('[')) {
    // The blank in front of the unit was taken for the name's.
    if (!key.name.ends_with(' ')) return std::nullopt;
    key.name.pop_back();
  }
  if (take(title, "[")) {
    unit = take_protected(title, "]");
    if (title != "]") return std::nullopt;
    title = {};
  }
  if (!title.empty()) return std::nullopt;
  return std::pair{std::move(key), std::move(unit)};
}

}  // namespace assay
