#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "report/build/recorded.h"
#include "report/document.h"

namespace assay {

// Small records for tests of reports.

inline RecordedRun finished_run(std::string id, std::map<std::string, double> metrics) {
  RecordedRun one;
  one.run.id = std::move(id);
  one.run.name = "bench";
  one.run.kind = "train";
  one.run.state = RunState::ended;
  one.run.verdict = Verdict::valid;
  one.run.metrics = std::move(metrics);
  one.run.spec = {{"kind", "train"}, {"model", "mlp"}, {"device", "cuda"}, {"batch_size", 32}, {"epochs", 50}};
  one.run.spec_hash = "0123456789abcdef";
  one.run.provenance.hostname = "gpu01";
  return one;
}

inline RecordedRun sized_run(std::string id, int ranks, int nodes, std::map<std::string, double> metrics) {
  RecordedRun one = finished_run(std::move(id), std::move(metrics));
  one.run.study = "study1";
  one.run.variant = nodes > 1 ? fmt::format("ranks={}, nodes={}", ranks, nodes) : fmt::format("ranks={}", ranks);
  one.run.ranks = ranks;
  one.run.nodes = nodes;
  return one;
}

inline RecordedRun variant_run(std::string id, std::string variant, double samples_per_second, double seq_length) {
  RecordedRun one = finished_run(std::move(id), {{"samples_per_second", samples_per_second},
                                                 {"tokens_per_second", samples_per_second * seq_length}});
  one.run.study = "study1";
  one.run.variant = std::move(variant);
  one.run.spec["seq_length"] = seq_length;
  return one;
}

/// The scaling guide's three jobs.
inline ReportInput scaling_input() {
  ReportInput input{.title = "scaling"};
  const auto add = [&](std::string id, int ranks, int nodes, double seconds, double loss, double accuracy) {
    input.runs.push_back(sized_run(std::move(id), ranks, nodes,
                                   {{"train_seconds", seconds},
                                    {"samples_done", 500'000},
                                    {"epochs_done", 50},
                                    {"val_loss", loss},
                                    {"val_accuracy", accuracy}}));
  };
  add("one", 1, 1, 362.45, 0.1187, 0.9530);
  add("four", 4, 1, 95.23, 0.1192, 0.9525);
  add("eight", 8, 2, 57.14, 0.1190, 0.9527);
  return input;
}

inline const FigureTable* find_table(const Document& document, std::string_view id) {
  for (const auto& section : document.sections) {
    for (const auto& block : section.blocks) {
      const auto* table = std::get_if<FigureTable>(&block);
      if (table != nullptr && table->id == id) return table;
    }
  }
  return nullptr;
}

/// The printed figures of one column, from the top.
inline std::vector<std::string> column_of(const Document& document, std::string_view table_id, std::string_view key) {
  std::vector<std::string> texts;
  const FigureTable* table = find_table(document, table_id);
  if (table == nullptr) return texts;
  for (std::size_t i = 0; i < table->columns.size(); ++i) {
    if (table->columns[i].key != key) continue;
    for (const auto& row : table->rows) texts.push_back(row[i].text);
  }
  return texts;
}

inline std::vector<Finding> findings_in(const Document& document, std::string_view id) {
  for (const auto& section : document.sections) {
    for (const auto& block : section.blocks) {
      const auto* list = std::get_if<FindingList>(&block);
      if (list != nullptr && list->id == id) return list->findings;
    }
  }
  return {};
}

/// Names and values of a list of facts.
inline std::vector<std::pair<std::string, std::string>> facts_in(const Document& document, std::string_view id) {
  for (const auto& section : document.sections) {
    for (const auto& block : section.blocks) {
      const auto* list = std::get_if<FactList>(&block);
      if (list != nullptr && list->id == id) return list->facts;
    }
  }
  return {};
}

inline std::vector<std::string> issue_rules_in(const Document& document) {
  std::vector<std::string> rules;
  for (const auto& finding : findings_in(document, "issues")) rules.push_back(finding.rule);
  return rules;
}

inline const ChartBlock* find_chart(const Document& document, std::string_view id) {
  for (const auto& section : document.sections) {
    for (const auto& block : section.blocks) {
      const auto* chart = std::get_if<ChartBlock>(&block);
      if (chart != nullptr && chart->id == id) return chart;
    }
  }
  return nullptr;
}

}  // namespace assay
