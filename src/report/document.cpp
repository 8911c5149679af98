#include "report/document.h"

#include "report/render_parts.h"

namespace assay {

std::string_view name_of(Severity severity) {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::problem: return "problem";
  }
  return "note";
}

std::string_view mark_of(Severity severity) {
  switch (severity) {
    case Severity::note: return "•";
    case Severity::warning: return "▲";
    case Severity::problem: return "✖";
  }
  return "•";
}

std::string printed(const FigureColumn& column, const Figure& figure) {
  const bool is_number = figure.text.find_first_of("0123456789") != std::string::npos;
  return is_number ? figure.text + column.unit : figure.text;
}

std::string headline(const Finding& finding) {
  return finding.about.empty() ? finding.what : finding.about + ": " + finding.what;
}

}  // namespace assay
