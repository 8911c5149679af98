#include "spec/spec_value.h"

#include <fmt/format.h>

#include <set>

#include "base/text.h"
#include "config/numbers.h"

namespace assay {
namespace {

std::optional<std::string> broken_name_rule(const YamlNode& node) {
  if (node.text.find('\n') != std::string::npos) return "must be one line";
  if (node.text.starts_with('@') || node.text.starts_with("tag:")) {
    return "must not start with '@' or 'tag:', which name other runs on the command line";
  }
  return std::nullopt;
}

std::optional<std::string> broken_tag_rule(const YamlNode& node) {
  if (node.text.find_first_of(" \t\n,") == std::string::npos && !node.text.starts_with('=')) return std::nullopt;
  return "must be a bare word or key=value, without spaces and commas";
}

std::optional<std::string> broken_node_rule(const YamlNode& node) {
  if (!node.quoted && parse_number(node.text)) {
    return "is a number, but nodes are given by name. For several nodes of any name write 'scale: [{ranks: 8, "
           "nodes: 2}]'";
  }
  if (node.text.find_first_of(" \t\n,/") == std::string::npos) return std::nullopt;
  return "must be names of nodes, without spaces, commas and slashes";
}

/// Reads the values that only specifications have.
class OwnValueReader {
 public:
  OwnValueReader(const SpecSetting& setting, std::string_view key, const YamlNode& node, Problems& problems)
      : setting_(setting), key_(key), node_(node), problems_(problems) {}

  SettingValue run_name() { return read_text(setting_, key_, node_, problems_, broken_name_rule); }

  SettingValue dataset() {
    std::vector<std::string> candidates;
    std::vector<std::string> words;
    for (const std::string_view choice : setting_.rule.choices) {
      const bool with_path = choice.ends_with(':');
      const std::string_view name = with_path ? choice.substr(0, choice.size() - 1) : choice;
      if (with_path && node_.text.size() > choice.size() && node_.text.starts_with(choice))
        return json::value(node_.text);
      if (with_path && (node_.text == name || node_.text == choice)) {
        return refuse(fmt::format("needs a path: write '{}: {}PATH'.", key_, choice));
      }
      if (!with_path && node_.text == name) return json::value(node_.text);
      candidates.emplace_back(name);
      words.push_back(with_path ? fmt::format("{}PATH", choice) : std::string(choice));
    }
    return refuse(fmt::format("is not one of {}.{}", fmt::join(words, ", "),
                              did_you_mean(std::string_view(node_.text).substr(0, node_.text.find(':')), candidates)));
  }

  SettingValue tags() { return list(broken_tag_rule, {.may_be_empty = true}); }

  SettingValue nodes() {
    if (node_.is_scalar() && node_.text == "all") return json::value("all");
    SettingValue names = list(broken_node_rule, {});
    std::set<std::string_view> seen;
    for (const YamlNode& item : node_.items) {
      if (!names || seen.insert(item.text).second) continue;
      problems_.add(item.place, fmt::format("the node '{}' is in the list twice. Remove one of them.", cut(item.text)));
      return std::nullopt;
    }
    return names;
  }

  SettingValue command() {
    const bool has_program = !node_.items.empty() && (!node_.items[0].is_scalar() || !node_.items[0].text.empty());
    if (node_.is_list() && has_program) return list({}, {.empty_items = true});
    if (!node_.is_scalar() && !node_.is_list()) {
      add_spec_shape_problem(setting_, key_, spec_type_words(setting_), node_, problems_);
      return std::nullopt;
    }
    if (trim(node_.text).empty()) {
      problems_.add(node_.place,
                    fmt::format("'{}' names no program. Write for example '{}: {}'.", key_, key_, setting_.example));
      return std::nullopt;
    }
    return json::value(node_.text);
  }

 private:
  SettingValue refuse(std::string_view rule) { return refuse_value(setting_, key_, node_, rule, problems_); }

  SettingValue list(const TextRule& broken_rule, ListReading how) {
    how.words = spec_type_words(setting_);
    return read_list(
        setting_, key_, node_, problems_,
        [&](const YamlNode& item) { return read_text(setting_, key_, item, problems_, broken_rule); }, how);
  }

  const SpecSetting& setting_;
  std::string_view key_;
  const YamlNode& node_;
  Problems& problems_;
};

}  // namespace

std::string spec_type_words(const SpecSetting& setting) {
  switch (setting.own) {
    case SpecType::none: return type_words(setting);
    case SpecType::run_name: return "text";
    case SpecType::dataset: return "the name of a data set";
    case SpecType::tags: return "a list of words";
    case SpecType::nodes: return "'all' or a list of names";
    case SpecType::suite: return "quick, standard or a list of specifications";
    case SpecType::command: return "text or a list of arguments";
    case SpecType::matrix: return "a list of variants";
    case SpecType::sweep: return "a mapping of settings to lists of values";
    case SpecType::scale: return "a list of sizes";
    case SpecType::parameters:
    case SpecType::variables:
    case SpecType::patterns:
    case SpecType::expectations:
    case SpecType::goals: return "a mapping";
    case SpecType::latency_limits: return "a mapping, mlperf or mlperf_interactive";
  }
  return "text";
}

void add_spec_shape_problem(const SpecSetting& setting, std::string_view key, std::string_view words,
                            const YamlNode& node, Problems& problems) {
  if (!node.is_list() || setting.whole_study) return add_shape_problem(setting, key, words, node, problems);
  problems.add(node.place, fmt::format("'{}' must be {}, not a list. To try several values use 'sweep: {{{}: […]}}'.",
                                       cut(key), words, setting.key));
}

SettingValue read_spec_value(const SpecSetting& setting, std::string_view key, const YamlNode& node,
                             Problems& problems) {
  OwnValueReader own(setting, key, node, problems);
  switch (setting.own) {
    case SpecType::tags: return own.tags();
    case SpecType::nodes: return own.nodes();
    case SpecType::command: return own.command();
    default: break;
  }
  if (!node.is_scalar() && !is_list(setting.type)) {
    add_spec_shape_problem(setting, key, spec_type_words(setting), node, problems);
    return std::nullopt;
  }
  switch (setting.own) {
    case SpecType::run_name: return own.run_name();
    case SpecType::dataset: return own.dataset();
    default: return read_value(setting, key, node, problems);
  }
}

}  // namespace assay
