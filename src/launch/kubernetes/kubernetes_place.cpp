#include "launch/kubernetes/kubernetes_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/ascii.h"
#include "base/text.h"
#include "base/units.h"

namespace assay {
namespace {

constexpr std::int64_t kMostGpus = 64;

Error wrong_value(std::string_view option, std::string_view value, std::string_view rule) {
  return {.kind = ErrorKind::usage, .message = fmt::format("'{}={}': {}", option, value, rule)};
}

/// A name of an object: RFC 1123.
bool is_kube_name(std::string_view text) {
  const auto is_fine = [](char c) { return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '.'; };
  return !text.empty() && text.size() <= 253 && std::all_of(text.begin(), text.end(), is_fine) && text.front() != '-' &&
         text.back() != '-';
}

Result<std::string> name_value(std::string_view option, std::string_view text) {
  if (is_kube_name(text)) return std::string(text);
  return wrong_value(option, text, "a name has lower-case letters, digits, '-' and '.' alone");
}

Result<void> add_selector(std::string_view text, KubernetesPlace& place) {
  const auto equals = text.find('=');
  if (equals == 0 || equals == std::string_view::npos) {
    return wrong_value("selector", text, "write the label of the nodes and its value, as in 'selector=pool=a100'");
  }
  place.selector[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  return {};
}

Result<void> add_toleration(std::string_view text, KubernetesPlace& place) {
  static const std::vector<std::string> kEffects = {"NoSchedule", "PreferNoSchedule", "NoExecute"};
  KubeToleration toleration;
  if (const auto colon = text.rfind(':'); colon != std::string_view::npos) {
    toleration.effect = text.substr(colon + 1);
    if (std::find(kEffects.begin(), kEffects.end(), toleration.effect) == kEffects.end()) {
      const auto meant = nearest(toleration.effect, kEffects);
      return wrong_value("toleration", text,
                         fmt::format("the effect of a taint is {}{}", join(kEffects, ", "),
                                     meant ? fmt::format("; did you mean '{}'?", *meant) : ""));
    }
    text = text.substr(0, colon);
  }
  const auto equals = text.find('=');
  toleration.key = text.substr(0, equals);
  if (equals != std::string_view::npos) toleration.value = text.substr(equals + 1);
  if (toleration.key.empty())
    return wrong_value("toleration", text, "write the key of a taint: 'key[=value][:effect]'");
  place.tolerations.push_back(std::move(toleration));
  return {};
}

Result<void> set_gpus(std::string_view text, KubernetesPlace& place) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size() || number < 0 || number > kMostGpus) {
    return wrong_value("gpus", text, fmt::format("give a number from 0 to {}", kMostGpus));
  }
  place.gpus = number;
  return {};
}

Result<void> set_cpu(std::string_view text, KubernetesPlace& place) {
  double cores = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), cores);
  if (problem != std::errc() || end != text.data() + text.size() || !(cores > 0) || cores > 4096) {
    return wrong_value("cpu", text, "give a number of cores, such as 8 or 0.5");
  }
  place.cpu = fmt::format("{}m", static_cast<std::int64_t>(cores * 1000));
  return {};
}

Result<void> set_memory(std::string_view text, KubernetesPlace& place) {
  const auto bytes = parse_bytes(text);
  if (!bytes || bytes->count <= 0) return wrong_value("memory", text, "give a size with its unit, such as 64GiB");
  place.memory = std::to_string(bytes->count);
  return {};
}

Result<void> set_time(std::string_view option, std::string_view text, Nanos& into) {
  const auto time = parse_duration(text);
  if (!time || *time < std::chrono::seconds(1)) {
    return wrong_value(option, text, "give a time with its unit, such as 30min");
  }
  into = *time;
  return {};
}

template <std::string KubernetesPlace::* member>
Result<void> set_name(std::string_view option, std::string_view text, KubernetesPlace& place) {
  ASSAY_TRY(place.*member, name_value(option, text));
  return {};
}

struct OptionRow {
  KubernetesOption option;
  bool several = false;
  Result<void> (*set)(std::string_view option, std::string_view value, KubernetesPlace& place) = nullptr;
};

