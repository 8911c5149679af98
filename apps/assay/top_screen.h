#pragma once

#include <termios.h>
#include <string>

#include "report/style.h"
#include "top_model.h"

namespace assay {

struct TopView {
  bool gpus = false;  ///< a line for each GPU instead of each node
  enum class Sort { name, use, temperature, power } sort = Sort::name;
  std::size_t first = 0;  ///< how many lines are scrolled away
};

/// One picture of the cluster, at most `rows` lines, each at most as wide as the terminal.
std::string draw_top(const TopModel& model, const TopView& view, const TerminalStyle& style, std::size_t rows,
                     const std::string& notice);

/// Takes the terminal over while it lives: its own screen, keys as they are pressed. Gives it back as it was.
class FullScreen {
 public:
  FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;
  ~FullScreen();

  /// Replaces what is shown.
  void show(const std::string& picture);
  /// The next key that was pressed; 0 if none was. Arrows are 'U' and 'D'.
  char key();
  static std::size_t rows();

 private:
  termios before_{};
  bool changed_ = false;
};

}  // namespace assay
