#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace assay {

/// Where to run, as users write it: `ssh:gpu01,gpu02`, `slurm:partition=gpu,account=ml`, `k8s:namespace=bench`. What a
/// kind of place means by its words and options is up to its launcher.
struct PlaceText {
  std::string kind;
  std::vector<std::string> words;              ///< without a `=`, in their order
  std::map<std::string, std::string> options;  ///< NAME=VALUE
  bool operator==(const PlaceText&) const = default;
};

/// `usage` for no kind, an empty item, or an option that stands twice.
Result<PlaceText> parse_place(std::string_view text);

/// `usage`, with what was probably meant, for an option that is none of these.
Result<void> check_options(const PlaceText& place, std::span<const std::string_view> known);

/// The option, or the fallback where it is absent.
std::string option_or(const PlaceText& place, const std::string& name, std::string_view fallback);
/// A duration with its unit: `patience=30s`. Errors: `usage`.
Result<Nanos> duration_option_or(const PlaceText& place, const std::string& name, Nanos fallback);

}  // namespace assay
