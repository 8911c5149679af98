#pragma once

#include <memory>
#include <string>

#include "commands.h"
#include "report/build/recorded.h"
#include "report/render.h"

namespace assay {

struct Document;

/// What `report` and `compare` share: how the answer looks, where it goes, and what it is priced with.
struct ReportArguments {
  std::string format;
  std::string output;
  std::string table;
  std::string price;
  std::string grid;
  double production_samples = 0;
  int production_nodes = 1;
  std::string baseline;
  std::vector<std::string> higher;
  std::vector<std::string> lower;
};
void add_report_options(CLI::App& command, ReportArguments& arguments);

/// Prices and grid as written become options; what cannot be read is an error of kind `usage`.
Result<ReportOptions> report_options(const ReportArguments& arguments);

/// Writes the document as asked for and returns the exit code.
int write_document(const Context& context, const ReportArguments& arguments, const Document& document);

/// Writes a file that a user named: in one step, but through a link, a device or a pipe, which stay what they are.
Result<void> write_named_file(const std::filesystem::path& path, std::string_view content);

/// The same, and says so on standard error; "-" is standard output.
int write_output(const Context& context, const std::string& path, std::string_view content);

}  // namespace assay
