#include "launch/kubernetes/kube_object.h"

namespace assay {

const json::value* kube_value(const json::value& from, std::initializer_list<std::string_view> path) {
  const json::value* found = &from;
  for (const auto key : path) {
    const auto* const object = found->if_object();
    found = object ? object->if_contains(key) : nullptr;
    if (!found) return nullptr;
  }
  return found;
}

std::string kube_text(const json::value& from, std::initializer_list<std::string_view> path) {
  const auto* const found = kube_value(from, path);
  return found && found->is_string() ? std::string(found->get_string()) : std::string();
}

std::optional<std::int64_t> kube_integer(const json::value& from, std::initializer_list<std::string_view> path) {
  const auto* const found = kube_value(from, path);
  return found && found->is_int64() ? std::optional(found->get_int64()) : std::nullopt;
}

const json::array& kube_array(const json::value& from, std::initializer_list<std::string_view> path) {
  static const json::array kNone;
  const auto* const found = kube_value(from, path);
  return found && found->is_array() ? found->get_array() : kNone;
}

}  // namespace assay
