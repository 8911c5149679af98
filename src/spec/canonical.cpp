#include "spec/canonical.h"

#include "base/assert.h"
#include "spec/spec.h"
#include "spec/spec_setting.h"

namespace assay {
namespace {

json::object& object_at(json::object& settings, std::string_view key) {
  json::value& value = settings[key];
  if (!value.is_object()) value.emplace_object();
  return value.get_object();
}

void drop_rest_of_family(json::object& settings, SpecKind kind, const SpecSetting& member) {
  if (member.rule.family.empty()) return;
  for (const SpecSetting& other : settings_table()) {
    if (other.kinds.has(kind) && other.rule.family == member.rule.family && other.key != member.key) {
      settings.erase(other.key);
    }
  }
}

}  // namespace

void put_setting(json::object& settings, SpecKind kind, std::string_view key, const json::value& value) {
  const auto [setting, name] = resolve_key(kind, key);
  ASSAY_ASSERT(setting);
  drop_rest_of_family(settings, kind, *setting);
  const auto dot = setting->key.find('.');
  if (!name.empty() && dot != std::string_view::npos) {
    object_at(object_at(settings, setting->key.substr(0, dot)), setting->key.substr(dot + 1))[name] = value;
  } else if (!name.empty()) {
    object_at(settings, setting->key)[name] = value;
  } else if (dot != std::string_view::npos) {
    object_at(settings, setting->key.substr(0, dot))[setting->key.substr(dot + 1)] = value;
  } else {
    settings[setting->key] = value;
  }
}

const json::value* find_setting(const json::object& settings, std::string_view key) {
  if (const json::value* whole = settings.if_contains(key)) return whole;
  const auto dot = key.find('.');
  if (dot == std::string_view::npos) return nullptr;
  const json::value* part = settings.if_contains(key.substr(0, dot));
  return part && part->is_object() ? find_setting(part->get_object(), key.substr(dot + 1)) : nullptr;
}

}  // namespace assay
