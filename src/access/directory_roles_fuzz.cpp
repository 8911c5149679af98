// libFuzzer entry: whatever the bytes, a DN is none or has a normal form that stays as it is; a rule of groups and
// roles is one or an error; and a directory cannot name a group so that it fits a rule with another name.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "access/directory_roles.h"
#include "base/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto normal = assay::normal_dn(text);
  if (normal && assay::normal_dn(*normal) != normal) std::abort();
  if (normal.has_value() != assay::first_name_of_dn(text).has_value()) std::abort();
  const std::vector<assay::GroupRole> rules = {{"admins", assay::Role::admin}};
  if (assay::role_of_groups(std::vector<std::string>{text}, rules)) {
    const std::string name = assay::first_name_of_dn(text).value_or(text);
    if (assay::lower_case(name) != "admins") std::abort();
  }
  if (const auto rule = assay::parse_group_role(text); rule.ok() && rule->role == assay::Role::agent) std::abort();
  return 0;
}
