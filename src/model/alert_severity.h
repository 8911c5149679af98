#pragma once

#include <optional>
#include <string_view>

namespace assay {

enum class AlertSeverity { info, warning, critical };
std::string_view name_of(AlertSeverity severity);
std::optional<AlertSeverity> severity_from(std::string_view name);

}  // namespace assay
