#pragma once

#include <termios.h>

#include <string>

namespace assay {

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
  std::string typed_;  ///< and not yet asked for
};

}  // namespace assay
