#pragma once

#include <stdlib.h>

#include <fstream>
#include <string>

#include "base/files.h"
#include "telemetry/nvml/nvml_api.h"

namespace assay {

/// The fake NVML with one of the scripts of tests/fixtures/nvml, which a test goes on writing. One at a time in a
/// process, since the library finds its script through the environment; for tests.
class FakeDriver {
 public:
  FakeDriver(const fs::path& library, const fs::path& script) : library_(library), script_(folder_.path() / "script") {
    fs::copy_file(script, script_);
    use();
  }
  FakeDriver(const FakeDriver&) = delete;
  FakeDriver& operator=(const FakeDriver&) = delete;
  ~FakeDriver() { ::unsetenv("ASSAY_FAKE_NVML"); }

  /// Makes this the one that the library finds.
  void use() const { ::setenv("ASSAY_FAKE_NVML", script_.c_str(), 1); }
  /// From now on, in place of what the script said before.
  void set(const std::string& key, const std::string& value) {
    std::ofstream(script_, std::ios::app) << key << " = " << value << '\n';
  }
  const fs::path& script() const { return script_; }
  Result<nvml::Api> load() const { return nvml::load(library_.string()); }

 private:
  TemporaryFolder folder_;
  fs::path library_;
  fs::path script_;
};

}  // namespace assay
