#include "report/render.h"

namespace assay {

std::optional<ReportFormat> report_format_from(std::string_view name) {
  if (name == "table") return ReportFormat::table;
  if (name == "md") return ReportFormat::markdown;
  if (name == "html") return ReportFormat::html;
  if (name == "json") return ReportFormat::json;
  if (name == "csv") return ReportFormat::csv;
  return std::nullopt;
}

}  // namespace assay
