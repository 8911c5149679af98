#include "store/series/catalogue.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "store/series_rules.h"

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

SeriesCatalogue::Symbol SeriesCatalogue::use(std::string_view text) {
  if (const auto known = find_symbol(text)) {
    ++symbols_[*known].uses;
    return *known;
  }
  Symbol id = static_cast<Symbol>(symbols_.size());
  if (free_symbols_.empty()) {
    symbols_.emplace_back();
  } else {
    id = free_symbols_.back();
    free_symbols_.pop_back();
  }
  symbols_[id] = {std::string(text), 1};
  symbol_ids_.emplace(symbols_[id].text, id);
  return id;
}

void SeriesCatalogue::release(Symbol symbol) {
  Text& text = symbols_[symbol];
  if (--text.uses > 0) return;
  symbol_ids_.erase(text.text);
  text = {};
  free_symbols_.push_back(symbol);
}

std::optional<SeriesCatalogue::Symbol> SeriesCatalogue::find_symbol(std::string_view text) const {
  const auto found = symbol_ids_.find(text);
  return found == symbol_ids_.end() ? std::nullopt : std::optional(found->second);
}

bool SeriesCatalogue::has_key(const Entry& entry, const SeriesKey& key) const {
  if (text(entry.name) != key.name || entry.labels != key.labels.size()) return false;
  const Symbol* at = entry.label_symbols.get();
  for (const auto& [label, value] : key.labels) {
    if (text(at[0]) != label || text(at[1]) != value) return false;
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
  entry = {.label_symbols = std::make_unique<Symbol[]>(2 * key.labels.size()),
           .name = use(key.name),
           .unit = use(unit),
           .labels = static_cast<std::uint16_t>(key.labels.size()),
           .alive = true};
  Symbol* next = entry.label_symbols.get();
  for (const auto& [label, value] : key.labels) {
    *next++ = use(label);
    *next++ = use(value);
  }
  const auto owner = owner_of(key, owner_label_);
  auto owned = owners_.find(owner);
  if (owned == owners_.end()) owned = owners_.emplace(owner, Owner{}).first;
  ++owned->second.holding.series;
  owned->second.holding.key_bytes += key_bytes(key, unit);
  owned->second.series.push_back(id);
  entry.owner = &owned->second;
  by_key_.emplace(hash_of(key), id);
  by_name_[entry.name].push_back(id);
  ++alive_;
}

void SeriesCatalogue::remove(SeriesId id) {
  ASSAY_ASSERT(contains(id));
  const auto gone = info(id);
  const auto [begin, end] = by_key_.equal_range(hash_of(gone.key));
  for (auto candidate = begin; candidate != end; ++candidate) {
    if (candidate->second == id) {
      by_key_.erase(candidate);
      break;
    }
  }
  const auto owned = owners_.find(owner_of(gone.key, owner_label_));
  owned->second.holding.key_bytes -= key_bytes(gone.key, gone.unit);
  owned->second.holding.bytes -= entries_[id].bytes;
  std::erase(owned->second.series, id);
  if (--owned->second.holding.series == 0) owners_.erase(owned);
  Entry& entry = entries_[id];
  const auto named = by_name_.find(entry.name);
  std::erase(named->second, id);
  if (named->second.empty()) by_name_.erase(named);
  for (std::size_t i = 0; i < std::size_t{2} * entry.labels; ++i) release(entry.label_symbols[i]);
  release(entry.unit);
  release(entry.name);
  entry = {};
  --alive_;
}

SeriesHolding SeriesCatalogue::holding(std::string_view owner) const {
  const auto found = owners_.find(owner);
  return found == owners_.end() ? SeriesHolding{} : found->second.holding;
}

void SeriesCatalogue::grow(SeriesId id, std::int64_t bytes) {
  Entry& entry = entries_[id];
  const auto after =
      static_cast<std::uint64_t>(std::max<std::int64_t>(static_cast<std::int64_t>(entry.bytes) + bytes, 0));
  entry.owner->holding.bytes += after - entry.bytes;
  entry.bytes = after;
}

SeriesInfo SeriesCatalogue::info(SeriesId id) const {
  ASSAY_ASSERT(contains(id));
  const Entry& entry = entries_[id];
  SeriesInfo info{.id = id, .key = {.name = std::string(text(entry.name))}, .unit = std::string(text(entry.unit))};
  const Symbol* at = entry.label_symbols.get();
  for (std::size_t i = 0; i < entry.labels; ++i, at += 2) info.key.labels.emplace(text(at[0]), text(at[1]));
  return info;
}

bool SeriesCatalogue::fulfils(const Entry& entry, const Condition& condition) const {
  std::optional<std::string_view> value;
  for (std::size_t i = 0; condition.label && i < entry.labels; ++i) {
    if (entry.label_symbols[2 * i] != *condition.label) continue;
    value = text(entry.label_symbols[2 * i + 1]);
    break;
  }
  return condition.match->fits(value);
}

std::vector<SeriesCatalogue::Condition> SeriesCatalogue::conditions_of(const SeriesSelector& selector) const {
  std::vector<Condition> conditions;
  conditions.reserve(selector.labels.size());
  for (const auto& match : selector.labels) conditions.push_back({&match, find_symbol(match.label)});
  return conditions;
}

bool SeriesCatalogue::fulfils_all(const Entry& entry, const std::vector<Condition>& conditions) const {
  return std::all_of(conditions.begin(), conditions.end(),
                     [&](const Condition& condition) { return fulfils(entry, condition); });
}

SeriesCatalogue::Page SeriesCatalogue::select_page(const SeriesSelector& selector, SeriesId first, std::size_t limit,
                                                   std::size_t most) const {
  const auto conditions = conditions_of(selector);
  const auto name = find_symbol(selector.name);
  Page page;
  if (!selector.name.empty() && (!name || !by_name_.contains(*name))) return page;
  std::size_t examined = 0;
  for (SeriesId id = first; id < end(); ++id) {
    if (page.ids.size() == limit || examined++ == most) {
      page.last = id - 1;
      return page;
    }
    const Entry& entry = entries_[id];
    const bool is_named = selector.name.empty() || entry.name == *name;
    if (entry.alive && is_named && fulfils_all(entry, conditions)) page.ids.push_back(id);
  }
  return page;
}

const std::vector<SeriesId>* SeriesCatalogue::candidates(const SeriesSelector& selector) const {
  static const std::vector<SeriesId> none;
  const std::vector<SeriesId>* fewest = nullptr;
  const auto narrow = [&](const std::vector<SeriesId>& some) {
    if (!fewest || some.size() < fewest->size()) fewest = &some;
  };
  if (!selector.name.empty()) {
    const auto name = find_symbol(selector.name);
    const auto named = name ? by_name_.find(*name) : by_name_.end();
    narrow(named == by_name_.end() ? none : named->second);
  }
  for (const auto& match : selector.labels) {
    if (match.label != owner_label_ || match.test != LabelMatch::Test::equals) continue;
    const auto owned = owners_.find(match.value);
    narrow(owned == owners_.end() ? none : owned->second.series);
  }
  return fewest;
}

std::optional<std::vector<SeriesId>> SeriesCatalogue::select_indexed(const SeriesSelector& selector,
                                                                     std::size_t most) const {
  const auto* const among = candidates(selector);
  if (!among || among->size() > most) return std::nullopt;
  const auto conditions = conditions_of(selector);
  const auto name = find_symbol(selector.name);
  std::vector<SeriesId> selected;
  for (const SeriesId id : *among) {
    const bool is_named = selector.name.empty() || entries_[id].name == *name;
    if (is_named && fulfils_all(entries_[id], conditions)) selected.push_back(id);
  }
  std::sort(selected.begin(), selected.end());
  return selected;
}

}  // namespace assay
