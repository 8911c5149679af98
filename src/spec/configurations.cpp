#include "spec/configurations.h"

#include <algorithm>

#include "spec/canonical.h"
#include "spec/spec_setting.h"

namespace assay {
namespace {

const json::array& array_at(const json::object& given, std::string_view key) {
  static const json::array none;
  const json::value* value = given.if_contains(key);
  return value && value->is_array() ? value->get_array() : none;
}

std::size_t product(std::size_t a, std::size_t b) { return std::min(a * std::max<std::size_t>(b, 1), kMostRuns + 1); }

/// Applies `{"name": …, "set": {key: value}}`, a variant or a point of a sweep.
void apply(Configuration& configuration, SpecKind kind, const json::value& choice) {
  for (const auto& change : choice.at("set").as_object()) {
    put_setting(configuration.given, kind, change.key(), change.value());
  }
  if (!configuration.name.empty()) configuration.name += ", ";
  configuration.name += choice.at("name").as_string();
}

std::size_t largest_bytes(const json::array& choices) {
  std::size_t largest = 0;
  for (const json::value& choice : choices) largest = std::max(largest, json::serialize(choice).size());
  return largest;
}

json::object without_choices(const json::object& given) {
  json::object base = given;
  base.erase("matrix");
  base.erase("sweep");
  return base;
}

/// Moves to the next combination; false after the last.
bool advance(std::vector<std::size_t>& point, const json::array& axes) {
  for (std::size_t axis = axes.size(); axis-- > 0;) {
    if (++point[axis] < axes[axis].at("points").as_array().size()) return true;
    point[axis] = 0;
  }
  return false;
}

}  // namespace

std::size_t count_configurations(const json::object& given) {
  std::size_t count = 1 + array_at(given, "matrix").size();
  for (const json::value& axis : array_at(given, "sweep")) count = product(count, axis.at("points").as_array().size());
  return count;
}

std::size_t count_runs(const json::object& given) {
  std::size_t count = product(count_configurations(given), array_at(given, "scale").size());
  const json::value* each_node = given.if_contains("each_node");
  if (each_node && each_node->is_bool() && each_node->get_bool())
    count = product(count, array_at(given, "nodes").size());
  const json::value* repeat = given.if_contains("repeat");
  return repeat && repeat->is_int64() ? product(count, static_cast<std::size_t>(repeat->get_int64())) : count;
}

std::size_t largest_run_bytes(const json::object& given) {
  std::size_t bytes = json::serialize(without_choices(given)).size() + largest_bytes(array_at(given, "matrix"));
  for (const json::value& axis : array_at(given, "sweep")) bytes += largest_bytes(axis.at("points").as_array());
  return bytes;
}

void for_each_configuration(SpecKind kind, const json::object& given,
                            const std::function<bool(const Configuration&)>& visit) {
  const json::object base = without_choices(given);
  const json::array& variants = array_at(given, "matrix");
  const json::array& axes = array_at(given, "sweep");
  for (std::size_t variant = 0; variant <= variants.size(); ++variant) {
    Configuration changed{.given = base, .variant = variant, .point = std::vector<std::size_t>(axes.size(), 0)};
    if (variant > 0) apply(changed, kind, variants[variant - 1]);
    if (variant == 0 && !variants.empty()) changed.name = "baseline";
    std::vector<std::size_t> point(axes.size(), 0);
    do {
      Configuration configuration = changed;
      configuration.point = point;
      for (std::size_t axis = 0; axis < axes.size(); ++axis) {
        apply(configuration, kind, axes[axis].at("points").as_array()[point[axis]]);
      }
      if (!visit(configuration)) return;
    } while (advance(point, axes));
  }
}

}  // namespace assay
