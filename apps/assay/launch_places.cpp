#include "launch_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "launch/kubernetes/kube_config.h"
#include "launch/kubernetes/kubernetes_launcher.h"
#include "launch/local/local_launcher.h"
#include "launch/place_text.h"
#include "launch/slurm/slurm_launcher.h"
#include "launch/ssh/ssh_launcher.h"
#include "redact/redact.h"
#include "run_services.h"

namespace assay {
namespace {

Result<LaunchPlace> open_ssh(const PlaceText& text, const Context& context, RunsFor /*whom*/) {
  constexpr std::array<std::string_view, 4> kOptions = {"engine", "address", "patience", "config"};
  ASSAY_CHECK(check_options(text, kOptions));
  if (text.words.empty()) {
    return Error{.kind = ErrorKind::usage,
                 .message = "'--on ssh': it needs a host",
                 .hint = "Name it as for `ssh`: --on ssh:gpu01, or several: --on ssh:gpu01,gpu02"};
  }
  for (const auto& host : text.words) ASSAY_CHECK(check_host(host));
  SshLauncherOptions options{.hosts = text.words,
                             .program = find_programs().self,
                             .engine = option_or(text, "engine", ""),
                             .address = option_or(text, "address", ""),
                             .state = context.data_folder() / "launch"};
  ASSAY_TRY(options.patience, duration_option_or(text, "patience", options.patience));
  const auto config = context.environment.find("ASSAY_SSH_CONFIG");
  options.ssh.config = option_or(text, "config", config == context.environment.end() ? "" : config->second);
  return LaunchPlace{.launcher = make_ssh_launcher(std::move(options)), .text = {}, .node = {}};
}

Result<LaunchPlace> open_slurm(const PlaceText& text, const Context& context, RunsFor whom) {
  ASSAY_TRY(auto place, slurm_place_from(text));
  if (whom == RunsFor::others) {
    for (const auto& [name, value] : workload_environment(context.environment)) place.environment.push_back(name);
  }
  ASSAY_TRY(auto launcher, make_slurm_launcher({.place = std::move(place),
                                                .folder = context.data_folder() / "launch" / "slurm",
                                                .assay = find_programs().self}));
  return LaunchPlace{.launcher = std::move(launcher), .text = {}, .node = {}};
}

Result<LaunchPlace> open_kubernetes(const PlaceText& text, const Context& context, RunsFor /*whom*/) {
  if (!text.words.empty()) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("'--on k8s': '{}' is no option", printable(text.words.front())),
                 .hint = "Options have values: --on k8s:namespace=bench,image=registry.example/assay:1"};
  }
  ASSAY_TRY(auto place, read_kubernetes_place(text.options).within("'--on k8s'"));
  ASSAY_TRY(auto access, find_kube_access({.environment = context.environment}, place.context).within("'--on k8s'"));
  return LaunchPlace{.launcher = make_kubernetes_launcher(std::move(place), std::move(access),
                                                          context.data_folder() / "launch" / "kubernetes"),
                     .text = {},
                     .node = {}};
}

Result<LaunchPlace> open_node(const PlaceText& text, const Context& /*context*/, RunsFor /*whom*/) {
  ASSAY_CHECK(check_options(text, {}));
  if (text.words.size() == 1) return LaunchPlace{.launcher = nullptr, .text = {}, .node = text.words.front()};
  return Error{.kind = ErrorKind::usage,
               .message = "'--on node': it needs one node of the cluster",
               .hint = "For example: --on node:gpu03"};
}

/// A kind of place: a launcher to another one gets a row here.
struct PlaceKind {
  std::string_view name;
  std::string_view form;
  std::string_view about;
  Result<LaunchPlace> (*open)(const PlaceText& text, const Context& context, RunsFor whom);
};
constexpr std::array kPlaceKinds = {
    PlaceKind{.name = "ssh",
              .form = "ssh:HOST,…",
              .about = "hosts that `ssh` reaches; options engine, address, patience, config (docs/guides/ssh.md)",
              .open = open_ssh},
    PlaceKind{.name = "slurm",
              .form = "slurm:OPTIONS",
              .about = "the queue of a Slurm cluster: partition=gpu,gres=gpu:2,exclusive, … (docs/guides/slurm.md)",
              .open = open_slurm},
    PlaceKind{.name = "k8s",
              .form = "k8s:NAME=VALUE,…",
              .about = "a Kubernetes cluster; options namespace, image, context, gpus, selector and more "
                       "(docs/guides/kubernetes.md)",
              .open = open_kubernetes},
    PlaceKind{.name = "node", .form = "node:NODE", .about = "a node of the cluster, as with --node", .open = open_node},
};

}  // namespace

Result<LaunchPlace> open_place(const std::string& text, const Context& context, RunsFor whom) {
  if (text.empty()) {
    return LaunchPlace{.launcher = make_local_launcher(find_programs()), .text = {}, .node = {}};
  }
  ASSAY_TRY(const auto place, parse_place(text));
  const auto* const kind = std::find_if(kPlaceKinds.begin(), kPlaceKinds.end(),
                                        [&](const PlaceKind& known) { return known.name == place.kind; });
  if (kind != kPlaceKinds.end()) {
    ASSAY_TRY(auto opened, kind->open(place, context, whom));
    opened.text = text;
    return opened;
  }
  std::vector<std::string> names;
  std::vector<std::string_view> forms;
  for (const auto& known : kPlaceKinds) {
    names.emplace_back(known.name);
    forms.push_back(known.form);
  }
  std::string message = fmt::format("'--on {}': there is no place '{}'.", printable(text), printable(place.kind));
  if (const auto meant = nearest(place.kind, names)) message += fmt::format(" Did you mean '{}'?", *meant);
  return Error{
      .kind = ErrorKind::usage, .message = std::move(message), .hint = fmt::format("There are {}.", join(forms, ", "))};
}

std::string describe_places() {
  std::string text;
  for (const auto& kind : kPlaceKinds) text += fmt::format("  {:<16} {}\n", kind.form, kind.about);
  return text;
}

}  // namespace assay
