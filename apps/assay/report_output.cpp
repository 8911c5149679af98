#include "report_output.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "base/units.h"
#include "report/text/style.h"

namespace assay {
namespace {

/// By --format, else by the name of the file, else a table.
Result<ReportFormat> format_of(const ReportArguments& arguments) {
  std::string name = arguments.format;
  if (name.empty()) name = std::filesystem::path(arguments.output).extension().string();
  if (name.starts_with('.')) name.erase(0, 1);
  if (name.empty() || (arguments.format.empty() && name == "txt")) return ReportFormat::table;
  if (const auto format = report_format_from(name)) return *format;
  return Error{.kind = ErrorKind::usage,
               .message = fmt::format("'{}' is no format of a report", name),
               .hint = "Use --format table, md, html, json or csv."};
}

/// `420 g/kWh` or `420 g/kWh (DE 2025)`.
Result<GridIntensity> parse_grid(const std::string& text) {
  GridIntensity grid;
  std::string unit;
  const std::size_t open = text.find('(');
  const std::string figure(trim(std::string_view(text).substr(0, open)));
  std::size_t used = 0;
  try {
    grid.grams_per_kwh = std::stod(figure, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  unit = std::string(trim(std::string_view(figure).substr(used)));
  if (used == 0 || unit != "g/kWh" || !(grid.grams_per_kwh >= 0 && grid.grams_per_kwh <= 5000)) {
    return Error{.kind = ErrorKind::usage,
                 .message = fmt::format("--grid '{}' is no intensity of a power grid", text),
                 .hint = "Write for example --grid '380 g/kWh (Germany, 2024)'."};
  }
  grid.source = "as stated";
  if (open != std::string::npos)
    grid.source = std::string(trim(std::string_view(text).substr(open + 1, text.rfind(')') - open - 1)));
  return grid;
}

}  // namespace

void add_report_options(CLI::App& command, ReportArguments& arguments) {
  command
      .add_option("-f,--format", arguments.format, "table, md, html, json or csv [by the output's name, else table]")
      ->type_name("FORMAT");
  command.add_option("-o,--output", arguments.output, "Write to this file instead of standard output")
      ->type_name("FILE");
  command.add_option("--table", arguments.table, "Of a CSV: the table to write [all]")->type_name("ID");
  command.add_option("--price", arguments.price, "Price instead of the recorded one: '0.60 USD/GPUh', '1.20 EUR/h'")
      ->type_name("PRICE");
  command.add_option("--grid", arguments.grid, "Intensity of the power grid for CO2 figures: '380 g/kWh (source)'")
      ->type_name("G");
  command
      .add_option("--baseline", arguments.baseline,
                  "Configuration, size or run to compare with [one rank; else what is called baseline; else the first]")
      ->type_name("NAME");
  command.add_option("--higher", arguments.higher, "Higher is better of this metric; it becomes one of the headlines")
      ->type_name("METRIC")
      ->allow_extra_args(false);
  command.add_option("--lower", arguments.lower, "Lower is better of this metric; it becomes one of the headlines")
      ->type_name("METRIC")
      ->allow_extra_args(false);
}

Result<ReportOptions> report_options(const ReportArguments& arguments) {
  ReportOptions options;
  options.baseline = arguments.baseline;
  for (const auto& metric : arguments.higher) options.goals[metric] = Direction::higher_is_better;
  for (const auto& metric : arguments.lower) {
    if (!options.goals.emplace(metric, Direction::lower_is_better).second) {
      return Error{.kind = ErrorKind::usage,
                   .message = fmt::format("--higher and --lower both name '{}'", metric),
                   .hint = "Name it once."};
    }
  }
  if (arguments.production_samples > 0) options.production_samples = arguments.production_samples;
  options.production_nodes = arguments.production_nodes;
  if (!arguments.price.empty()) {
    auto price = parse_price(arguments.price);
    if (!price) {
      return Error{.kind = ErrorKind::usage,
                   .message = fmt::format("--price '{}' {}", arguments.price, price.error().message),
                   .hint = "Write for example --price '0.60 USD/GPUh'."};
    }
    options.price = std::move(*price);
  }
  if (!arguments.grid.empty()) {
    ASSAY_TRY(options.grid, parse_grid(arguments.grid));
  }
  return options;
}

Result<void> write_named_file(const fs::path& path, std::string_view content) {
  std::error_code code;
  const auto kind = fs::symlink_status(path, code).type();
  if (kind == fs::file_type::regular || kind == fs::file_type::not_found) return write_file_atomically(path, content);
  const auto write = [&]() -> Result<void> {
    ASSAY_TRY(const auto file, open_file(path, O_WRONLY | O_CREAT | O_TRUNC));
    return write_all(file.get(), content);
  };
  return write().within(fmt::format("writing '{}'", path.string()));
}

int write_output(const Context& context, const std::string& path, std::string_view content) {
  if (path.empty() || path == "-") {
    print(content);
    return 0;
  }
  if (auto written = write_named_file(path, content); !written) return context.fail(written.error());
  if (!context.quiet) print_error(fmt::format("Wrote {}\n", path));
  return 0;
}

int write_document(const Context& context, const ReportArguments& arguments, const Document& document) {
  const auto format = format_of(arguments);
  if (!format) return context.fail(format.error());
  if (context.json && arguments.output.empty()) return context.succeed(render_json(document));
  switch (*format) {
    case ReportFormat::table: {
      TerminalStyle style = context.out_style();
      if (!arguments.output.empty()) style.colour = false;
      return write_output(context, arguments.output, render_terminal(document, style));
    }
    case ReportFormat::markdown: return write_output(context, arguments.output, render_markdown(document));
    case ReportFormat::html: return write_output(context, arguments.output, render_html(document));
    case ReportFormat::json:
      return write_output(context, arguments.output, json::serialize(render_json(document)) + "\n");
    case ReportFormat::csv: {
      const auto csv = render_csv(document, arguments.table);
      if (!csv) return context.fail(csv.error());
      return write_output(context, arguments.output, *csv);
    }
  }
  return 0;
}

}  // namespace assay
