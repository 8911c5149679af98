#include "launch/kubernetes/kube_object.h"

namespace assay {
namespace {

std::string text_or_nothing(const json::value* found) {
  return found && found->is_string() ? std::string(found->get_string()) : std::string();
}

std::optional<std::int64_t> integer_or_nothing(const json::value* found) {
  return found && found->is_int64() ? std::optional(found->get_int64()) : std::nullopt;
}

const json::array& array_or_nothing(const json::value* found) {
  static const json::array kNone;
  return found && found->is_array() ? found->get_array() : kNone;
}

}  // namespace

const json::value* kube_value(const json::object& from, KubePath path) {
  const json::object* object = &from;
  const json::value* found = nullptr;
  for (const auto key : path) {
    found = object ? object->if_contains(key) : nullptr;
    if (!found) return nullptr;
    object = found->if_object();
  }
  return found;
}
const json::value* kube_value(const json::value& from, KubePath path) {
  const auto* const object = from.if_object();
  return object ? kube_value(*object, path) : nullptr;
}

std::string kube_text(const json::object& from, KubePath path) { return text_or_nothing(kube_value(from, path)); }
std::string kube_text(const json::value& from, KubePath path) { return text_or_nothing(kube_value(from, path)); }

std::optional<std::int64_t> kube_integer(const json::object& from, KubePath path) {
  return integer_or_nothing(kube_value(from, path));
}
std::optional<std::int64_t> kube_integer(const json::value& from, KubePath path) {
  return integer_or_nothing(kube_value(from, path));
}

const json::array& kube_array(const json::object& from, KubePath path) {
  return array_or_nothing(kube_value(from, path));
}
const json::array& kube_array(const json::value& from, KubePath path) {
  return array_or_nothing(kube_value(from, path));
}

}  // namespace assay
