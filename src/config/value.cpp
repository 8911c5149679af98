#include "config/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "config/numbers.h"

namespace assay {
namespace {

constexpr std::size_t kLongestShown = 60;

bool is_one_of(std::string_view text, const std::vector<std::string_view>& choices) {
  return std::find(choices.begin(), choices.end(), text) != choices.end();
}

std::string listed(const std::vector<std::string_view>& choices) { return fmt::format("{}", fmt::join(choices, ", ")); }

/// One reading: what every check of a scalar needs to say what is wrong.
class ScalarReader {
 public:
  ScalarReader(const Setting& setting, std::string_view key, const YamlNode& node, Problems& problems)
      : setting_(setting), key_(key), node_(node), problems_(problems) {}

  SettingValue read(SettingType type) {
    switch (type) {
      case SettingType::boolean: return boolean();
      case SettingType::whole: return whole();
      case SettingType::number: return number();
      case SettingType::duration:
      case SettingType::bytes:
      case SettingType::rate:
      case SettingType::price: return quantity(type);
      case SettingType::choice: return choice();
      default: return read_text(setting_, key_, node_, problems_, text_rule(type));
    }
  }

 private:
  SettingValue refuse(std::string_view rule) { return refuse_value(setting_, key_, node_, rule, problems_); }

  SettingValue in_range(double measured, SettingType type, json::value value) {
    if (setting_.rule.range) {
      if (const auto broken = broken_limit(*setting_.rule.range, measured, type)) return refuse(*broken);
    }
    return value;
  }

  SettingValue boolean() {
    if (!node_.quoted && node_.text == "true") return json::value(true);
    if (!node_.quoted && node_.text == "false") return json::value(false);
    std::string lower = node_.text;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
    for (const std::string_view yes : {"true", "yes", "on", "y", "1"}) {
      if (lower == yes) return refuse("must be true or false. Write 'true'.");
    }
    for (const std::string_view no : {"false", "no", "off", "n", "0"}) {
      if (lower == no) return refuse("must be true or false. Write 'false'.");
    }
    return refuse("must be true or false");
  }

  std::optional<double> plain_number(std::string_view words) {
    const auto number = parse_number(node_.text);
    if (number && !node_.quoted) return number;
    if (number) {
      refuse(fmt::format("is text. Write it without quotes: '{}: {}'.", key_, node_.text));
      return std::nullopt;
    }
    std::string bare = node_.text;
    std::erase_if(bare, [](char c) { return c == '_' || c == ',' || c == '\''; });
    if (parse_number(bare)) {
      refuse(fmt::format("must be {}. Write it without separators: '{}'.", words, bare));
    } else {
      refuse(fmt::format("must be {}, for example '{}: {}'.", words, key_, setting_.example));
    }
    return std::nullopt;
  }

  SettingValue whole() {
    const auto number = plain_number("a whole number");
    if (!number) return std::nullopt;
    if (*number != std::floor(*number)) return refuse("must be a whole number");
    if (std::fabs(*number) > 9007199254740992.0) return refuse("is too large");
    return in_range(*number, SettingType::whole, static_cast<std::int64_t>(*number));
  }

  SettingValue number() {
    const auto number = plain_number("a number");
    if (!number) return std::nullopt;
    return in_range(*number, SettingType::number, *number);
  }

  SettingValue refuse_unit(const Error& error) {
    return refuse(error.hint.empty() ? error.message : fmt::format("{}. {}", error.message, error.hint));
  }

  SettingValue quantity(SettingType type) {
    if (node_.text.size() > kLongestShown) return refuse(fmt::format("must be {}", type_words(setting_)));
    if (type == SettingType::duration) {
      const auto duration = parse_duration(node_.text);
      if (!duration) return refuse_unit(duration.error());
      return in_range(seconds_of(*duration), type, seconds_of(*duration));
    }
    if (type == SettingType::bytes) {
      const auto bytes = parse_bytes(node_.text);
      if (!bytes) return refuse_unit(bytes.error());
      return in_range(static_cast<double>(bytes->count), type, bytes->count);
    }
    if (type == SettingType::rate) {
      const auto rate = parse_rate(node_.text);
      if (!rate) return refuse_unit(rate.error());
      return in_range(*rate, type, *rate);
    }
    const auto price = parse_price(node_.text);
    if (!price) return refuse_unit(price.error());
    return in_range(price->amount, type,
                    json::object{{"amount", price->amount}, {"currency", price->currency}, {"per", price->per}});
  }

