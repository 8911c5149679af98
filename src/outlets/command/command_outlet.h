#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "outlets/outlet.h"

namespace assay {

struct CommandOutletOptions {
  std::vector<std::string> command;  ///< a program and its arguments
  Nanos deadline = std::chrono::seconds(10);
};

/// The program gets the body on its standard input and must end with exit code 0. It is waited for, also when it is
/// time to stop.
std::unique_ptr<Outlet> make_command_outlet(CommandOutletOptions options);

}  // namespace assay