constexpr std::array kOptionRows = {
    OptionRow{{"namespace", "NAME", "Namespace of the jobs [that of the context]"},
              false,
              set_name<&KubernetesPlace::name_space>},
    OptionRow{{"image", "IMAGE", "Image with assay and, for training, assay-engine; must be given"},
              false,
              [](std::string_view option, std::string_view value, KubernetesPlace& place) -> Result<void> {
                if (value.empty()) return wrong_value(option, value, "name an image");
                place.image = value;
                return {};
              }},
    OptionRow{{"context", "NAME", "Context of the kubeconfig [the current one]"},
              false,
              [](std::string_view, std::string_view value, KubernetesPlace& place) -> Result<void> {
                place.context = value;
                return {};
              }},
    OptionRow{
        {"selector", "LABEL=VALUE", "Only nodes with this label, several with + between them"},
        true,
        [](std::string_view, std::string_view value, KubernetesPlace& place) { return add_selector(value, place); }},
    OptionRow{
        {"toleration", "KEY[=VALUE][:EFFECT]", "Also nodes with this taint, several with + between them"},
        true,
        [](std::string_view, std::string_view value, KubernetesPlace& place) { return add_toleration(value, place); }},
    OptionRow{{"gpus", "N", "GPUs of each pod [one per rank there]"},
              false,
              [](std::string_view, std::string_view value, KubernetesPlace& place) { return set_gpus(value, place); }},
    OptionRow{{"gpu-resource", "NAME", "What GPUs are called there [nvidia.com/gpu]"},
              false,
              [](std::string_view option, std::string_view value, KubernetesPlace& place) -> Result<void> {
                if (value.find('/') == std::string_view::npos) {
                  return wrong_value(option, value, "a resource is called like nvidia.com/gpu");
                }
                place.gpu_resource = value;
                return {};
              }},
    OptionRow{{"cpu", "CORES", "Cores of each pod [no limit]"},
              false,
              [](std::string_view, std::string_view value, KubernetesPlace& place) { return set_cpu(value, place); }},
    OptionRow{
        {"memory", "SIZE", "Memory of each pod [no limit]"},
        false,
        [](std::string_view, std::string_view value, KubernetesPlace& place) { return set_memory(value, place); }},
    OptionRow{{"service-account", "NAME", "Account that pods run as [default]"},
              false,
              set_name<&KubernetesPlace::service_account>},
    OptionRow{{"pull-secret", "NAME", "Secret for the registry of the image, several with + between them"},
              true,
              [](std::string_view option, std::string_view value, KubernetesPlace& place) -> Result<void> {
                ASSAY_TRY(auto name, name_value(option, value));
                place.pull_secrets.push_back(std::move(name));
                return {};
              }},
    OptionRow{{"runtime-class", "NAME", "Runtime class of the pods, such as nvidia [the cluster's own]"},
              false,
              set_name<&KubernetesPlace::runtime_class>},
    OptionRow{{"patience", "TIME", "How long a pod may wait for its start [10min]"},
              false,
              [](std::string_view option, std::string_view value, KubernetesPlace& place) {
                return set_time(option, value, place.patience);
              }},
    OptionRow{{"keep", "TIME", "How long a finished job is kept in the cluster [1h]"},
              false,
              [](std::string_view option, std::string_view value, KubernetesPlace& place) {
                return set_time(option, value, place.keep);
              }},
};

Error unknown_option(std::string_view name) {
  std::vector<std::string> names;
  names.reserve(std::size(kOptionRows));
  for (const auto& row : kOptionRows) names.emplace_back(row.option.name);
  const auto meant = nearest(name, names);
  return {.kind = ErrorKind::usage,
          .message = fmt::format("'{}' is no option of a place in Kubernetes", printable(name)),
          .hint = meant ? fmt::format("Did you mean '{}'?", *meant) : fmt::format("There are: {}.", join(names, ", "))};
}

}  // namespace

Result<KubernetesPlace> read_kubernetes_place(const std::map<std::string, std::string>& options) {
  KubernetesPlace place;
  for (const auto& [name, value] : options) {
    const auto* const row = std::find_if(kOptionRows.begin(), kOptionRows.end(),
                                         [&](const OptionRow& candidate) { return candidate.option.name == name; });
    if (row == kOptionRows.end()) return unknown_option(name);
    if (!row->several) {
      ASSAY_CHECK(row->set(name, value, place));
      continue;
    }
    for (const auto part : split(value, '+')) ASSAY_CHECK(row->set(name, part, place));
  }
  if (place.image.empty()) {
    return Error{.kind = ErrorKind::usage,
                 .message = "a place in Kubernetes needs an image that jobs run in",
                 .hint =
                     "Name one that has assay, as in '--on k8s:namespace=bench,image=registry.example/assay:1'; "
                     "docs/guides/kubernetes.md says how to build it."};
  }
  return place;
}

std::span<const KubernetesOption> kubernetes_options() {
  static const auto kOptions = [] {
    std::array<KubernetesOption, kOptionRows.size()> options;
    std::transform(kOptionRows.begin(), kOptionRows.end(), options.begin(),
                   [](const OptionRow& row) { return row.option; });
    return options;
  }();
  return kOptions;
}

}  // namespace assay
