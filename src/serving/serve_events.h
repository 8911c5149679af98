#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/result.h"
#include "model/flag.h"

namespace assay {

/// Says what happens, in the words of the workload protocol (docs/guides/workload-protocol.md). Any thread. What cannot
/// be written is dropped: whoever would have read it is gone.
class ServeEvents {
 public:
  /// `where` as ASSAY_EVENTS has it: `fd:N`, `file:PATH`; standard output for anything else.
  explicit ServeEvents(std::string_view where);

  void hello(json::object fields) { say("hello", std::move(fields)); }
  void phase(std::string_view name) { say("phase", {{"name", name}}); }
  /// The live figures of a second of the load.
  void step(std::int64_t second, json::object metrics);
  void result(json::object metrics, const std::vector<Flag>& flags);
  void error(const Error& error);

 private:
  void say(std::string_view type, json::object fields);

  std::mutex mutex_;
  int descriptor_;
  FileDescriptor opened_;
};

}  // namespace assay
