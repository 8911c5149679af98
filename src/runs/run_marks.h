#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "store/journal/journal.h"

namespace assay {

// What whoever goes on with a run must know is one JSON object. Each mark in the run's journal says what has changed of
// it since the mark before: members of its members are told one by one, anything else as a whole, and nothing ever
// disappears from it.

/// What a mark has to say after `before`.
json::object changes_since(const json::object& before, const json::object& now);
void apply_changes(json::object& state, const json::object& changes);

/// Puts together what the marks of a journal say.
class MarkCollector final : public JournalVisitor {
 public:
  void on_mark(std::string_view mark) override;
  void on_damage(std::string_view what) override;

  const json::object& state() const { return state_; }
  /// The first thing that could not be read: what was recorded there, and what its marks have said, is lost.
  const std::optional<std::string>& damage() const { return damage_; }

 private:
  json::object state_;
  std::optional<std::string> damage_;
};

}  // namespace assay
