#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <deque>

#include "base/files.h"
#include "config/value.h"
#include "spec/checks.h"
#include "spec/complete.h"
#include "spec/inline_spec.h"
#include "spec/overrides.h"
#include "spec/spec.h"
#include "spec/spec_reader.h"

namespace assay {
namespace {

constexpr std::string_view kMissingKind =
    "'kind' is missing. Add 'kind: train' (or serve, node, command, null) to say what is measured.";

/// `bench.yaml` names its runs "bench".
std::string name_from(const std::string& file, std::optional<SpecKind> kind) {
  const std::string stem = std::filesystem::path(file).stem().string();
  if (!stem.empty() && stem != "-" && stem != "stdin") return stem;
  return kind ? std::string(name_of(*kind)) : std::string();
}

bool is_readable_map(const YamlNode& root, std::string_view file, Problems& problems) {
  if (root.is_map()) return true;
  const Place place = root.kind == YamlNode::Kind::empty ? Place{file, 1, 1} : root.place;
  const std::string_view found = root.kind == YamlNode::Kind::empty ? "the file is empty."
                                 : root.is_list()                   ? "this is a list."
                                                                    : "this is plain text.";
  problems.add(place, fmt::format("{} A specification is a mapping, such as 'kind: train'.", found));
  return false;
}

/// The kind that wins: the last one given.
KindReading settle_kind(const YamlNode& root, const std::vector<YamlEntry>& overrides, Problems& problems) {
  KindReading reading = read_kind(root, problems);
  for (const YamlEntry& entry : overrides) {
    if (entry.key != "kind") continue;
    const auto value = read_value(*resolve_key(kEveryKind, "kind").setting, "kind", entry.value, problems);
    reading.kind = value ? spec_kind_from(value->get_string()) : std::nullopt;
    reading.missing = false;
  }
  if (reading.missing) problems.add(reading.place, std::string(kMissingKind));
  return reading;
}

/// Reads everything of standard input that a specification may have, and a byte more.
Result<std::string> read_standard_input() {
  std::string text;
  char buffer[65536];
  while (text.size() <= kLargestYamlBytes) {
    const ssize_t count = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error(errno, "cannot read standard input");
    if (count == 0) break;
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return text;
}

}  // namespace

SpecReading read_spec(std::string_view text, std::string file, const SpecOverrides& overrides) {
  Problems problems;
  std::deque<std::string> names = {file};
  const auto root = read_yaml(text, {.file = names.front(), .what = "specification"}, problems);
  if (!root || !is_readable_map(*root, names.front(), problems)) return {std::nullopt, problems.take()};

  const std::vector<YamlEntry> overriding = read_overrides(overrides, *root, names, problems);
  const KindReading kind = settle_kind(*root, overriding, problems);
  SpecReader reader(kind.kind, problems);
  std::vector<Layer> layers = {reader.read_top_level(*root)};
  for (const YamlEntry& entry : overriding) layers.push_back(reader.read_override(entry));
  if (!kind.kind) return {std::nullopt, problems.take()};

  const std::string name = name_from(file, kind.kind);
  Draft draft{.kind = *kind.kind, .kind_place = kind.place, .name = name, .layers = std::move(layers)};
  draft.given = merge_layers(draft.kind, draft.layers, reader.study());
  check_draft(draft, reader, problems);
  if (!problems.none()) return {std::nullopt, problems.take()};

  Spec spec{.kind = draft.kind, .given = std::move(draft.given), .source = std::string(text), .file = std::move(file)};
  if (!spec.given.contains("name")) spec.given["name"] = name;
  spec.settings = complete_settings(spec.kind, spec.given, name);
  return {std::move(spec), {}};
}

Result<SpecReading> read_spec_file(const std::filesystem::path& path, const SpecOverrides& overrides) {
  if (path == "-") {
    ASSAY_TRY(const std::string text, read_standard_input());
    return read_spec(text, "stdin", overrides);
  }
  auto text = read_file(path);
  if (!text) return std::move(text).error().within("reading the specification");
  return read_spec(*text, path.string(), overrides);
}

std::optional<json::value> read_inline_specification(const YamlNode& node, Problems& problems) {
  if (!node.is_map()) {
    problems.add(node.place, "each specification of a suite is the name of a file or a mapping with its 'kind'.");
    return std::nullopt;
  }
  const std::size_t before = problems.count();
  const KindReading kind = read_kind(node, problems);
  if (kind.missing) problems.add(kind.place, std::string(kMissingKind));
  if (kind.kind == SpecKind::node) {
    problems.add(kind.place, "a suite cannot hold another suite. Use kind train, serve, command or null here.");
    return std::nullopt;
  }
  SpecReader reader(kind.kind, problems);
  std::vector<Layer> layers = {reader.read_top_level(node)};
  for (const YamlEntry& entry : node.entries) {
    const SpecSetting* setting = resolve_key(kEveryKind, entry.key).setting;
    if (setting && describes_study(*setting)) {
      problems.add(entry.key_place,
                   fmt::format("'{}' is not possible inside a suite: each of its specifications is one "
                               "run.",
                               entry.key));
    }
  }
  if (!kind.kind || problems.count() > before) return std::nullopt;
  Draft draft{.kind = *kind.kind, .kind_place = kind.place, .name = name_of(*kind.kind), .layers = std::move(layers)};
  draft.given = merge_layers(draft.kind, draft.layers, {});
  check_draft(draft, reader, problems);
  if (problems.count() > before) return std::nullopt;
  json::object settings = complete_settings(draft.kind, draft.given, draft.name);
  for (const SpecSetting& setting : settings_table()) {
    if (describes_study(setting)) settings.stable_erase(setting.key);
  }
  return settings;
}

}  // namespace assay
