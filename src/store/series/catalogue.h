#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "model/series.h"
#include "store/series_types.h"

namespace assay {

/// Which series there are. Names and labels are kept once each, for as long as a series has them: some hundred bytes a
/// series. Not thread-safe.
class SeriesCatalogue {
 public:
  explicit SeriesCatalogue(std::string owner_label = "") : owner_label_(std::move(owner_label)) {}

  std::optional<SeriesId> find(const SeriesKey& key) const;
  /// Neither the id nor the key is there yet; ids may leave gaps.
  void add(SeriesId id, const SeriesKey& key, std::string_view unit);
  void remove(SeriesId id);

  bool contains(SeriesId id) const { return id < entries_.size() && entries_[id].alive; }
  SeriesInfo info(SeriesId id) const;  ///< of one that is there
  std::string_view unit(SeriesId id) const { return text(entries_[id].unit); }
  /// All that fit, in order of id, where a name or an owner says among which few to look: no more than `most`.
  std::optional<std::vector<SeriesId>> select_indexed(const SeriesSelector& selector, std::size_t most) const;
  struct Page {
    std::vector<SeriesId> ids;
    std::optional<SeriesId> last;  ///< up to which was looked; nothing: up to the end
  };
  /// From `first` on, `limit` of them, looking at `most` at most.
  Page select_page(const SeriesSelector& selector, SeriesId first, std::size_t limit, std::size_t most) const;
  std::size_t size() const { return alive_; }
  SeriesHolding holding(std::string_view owner) const;
  /// Rows of a series have become larger or smaller by so much.
  void grow(SeriesId id, std::int64_t bytes);
  /// Of all that the owner of this one has.
  std::uint64_t owned_bytes(SeriesId id) const { return entries_[id].owner->holding.bytes; }
  /// One above every id that was ever added.
  SeriesId end() const { return static_cast<SeriesId>(entries_.size()); }

 private:
  using Symbol = std::uint32_t;
  struct Text {
    std::string text;
    std::uint32_t uses = 0;
  };
  struct Owner {
    SeriesHolding holding;
    std::vector<SeriesId> series;
  };
  struct Entry {
    std::unique_ptr<Symbol[]> label_symbols;  ///< name, value, name, value, …
    Owner* owner = nullptr;
    std::uint64_t bytes = 0;  ///< of its rows
    Symbol name = 0;
    Symbol unit = 0;
    std::uint16_t labels = 0;
    bool alive = false;
  };
  /// A condition with its texts looked up once.
  struct Condition {
    const LabelMatch* match = nullptr;
    std::optional<Symbol> label;
  };

  /// Counts one more use of it.
  Symbol use(std::string_view text);
  void release(Symbol symbol);
  std::string_view text(Symbol symbol) const { return symbols_[symbol].text; }
  std::optional<Symbol> find_symbol(std::string_view text) const;
  bool has_key(const Entry& entry, const SeriesKey& key) const;
  bool fulfils(const Entry& entry, const Condition& condition) const;
  std::vector<Condition> conditions_of(const SeriesSelector& selector) const;
  bool fulfils_all(const Entry& entry, const std::vector<Condition>& conditions) const;

  std::string owner_label_;
  std::deque<Text> symbols_;  ///< a deque: the views in the map stay valid
  std::vector<Symbol> free_symbols_;
  std::unordered_map<std::string_view, Symbol> symbol_ids_;
  std::vector<Entry> entries_;
  std::unordered_multimap<std::uint64_t, SeriesId> by_key_;
  /// Those among which all that fit are; null where there is no telling.
  const std::vector<SeriesId>* candidates(const SeriesSelector& selector) const;

  std::unordered_map<Symbol, std::vector<SeriesId>> by_name_;
  std::map<std::string, Owner, std::less<>> owners_;
  std::size_t alive_ = 0;
};

}  // namespace assay
