#pragma once

#include <string>

#include "report/text/style.h"
#include "top_model.h"

namespace assay {

struct TopView {
  bool gpus = false;  ///< a line for each GPU instead of each node
  enum class Sort { name, use, temperature, power } sort = Sort::name;
  std::size_t first = 0;  ///< how many lines are scrolled away
  bool help = false;      ///< the keys instead of the cluster
};

/// The keys that `assay top` knows, in one line.
extern const char* const kTopKeys;

/// One picture of the cluster, at most `rows` lines, each at most as wide as the terminal.
std::string draw_top(const TopModel& model, const TopView& view, const TerminalStyle& style, std::size_t rows,
                     const std::string& notice);

}  // namespace assay