  SettingValue choice() {
    const auto& choices = setting_.rule.choices;
    if (is_one_of(node_.text, choices)) return json::value(node_.text);
    // Short words are all near each other: 'gpu' is not a slip of 'cpu'.
    if (node_.text.size() < 4) return refuse(fmt::format("is not one of {}", listed(choices)));
    return refuse(fmt::format("is not one of {}.{}", listed(choices),
                              did_you_mean(node_.text, std::vector<std::string>(choices.begin(), choices.end()))));
  }

  static TextRule text_rule(SettingType type) {
    switch (type) {
      case SettingType::url:
        return [](const YamlNode& node) -> std::optional<std::string> {
          if (node.text.starts_with("http://") || node.text.starts_with("https://")) return std::nullopt;
          return "must start with http:// or https://";
        };
      case SettingType::variable:
        return [](const YamlNode& node) -> std::optional<std::string> {
          if (is_variable_name(node.text)) return std::nullopt;
          return "must be the name of an environment variable: letters, digits and '_'";
        };
      default: return {};
    }
  }

  static bool is_variable_name(std::string_view text) {
    const bool letters =
        std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
    return letters && !text.empty() && !std::isdigit(static_cast<unsigned char>(text.front()));
  }

  const Setting& setting_;
  std::string_view key_;
  const YamlNode& node_;
  Problems& problems_;
};

}  // namespace

std::string cut(std::string_view text) {
  std::string clean = printable(text);
  std::replace(clean.begin(), clean.end(), '\n', ' ');
  if (clean.size() <= kLongestShown) return clean;
  std::size_t end = kLongestShown;
  while (end > 0 && (static_cast<unsigned char>(clean[end]) & 0xC0) == 0x80) --end;
  return clean.substr(0, end) + "…";
}

SettingValue refuse_value(const Setting& setting, std::string_view key, const YamlNode& node, std::string_view rule,
                          Problems& problems) {
  const bool ended = rule.ends_with('.') || rule.ends_with('?');
  const std::string what = setting.rule.secret ? fmt::format("'{}: …'", cut(key)) : shown(key, node);
  problems.add(node.place, fmt::format("{} {}{}", what, rule, ended ? "" : "."));
  return std::nullopt;
}

SettingValue read_text(const Setting& setting, std::string_view key, const YamlNode& node, Problems& problems,
                       const TextRule& broken_rule) {
  const auto length = static_cast<double>(std::count_if(
      node.text.begin(), node.text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
  const auto refuse = [&](const std::string& rule) { return refuse_value(setting, key, node, rule, problems); };
  if (const auto& range = setting.rule.range; range && length < range->least) return refuse("must not be empty");
  if (const auto& range = setting.rule.range; range && length > range->most) {
    return refuse(fmt::format("is too long: at most {:.0f} characters", range->most));
  }
  if (broken_rule) {
    if (const auto rule = broken_rule(node)) return refuse(*rule);
  }
  return json::value(node.text);
}

SettingValue read_list(const Setting& setting, std::string_view key, const YamlNode& node, Problems& problems,
                       const std::function<SettingValue(const YamlNode&)>& read_item, const ListReading& how) {
  json::array values;
  bool good = true;
  const auto add = [&](const YamlNode& item) {
    // An empty argument is a fine argument; an empty name is not a name.
    if (!item.is_scalar() || (item.text.empty() && !how.empty_items)) {
      problems.add(item.place, fmt::format("each item of '{}' must be {}.", key, how.item_words));
      good = false;
    } else if (auto value = read_item(item)) {
      values.push_back(std::move(*value));
    } else {
      good = false;
    }
  };
  if (node.is_list()) {
    std::for_each(node.items.begin(), node.items.end(), add);
  } else if (node.is_scalar()) {
    add(node);
  } else {
    add_shape_problem(setting, key, how.words.empty() ? type_words(setting) : how.words, node, problems);
    return std::nullopt;
  }
  if (!good) return std::nullopt;
  if (values.empty() && !how.may_be_empty) {
    problems.add(node.place,
                 fmt::format("'{}' is an empty list. Write for example '{}: {}'.", key, key, setting.example));
    return std::nullopt;
  }
  return values;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  // Nobody mistypes a longer word than this; comparing it with every key would only take time.
  if (word.empty() || word.size() > 64) return "";
  const auto meant = nearest(word, candidates);
  return meant ? fmt::format(" Did you mean '{}'?", *meant) : "";
}

std::string label_of(const YamlNode& node) {
  if (node.is_scalar()) {
    const auto number = node.quoted ? std::nullopt : parse_number(node.text);
    return number ? number_text(*number) : cut(node.text);
  }
  std::vector<std::string> parts;
  for (const YamlNode& item : node.items) parts.push_back(label_of(item));
  for (const YamlEntry& entry : node.entries)
    parts.push_back(fmt::format("{}: {}", cut(entry.key), label_of(entry.value)));
  return fmt::format("{}{}{}", node.is_map() ? '{' : '[', cut(join(parts, ", ")), node.is_map() ? '}' : ']');
}

std::string shown(std::string_view key, const YamlNode& node) {
  if (!node.is_scalar()) return fmt::format("'{}'", cut(key));
  const bool needs_quotes =
      node.quoted && (parse_number(node.text) || node.text.empty() || node.text == "true" || node.text == "false");
  return needs_quotes ? fmt::format("'{}: \"{}\"'", cut(key), cut(node.text))
                      : fmt::format("'{}: {}'", cut(key), cut(node.text));
}

std::string type_words(const Setting& setting) {
  switch (setting.type) {
    case SettingType::boolean: return "true or false";
    case SettingType::whole: return "a whole number";
    case SettingType::number: return "a number";
    case SettingType::duration: return "a duration with its unit";
    case SettingType::bytes: return "a size with its unit";
    case SettingType::rate: return "a rate with its unit";
    case SettingType::price: return "a price";
    case SettingType::choice: return fmt::format("one of {}", listed(setting.rule.choices));
    case SettingType::url: return "an address";
    case SettingType::path: return "a path";
    case SettingType::variable: return "the name of an environment variable";
    case SettingType::wholes: return "a list of whole numbers";
    case SettingType::texts:
      return fmt::format("a list of {}", setting.rule.items.empty() ? "names" : setting.rule.items);
    case SettingType::choices: return "a list of names";
    case SettingType::group: return "a mapping";
    default: return "text";
  }
}

void add_shape_problem(const Setting& setting, std::string_view key, std::string_view words, const YamlNode& node,
                       Problems& problems) {
  const std::string example = fmt::format("'{}: {}'", cut(key), setting.example);
  if (node.kind == YamlNode::Kind::empty) {
    problems.add(node.place, fmt::format("'{}' has no value. Write for example {}{}.", cut(key), example,
                                         setting.rule.required ? "" : ", or remove the line"));
  } else if (node.is_list()) {
    problems.add(node.place,
                 fmt::format("'{}' must be {}, not a list. Write for example {}.", cut(key), words, example));
  } else if (node.is_map()) {
    problems.add(node.place,
                 fmt::format("'{}' must be {}, not a mapping. Write for example {}.", cut(key), words, example));
  } else {
    problems.add(node.place, fmt::format("{} must be {}. Write for example {}.", shown(key, node), words, example));
  }
}

SettingValue read_value(const Setting& setting, std::string_view key, const YamlNode& node, Problems& problems) {
  const auto list_of = [&](SettingType item, std::string_view words) {
    return read_list(setting, key, node, problems,
                     [&](const YamlNode& each) { return ScalarReader(setting, key, each, problems).read(item); },
                     {.item_words = words});
  };
  switch (setting.type) {
    case SettingType::wholes: return list_of(SettingType::whole, "a whole number");
    case SettingType::texts: return list_of(SettingType::text, "plain text");
    case SettingType::choices: return list_of(SettingType::choice, "plain text");
    default: break;
  }
  if (node.is_scalar()) return ScalarReader(setting, key, node, problems).read(setting.type);
  add_shape_problem(setting, key, type_words(setting), node, problems);
  return std::nullopt;
}

}  // namespace assay
