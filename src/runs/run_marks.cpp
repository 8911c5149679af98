#include "runs/run_marks.h"

namespace assay {

json::object changes_since(const json::object& before, const json::object& now) {
  json::object changes;
  for (const auto& member : now) {
    const auto* earlier = before.if_contains(member.key());
    if (!earlier || !earlier->is_object() || !member.value().is_object()) {
      if (!earlier || *earlier != member.value()) changes.emplace(member.key(), member.value());
      continue;
    }
    json::object inner;
    for (const auto& part : member.value().get_object()) {
      const auto* told = earlier->get_object().if_contains(part.key());
      if (!told || *told != part.value()) inner.emplace(part.key(), part.value());
    }
    if (!inner.empty()) changes.emplace(member.key(), std::move(inner));
  }
  return changes;
}

void apply_changes(json::object& state, const json::object& changes) {
  for (const auto& member : changes) {
    auto* earlier = state.if_contains(member.key());
    if (!earlier || !earlier->is_object() || !member.value().is_object()) {
      state.insert_or_assign(member.key(), member.value());
      continue;
    }
    for (const auto& part : member.value().get_object()) {
      earlier->get_object().insert_or_assign(part.key(), part.value());
    }
  }
}

void MarkCollector::on_mark(std::string_view mark) {
  const auto changes = parse_json(mark);
  if (changes && changes->is_object()) {
    apply_changes(state_, changes->get_object());
  } else {
    on_damage("a mark in the journal cannot be read");
  }
}

void MarkCollector::on_damage(std::string_view what) {
  if (!damage_) damage_ = what;
}

}  // namespace assay
