#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/openmp.h"
#include "core/self_check.h"
#include "formats/events.h"
#include "probe/probe_command.h"
#include "train/train.h"

namespace {

using boost::json::object;
using namespace std::string_view_literals;

// The exit codes of `assay`.
constexpr int kDone = 0;
constexpr int kUsage = 2;
constexpr int kCannot = 3;

constexpr std::string_view kHelp =
    "assay-engine: the ML workloads of Assay. `assay run` starts it; it can be used by hand as well.\n"
    "\n"
    "  assay-engine train --spec FILE.json [--ranks N] [--profile N [--trace FILE]]\n"
    "                                  train a model; events of the workload protocol go to ASSAY_EVENTS or stdout\n"
    "  assay-engine train --spec FILE.json --gradients FILE.safetensors\n"
    "                                  only the gradients of the first step, in the layout of weights\n"
    "  assay-engine probe [--json] [--device cpu|cuda] [--ranks N]\n"
    "                                  what this machine can do at most: matrix products, memory, transfers, "
    "all-reduce\n"
    "  assay-engine check [--json]     load LibTorch, multiply matrices in fp32 and bf16, list CUDA devices\n"
    "  assay-engine version [--json]\n"
    "  assay-engine --help\n";

/// The envelope that every `--json` answer of Assay has.
void print_json(std::string_view command, std::string_view member, object content) {
  std::cout << boost::json::serialize(object{{"assay", ASSAY_ENGINE_VERSION},
                                             {"schema", 1},
                                             {"command", command},
                                             {"ok", member == "result"},
                                             {member, std::move(content)}})
            << '\n';
}

int version(bool json) {
  const std::string torch = assay::engine::torch_version();
  if (json) {
    print_json("version", "result", {{"engine", ASSAY_ENGINE_VERSION}, {"torch", torch}});
  } else {
    std::cout << "assay-engine " << ASSAY_ENGINE_VERSION << " (LibTorch " << torch << ")\n";
  }
  return kDone;
}

int check(bool json) {
  try {
    const auto found = assay::engine::check_this_machine();
    if (json) {
      print_json("check", "result", to_json(found));
    } else {
      std::cout << to_text(found);
    }
    return kDone;
  } catch (const std::exception& error) {
    if (json) print_json("check", "error", {{"kind", "unsupported"}, {"message", error.what()}});
    std::cerr << "assay-engine: the check failed: " << error.what() << '\n';
    return kCannot;
  }
}

int unsupported(std::string_view command) {
  const std::string message = "this assay-engine (" ASSAY_ENGINE_VERSION ") cannot '" + std::string(command) + "'";
  const std::string hint = "'assay-engine --help' lists what it can";
  assay::engine::emit_event("error", {{"kind", "unsupported"}, {"message", message}, {"hint", hint}});
  std::cerr << "assay-engine: " << message << "; " << hint << ".\n";
  return kCannot;
}

int usage_error(const std::string& message) {
  std::cerr << "assay-engine: " << message << "\n\n" << kHelp;
  return kUsage;
}

int run(const std::vector<std::string_view>& arguments) {
  if (arguments.empty()) return usage_error("no command given");
  const std::string_view command = arguments[0];
  if (command == "--help"sv || command == "-h"sv || command == "help"sv) {
    std::cout << kHelp;
    return kDone;
  }
  const std::vector<std::string_view> rest(arguments.begin() + 1, arguments.end());
  if (std::find(rest.begin(), rest.end(), "--help"sv) != rest.end()) {
    std::cout << kHelp;
    return kDone;
  }
  if (command == "train"sv) return assay::engine::train_command(rest);
  if (command == "probe"sv) return assay::engine::probe_command(rest);
  const bool is_version = command == "version"sv || command == "--version"sv;
  if (!is_version && command != "check"sv) return unsupported(command);
  bool json = false;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] != "--json"sv) return usage_error("unknown argument '" + std::string(arguments[i]) + "'");
    json = true;
  }
  return is_version ? version(json) : check(json);
}

}  // namespace

int main(int argc, char** argv) {
  assay::engine::let_openmp_wait_politely(argv);
  // oneDNN's AMX kernels die of SIGILL in Debian's LibTorch; without AMX bf16 works. Read when oneDNN first runs.
  ::setenv("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16", 0);
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "assay-engine: " << error.what() << '\n';
    return kCannot;
  }
}
