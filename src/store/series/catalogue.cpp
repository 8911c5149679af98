#include "store/series/catalogue.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"

namespace assay {
namespace {

std::uint64_t hash_of(const SeriesKey& key) {
  std::string text = key.name;
  for (const auto& [label, value] : key.labels) {
    // Separators that keep {a: bc} and {ab: c} apart.
    text += '\0';
    text += label;
    text += '\0';
    text += value;
  }
  return stable_hash(text);
}

}  // namespace

SeriesCatalogue::Symbol SeriesCatalogue::symbol(std::string_view text) {
  if (const auto known = find_symbol(text)) return *known;
  const auto id = static_cast<Symbol>(symbols_.size());
  symbols_.emplace_back(text);
  symbol_ids_.emplace(symbols_.back(), id);
  return id;
}

std::optional<SeriesCatalogue::Symbol> SeriesCatalogue::find_symbol(std::string_view text) const {
  const auto found = symbol_ids_.find(text);
  return found == symbol_ids_.end() ? std::nullopt : std::optional(found->second);
}

bool SeriesCatalogue::has_key(const Entry& entry, const SeriesKey& key) const {
  if (symbols_[entry.name] != key.name || entry.labels != key.labels.size()) return false;
  auto at = entry.labels_at;
  for (const auto& [label, value] : key.labels) {
    if (symbols_[label_symbols_[at]] != label || symbols_[label_symbols_[at + 1]] != value) return false;
    at += 2;
  }
  return true;
}

std::optional<SeriesId> SeriesCatalogue::find(const SeriesKey& key) const {
  const auto [begin, end] = by_key_.equal_range(hash_of(key));
  for (auto candidate = begin; candidate != end; ++candidate) {
    if (has_key(entries_[candidate->second], key)) return candidate->second;
  }
  return std::nullopt;
}

void SeriesCatalogue::add(SeriesId id, const SeriesKey& key, std::string_view unit) {
  if (id >= entries_.size()) entries_.resize(std::size_t{id} + 1);
  Entry& entry = entries_[id];
  ASSAY_ASSERT(!entry.alive);
  entry = {.labels_at = static_cast<std::uint32_t>(label_symbols_.size()),
           .name = symbol(key.name),
           .unit = symbol(unit),
           .labels = static_cast<std::uint16_t>(key.labels.size()),
           .alive = true};
  for (const auto& [label, value] : key.labels) {
    label_symbols_.push_back(symbol(label));
    label_symbols_.push_back(symbol(value));
  }
  by_key_.emplace(hash_of(key), id);
  by_name_[entry.name].push_back(id);
  ++alive_;
}

void SeriesCatalogue::remove(SeriesId id) {
  ASSAY_ASSERT(contains(id));
  const auto [begin, end] = by_key_.equal_range(hash_of(info(id).key));
  for (auto candidate = begin; candidate != end; ++candidate) {
    if (candidate->second == id) {
      by_key_.erase(candidate);
      break;
    }
  }
  std::erase(by_name_[entries_[id].name], id);
  entries_[id].alive = false;
  --alive_;
}

SeriesInfo SeriesCatalogue::info(SeriesId id) const {
  ASSAY_ASSERT(contains(id));
  const Entry& entry = entries_[id];
  SeriesInfo info{.id = id, .key = {.name = symbols_[entry.name]}, .unit = symbols_[entry.unit]};
  for (std::size_t i = 0; i < entry.labels; ++i) {
    const auto at = entry.labels_at + 2 * i;
    info.key.labels.emplace(symbols_[label_symbols_[at]], symbols_[label_symbols_[at + 1]]);
  }
  return info;
}

bool SeriesCatalogue::fulfils(const Entry& entry, const Condition& condition) const {
  std::optional<std::string_view> value;
  for (std::size_t i = 0; condition.label && i < entry.labels; ++i) {
    const auto at = entry.labels_at + 2 * i;
    if (label_symbols_[at] != *condition.label) continue;
    value = symbols_[label_symbols_[at + 1]];
    break;
  }
  return condition.match->fits(value);
}

std::vector<SeriesId> SeriesCatalogue::select(const SeriesSelector& selector) const {
  std::vector<Condition> conditions;
  conditions.reserve(selector.labels.size());
  for (const auto& match : selector.labels) conditions.push_back({&match, find_symbol(match.label)});
  std::vector<SeriesId> selected;
  const auto consider = [&](SeriesId id) {
    const bool all = std::all_of(conditions.begin(), conditions.end(),
                                 [&](const Condition& condition) { return fulfils(entries_[id], condition); });
    if (all) selected.push_back(id);
  };
  if (selector.name.empty()) {
    for (SeriesId id = 0; id < end(); ++id) {
      if (entries_[id].alive) consider(id);
    }
    return selected;
  }
  const auto name = find_symbol(selector.name);
  const auto named = name ? by_name_.find(*name) : by_name_.end();
  if (named == by_name_.end()) return selected;
  for (const SeriesId id : named->second) consider(id);
  std::sort(selected.begin(), selected.end());
  return selected;
}

}  // namespace assay
