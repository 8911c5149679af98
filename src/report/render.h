#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace assay {

struct Document;
struct TerminalStyle;

// Renderers. Pure functions: the same document gives the same bytes.

enum class ReportFormat { table, markdown, html, json, csv };
std::optional<ReportFormat> report_format_from(std::string_view name);  ///< "table", "md", "html", "json", "csv"

std::string render_terminal(const Document& document, const TerminalStyle& style);
std::string render_markdown(const Document& document);
/// One self-contained file: no script, no request; charts are inline SVG; light, dark and print.
std::string render_html(const Document& document);
json::object render_json(const Document& document);
/// One table, or all of them with a comment line and a blank line between where `table` is empty and there are several.
/// An unknown table is an error that lists those there are.
Result<std::string> render_csv(const Document& document, std::string_view table);

}  // namespace assay
