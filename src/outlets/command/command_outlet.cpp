#include "outlets/command/command_outlet.h"

#include <fmt/format.h>

#include <utility>

#include "base/subprocess.h"
#include "base/text.h"

namespace assay {
namespace {

/// Of what the program says of its failure.
constexpr std::size_t kMostWords = 1024;

class CommandOutlet final : public Outlet {
 public:
  explicit CommandOutlet(CommandOutletOptions options) : options_(std::move(options)) {}

  std::string name() const override { return "the command for alerts"; }

  Result<void> deliver(const std::string& body, const std::stop_token&) override {
    ASSAY_TRY(const auto output, run_command(options_.command, {.deadline = options_.deadline, .input = body}));
    if (output.exit_code == 0) return {};
    return Error{.kind = ErrorKind::io,
                 .message = fmt::format("it ended with exit code {}: {}", output.exit_code.value_or(-1),
                                        printable(output.error.substr(0, kMostWords)))};
  }

 private:
  const CommandOutletOptions options_;
};

}  // namespace

std::unique_ptr<Outlet> make_command_outlet(CommandOutletOptions options) {
  return std::make_unique<CommandOutlet>(std::move(options));
}

}  // namespace assay
