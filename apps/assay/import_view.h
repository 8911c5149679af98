#pragma once

#include "context.h"
#include "importers/imported_study.h"

namespace assay {

struct Document;

/// How an import ended, for its report.
enum class ImportOutcome { stored, only_shown, already_there };

Document report_on_import(const ImportedStudy& imported);

/// Prints the tables of the report, and every flag below them.
void print_import(const Context& context, const ImportedStudy& imported, Document report, ImportOutcome outcome);

}  // namespace assay
