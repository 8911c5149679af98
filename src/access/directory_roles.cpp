#include "access/directory_roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/text.h"

namespace assay {
namespace {

constexpr std::string_view kEscapedInDn = "\\,+\"<>;=";
constexpr std::string_view kNeverBareInDn{"\"<>;\0", 5};

/// `cn` and `GPU admins`.
struct DnPart {
  std::string type;
  std::string value;
};
/// The parts of `cn=a+sn=b`: nearly always one.
using DnStep = std::vector<DnPart>;

std::optional<int> hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

/// Reads a DN from its beginning to its end; what it cannot read is none.
class DnReader {
 public:
  explicit DnReader(std::string_view text) : text_(text) {}

  std::optional<std::vector<DnStep>> read() {
    std::vector<DnStep> steps(1);
    while (true) {
      auto part = read_part();
      if (!part) return std::nullopt;
      steps.back().push_back(std::move(*part));
      if (at_ == text_.size()) return steps;
      // read_part() ends at one of the two, or at the end.
      if (text_[at_] == ',') steps.emplace_back();
      ++at_;
    }
  }

 private:
  std::optional<DnPart> read_part() {
    const auto equals = text_.find('=', at_);
    if (equals == std::string_view::npos) return std::nullopt;
    DnPart part{.type = lower_case(trim(text_.substr(at_, equals - at_))), .value = {}};
    const auto is_type = [](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '.'; };
    if (part.type.empty() || !std::all_of(part.type.begin(), part.type.end(), is_type)) return std::nullopt;
    at_ = equals + 1;
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    // Behind a bare '#' stand bytes of another encoding, which no group is named by.
    if (at_ < text_.size() && text_[at_] == '#') return std::nullopt;
    if (!read_dn_value(part.value)) return std::nullopt;
    return part;
  }

  bool read_dn_value(std::string& value) {
    std::size_t kept = 0;  // blanks behind it do not count, unless escaped
    for (; at_ < text_.size() && text_[at_] != ',' && text_[at_] != '+'; ++at_) {
      const char c = text_[at_];
      if (c == '\\') {
        if (!read_escape(value)) return false;
        kept = value.size();
        continue;
      }
      if (kNeverBareInDn.find(c) != std::string_view::npos) return false;
      value += c;
      if (c != ' ') kept = value.size();
    }
    value.resize(kept);
    return !value.empty();
  }

  bool read_escape(std::string& value) {
    if (at_ + 1 >= text_.size()) return false;
    const char next = text_[++at_];
    if (const auto high = hex_value(next)) {
      const auto low = at_ + 1 < text_.size() ? hex_value(text_[at_ + 1]) : std::nullopt;
      if (!low) return false;
      ++at_;
      value += static_cast<char>(*high * 16 + *low);
      return true;
    }
    if (next != ' ' && next != '#' && kEscapedInDn.find(next) == std::string_view::npos) return false;
    value += next;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// A value as it may stand in a DN (RFC 4514, 2.4).
std::string escaped_for_dn(std::string_view value) {
  std::string text;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char c = value[i];
    const bool at_edge = (c == ' ' && (i == 0 || i + 1 == value.size())) || (c == '#' && i == 0);
    if (c == '\0') {
      text += "\\00";
      continue;
    }
    if (at_edge || kEscapedInDn.find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  return text;
}

bool fits(const GroupRole& rule, std::string_view group) {
  const auto group_dn = normal_dn(group);
  if (const auto rule_dn = normal_dn(rule.group)) return group_dn == rule_dn;
  const auto name = first_name_of_dn(group);
  return lower_case(rule.group) == lower_case(name ? std::string_view(*name) : group);
}

Error bad_rule(std::string message) {
  return {.kind = ErrorKind::usage,
          .message = std::move(message),
          .hint = "Write GROUP=ROLE, such as 'gpu-admins=admin', with viewer, user or admin as the role."};
}

}  // namespace

std::optional<std::string> normal_dn(std::string_view dn) {
  auto steps = DnReader(dn).read();
  if (!steps) return std::nullopt;
  std::vector<std::string> texts;
  for (const DnStep& step : *steps) {
    std::vector<std::string> parts;
    for (const DnPart& part : step) parts.push_back(part.type + "=" + escaped_for_dn(lower_case(part.value)));
    std::sort(parts.begin(), parts.end());
    texts.push_back(join(parts, "+"));
  }
  return join(texts, ",");
}

std::optional<std::string> first_name_of_dn(std::string_view dn) {
  const auto steps = DnReader(dn).read();
  if (!steps) return std::nullopt;
  return steps->front().front().value;
}

Result<GroupRole> parse_group_role(std::string_view text) {
  // The last one: a DN has such signs, too, and the name of a role has none.
  const auto equals = text.rfind('=');
  if (equals == std::string_view::npos) return bad_rule(fmt::format("'{}' gives no role", printable(text)));
  const std::string_view group = trim(text.substr(0, equals));
  const std::string_view word = trim(text.substr(equals + 1));
  const auto role = role_from(word);
  if (!role || *role == Role::agent) {
    return bad_rule(fmt::format("'{}' is no role that a person can have", printable(word)));
  }
  if (group.empty()) return bad_rule(fmt::format("'{}' names no group", printable(text)));
  if (group.find('=') != std::string_view::npos && !normal_dn(group)) {
    return bad_rule(fmt::format("'{}' is neither the name of a group nor a DN", printable(group)));
  }
  return GroupRole{.group = std::string(group), .role = *role};
}

std::optional<Role> role_of_groups(std::span<const std::string> groups, std::span<const GroupRole> rules) {
  std::optional<Role> best;
  for (const GroupRole& rule : rules) {
    const bool given = rule.group == "*" ||
                       std::any_of(groups.begin(), groups.end(), [&](const auto& group) { return fits(rule, group); });
    // Roles stand in the order of what they may do.
    if (given && (!best || rule.role > *best)) best = rule.role;
  }
  return best;
}

}  // namespace assay
