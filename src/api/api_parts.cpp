#include "api/api_parts.h"

namespace assay {
namespace {

const void* member_of(const void* value, const ApiMember& member) {
  return static_cast<const std::byte*>(value) + member.offset;
}

Result<void> read_member(const json::object& from, const ApiMember& member, void* value) {
  const auto* json = from.if_contains(member.name);
  if (!json && member.presence != ApiMember::Presence::always) return {};
  const std::string rule = json ? member.read(*json, static_cast<std::byte*>(value) + member.offset) : "is missing";
  if (rule.empty()) return {};
  return Error{.kind = ErrorKind::bad_file, .message = "'" + member.name + "' " + rule};
}

}  // namespace

void ApiParts::add(const char* name, ApiMember member) {
  member.name = name;
  parts_.emplace_back(std::move(member));
}

void ApiParts::add(ApiWhole whole) { parts_.emplace_back(std::move(whole)); }

json::object ApiParts::write(const void* value, const void* fresh) const {
  json::object object;
  for (const auto& part : parts_) {
    if (const auto* whole = std::get_if<ApiWhole>(&part)) {
      whole->write(value, object);
      continue;
    }
    const auto& member = std::get<ApiMember>(part);
    const bool may_be_left_out = member.presence == ApiMember::Presence::optional;
    if (may_be_left_out && member.is_as_new(member_of(value, member), member_of(fresh, member))) continue;
    object[member.name] = member.write(member_of(value, member));
  }
  return object;
}

Result<void> ApiParts::read(const json::object& from, void* value) const {
  for (const auto& part : parts_) {
    const auto* whole = std::get_if<ApiWhole>(&part);
    ASSAY_CHECK(whole ? whole->read(from, value) : read_member(from, std::get<ApiMember>(part), value));
  }
  return {};
}

}  // namespace assay
