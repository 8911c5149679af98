#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace assay {

/// What a ClientWatch of a test takes for /proc.
class FakeProc {
 public:
  FakeProc() {
    char pattern[] = "/tmp/assay-proc-XXXXXX";
    folder = ::mkdtemp(pattern);
  }
  ~FakeProc() { std::filesystem::remove_all(folder); }
  FakeProc(const FakeProc&) = delete;
  FakeProc& operator=(const FakeProc&) = delete;
  void write(const std::filesystem::path& name, const std::string& text) const {
    std::filesystem::create_directories((folder / name).parent_path());
    std::ofstream(folder / name) << text;
  }
  void schedstat(long thread, long on_cpu_ns, long waited_ns) const {
    write("self/task/" + std::to_string(thread) + "/schedstat",
          std::to_string(on_cpu_ns) + " " + std::to_string(waited_ns) + " 7\n");
  }
  std::filesystem::path folder;
};

}  // namespace assay
