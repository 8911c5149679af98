#include <chrono>
#include <csignal>
#include <filesystem>
#include <string_view>

#include "base/guard.h"
#include "launch/hosted/job_programs.h"
#include "launch/local/local_launcher.h"

// As much of `assay` as a place of jobs needs, for tests of launchers: they bring it there in place of the whole.

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == assay::kGuardArgument) return assay::guard_main(argc, argv);
  std::signal(SIGPIPE, SIG_IGN);
  const auto self = std::filesystem::read_symlink("/proc/self/exe");
  return assay::job_program_main(
      argc, argv,
      {.self = self,
       .make_launcher =
           [&] {
             return assay::make_local_launcher(assay::Programs{.self = self, .engine = assay::find_engine(self)});
           },
       .describe_machine = [] { return assay::json::object{{"hostname", "the-place"}}; },
       .extra_time = std::chrono::seconds(1)});
}
