#include "base/text.h"
#include "report/render.h"
#include "report/render_parts.h"

namespace assay {
namespace {

/// JSON is UTF-8: bytes that are not become U+FFFD, and control characters go.
json::value text(std::string_view bytes) { return json::value(printable(bytes)); }

json::value optional_number(const std::optional<double>& number) {
  return number ? finite(*number) : json::value(nullptr);
}

json::value interval(const std::optional<std::pair<double, double>>& range) {
  return range ? json::value(json::array{finite(range->first), finite(range->second)}) : json::value(nullptr);
}

json::array texts(const std::vector<std::string>& list) {
  json::array array;
  for (const auto& item : list) array.push_back(text(item));
  return array;
}

std::string_view name_of(Tone tone) {
  switch (tone) {
    case Tone::plain: return "plain";
    case Tone::strong: return "strong";
    case Tone::muted: return "muted";
    case Tone::good: return "good";
    case Tone::warning: return "warning";
    case Tone::bad: return "bad";
  }
  return "plain";
}

std::string_view name_of(Stroke stroke) {
  switch (stroke) {
    case Stroke::line: return "line";
    case Stroke::dashed: return "dashed";
    case Stroke::points: return "points";
    case Stroke::steps: return "steps";
    case Stroke::expected_range: return "expected_range";
  }
  return "line";
}

json::value value_of(const Figure& figure) {
  if (figure.value) return finite(*figure.value);
  return figure.text.empty() ? json::value(nullptr) : text(figure.text);
}

json::object to_json(const Paragraph& paragraph) {
  return {{"type", "paragraph"}, {"text", text(paragraph.text)}, {"tone", name_of(paragraph.tone)}};
}

json::object to_json(const FigureTable& table) {
  json::array columns;
  for (const auto& column : table.columns)
    columns.push_back({{"key", text(column.key)}, {"title", text(column.title)}, {"unit", text(trim(column.unit))}});
  json::array rows;
  for (const auto& figures : table.rows) {
    json::object row;
    json::object shown;
    for (std::size_t i = 0; i < std::min(figures.size(), table.columns.size()); ++i) {
      const std::string key = printable(table.columns[i].key);
      row[key] = value_of(figures[i]);
      for (const auto& [part, number] : figures[i].parts) row[key + "_" + printable(part)] = finite(number);
      shown[key] = text(printed(table.columns[i], figures[i]));
    }
    row["printed"] = std::move(shown);
    rows.push_back(std::move(row));
  }
  return {{"type", "table"},
          {"id", text(table.id)},
          {"title", text(table.title)},
          {"columns", std::move(columns)},
          {"rows", std::move(rows)},
          {"notes", texts(table.notes)}};
}

json::object to_json(const FactList& list) {
  json::array facts;
  for (const auto& [name, value] : list.facts) facts.push_back({{"name", text(name)}, {"value", text(value)}});
  return {{"type", "facts"}, {"id", text(list.id)}, {"facts", std::move(facts)}};
}

json::object to_json(const FindingList& list) {
  json::array findings;
  for (const auto& finding : list.findings) {
    findings.push_back({{"severity", name_of(finding.severity)},
                        {"rule", text(finding.rule)},
                        {"about", text(finding.about)},
                        {"what", text(finding.what)},
                        {"evidence", text(finding.evidence)},
                        {"remedy", text(finding.remedy)}});
  }
  return {{"type", "findings"},
          {"id", text(list.id)},
          {"findings", std::move(findings)},
          {"if_empty", text(list.if_empty)}};
}

json::object to_json(const Axis& axis) {
  return {{"label", text(axis.label)},
          {"unit", text(axis.unit)},
          {"logarithmic", axis.logarithmic},
          {"from_zero", axis.from_zero}};
}

json::array to_json(const std::vector<ReferenceLine>& references) {
  json::array lines;
  for (const auto& reference : references)
    lines.push_back({{"label", text(reference.label)}, {"y", finite(reference.y)}});
  return lines;
}

json::object to_json(const XyChart& chart) {
  json::array all;
  for (const auto& series : chart.series) {
    json::array points;
    for (const auto& point : series.points) {
      json::object one{{"x", finite(point.x)}, {"y", finite(point.y)}};
      if (point.range) one["range"] = interval(point.range);
      if (point.marked) one["marked"] = true;
      points.push_back(std::move(one));
    }
    all.push_back({{"name", text(series.name)}, {"stroke", name_of(series.stroke)}, {"points", std::move(points)}});
  }
  return {{"type", "xy_chart"},
          {"x", to_json(chart.x)},
          {"y", to_json(chart.y)},
          {"series", std::move(all)},
          {"references", to_json(chart.references)}};
}

json::object to_json(const BarChart& chart) {
  json::array bars;
  for (const auto& bar : chart.bars) {
    json::object one{{"name", text(bar.name)}, {"value", optional_number(bar.value)}};
    if (bar.range) one["range"] = interval(bar.range);
    if (bar.marked) one["marked"] = true;
    bars.push_back(std::move(one));
  }
  return {{"type", "bar_chart"},
          {"axis", to_json(chart.value)},
          {"bars", std::move(bars)},
          {"references", to_json(chart.references)},
          {"band", interval(chart.band)}};
}

json::object to_json(const HeatChart& chart) {
  json::array cells;
  for (const auto& row : chart.cells) {
    json::array values;
    for (const auto& cell : row) values.push_back(optional_number(cell));
    cells.push_back(std::move(values));
  }
  return {{"type", "heat_chart"},     {"row_label", text(chart.row_label)}, {"column_label", text(chart.column_label)},
          {"unit", text(chart.unit)}, {"rows", texts(chart.rows)},          {"columns", texts(chart.columns)},
          {"cells", std::move(cells)}};
}

json::object to_json(const ChartBlock& block) {
  json::object object = std::visit([](const auto& chart) { return to_json(chart); }, block.chart);
  object["id"] = text(block.id);
  object["title"] = text(block.title);
  object["caption"] = text(block.caption);
  return object;
}

}  // namespace

json::object render_json(const Document& document) {
  json::array sections;
  for (const auto& section : document.sections) {
    json::array blocks;
    for (const auto& block : section.blocks)
      blocks.push_back(std::visit([](const auto& one) { return to_json(one); }, block));
    sections.push_back({{"id", text(section.id)}, {"title", text(section.title)}, {"blocks", std::move(blocks)}});
  }
  json::object object{{"title", text(document.title)},
                      {"subtitle", text(document.subtitle)},
                      {"verdict", text(document.verdict)},
                      {"sections", std::move(sections)}};
  // What the report itself says is not replaced by a member of the same name.
  for (const auto& member : document.data) object.emplace(member.key(), member.value());
  return object;
}

}  // namespace assay
