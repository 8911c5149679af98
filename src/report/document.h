#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.h"
#include "report/chart/chart.h"
#include "report/text/align.h"

namespace assay {

// What a report says, without how it looks: builders make a Document, renderers (render.h) turn it into text for the
// terminal, Markdown, HTML, CSV or JSON. Everything in it is text or numbers that are ready to be shown; the same
// document gives the same bytes.

/// What a figure or word means for its reader. The only source of colour.
enum class Tone { plain, strong, muted, good, warning, bad };

/// One cell. `text` is the printed figure without the column's unit: "95.2".
struct Figure {
  Figure() = default;
  Figure(std::string printed, Tone shade = Tone::plain) : text(std::move(printed)), tone(shade) {}
  Figure(const char* printed) : text(printed) {}
  Figure(std::string printed, double exact, Tone shade = Tone::plain)
      : text(std::move(printed)), value(exact), tone(shade) {}

  std::string text;             ///< empty: not known; shown as a dash
  std::optional<double> value;  ///< at full precision, in the column's unit: 95.2343; JSON has it
  /// Numbers that the text also holds, by name, for JSON: {"sd", 0.4}, {"n", 5} stand there as `KEY_sd` and `KEY_n`.
  std::vector<std::pair<std::string, double>> parts;
  Tone tone = Tone::plain;
};

struct FigureColumn {
  std::string key;    ///< for scripts, with its unit: "efficiency_percent"; unique in its table
  std::string title;  ///< for people: "Efficiency"
  /// Written behind every figure that has a digit (not behind "failed"): " %", "×", " s"; empty where the title names
  /// it or cells differ.
  std::string unit;
  Align align = Align::left;
  bool shrinks = false;  ///< gives way on a narrow terminal
};

struct FigureTable {
  std::string id;     ///< for scripts and links: "scaling"; unique in its document
  std::string title;  ///< may be empty
  std::vector<FigureColumn> columns;
  std::vector<std::vector<Figure>> rows;  ///< one figure per column
  std::vector<std::string> notes;         ///< one sentence each, below it
};

struct Paragraph {
  std::string text;
  Tone tone = Tone::plain;
};

/// Name and value, one per line: an environment, settings.
struct FactList {
  std::string id;
  std::vector<std::pair<std::string, std::string>> facts;
};

enum class Severity { note, warning, problem };
std::string_view name_of(Severity severity);

/// Something found by a documented rule: what, the figures it rests on, and what to do.
struct Finding {
  Severity severity = Severity::note;
  std::string rule;   ///< stable name: "lost_samples"; the table of rules is in docs/reference/report-rules.md
  std::string about;  ///< run, node or configuration; may be empty
  std::string what;
  std::string evidence;  ///< may be empty
  std::string remedy;    ///< may be empty
};

struct FindingList {
  std::string id;  ///< "issues"
  std::vector<Finding> findings;
  std::string if_empty;  ///< what to say where there are none
};

using Block = std::variant<Paragraph, FigureTable, FactList, FindingList, ChartBlock>;

struct Section {
  std::string id;  ///< "scaling"; unique in its document
  std::string title;
  std::vector<Block> blocks;
  bool in_terminal = true;  ///< false: for the long formats only
};

struct Document {
  std::string title;
  std::string subtitle;
  std::string verdict;  ///< in a word or two: "8 of 9 runs valid"
  Tone verdict_tone = Tone::plain;
  std::vector<Section> sections;
  /// Further members of the JSON form, for scripts.
  json::object data;
};

}  // namespace assay
