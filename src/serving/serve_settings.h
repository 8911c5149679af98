#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "loadgen/arrivals.h"
#include "loadgen/dispatcher.h"
#include "loadgen/limits.h"
#include "requests/request_set.h"
#include "requests/trace_file.h"

namespace assay {

/// A specification of `kind: serve`, as one run of it needs it.
struct ServeSettings {
  json::object spec;            ///< all of it, canonical: targets and requests read what is theirs
  std::string target = "null";  ///< "null" or "openai"
  Nanos service_time{0};        ///< of null
  std::uint32_t slots = 0;
  std::string model;

  Scenario scenario = Scenario::server;
  double rate = 0;  ///< per second; 0: the scenario has none
  double unevenness = 1;
  Ramp ramp;
  std::uint32_t concurrency = 1;
  std::string trace_file;
  double speed_up = 1;
  bool accuracy = false;
  bool answers_in_json = false;  ///< asked for; accuracy mode looks whether they are
  bool loadgen_randomness = false;
  bool loadgen_equal_issue = false;  ///< every sample equally often
  std::uint64_t seed = 0;

  std::vector<LatencyLimit> limits;
  bool find_peak = false;  ///< the highest rate that keeps `limits`; `rate` is then where the search begins

  std::uint32_t input_tokens = 128;  ///< of null
  std::uint32_t output_tokens = 64;

  std::uint32_t clients = 1;  ///< that share the load
  std::uint64_t samples = 100;
  Nanos min_duration{0};
  Nanos warmup{0};
  Nanos request_timeout = std::chrono::minutes(1);
  double max_error_share = 1;
  bool token_times = false;
};

/// From canonical settings (`Spec::settings`). Errors: bad_spec, for what the specification's own checks leave to us:
/// the names of limits.
Result<ServeSettings> read_serve_settings(const json::object& settings);

/// What is asked for, and when where it was recorded.
struct ServeRequests {
  std::shared_ptr<const RequestSet> set;  ///< null for the target that does nothing
  std::uint32_t samples = 1024;           ///< different ones; for endless sets a number to count by
  bool endless = true;
  std::vector<Nanos> times;  ///< of a trace, since its first request
};
/// Makes or reads the requests. `cell` names run and probe: prompts of different cells have nothing in common. Reads
/// files.
Result<ServeRequests> make_serve_requests(const ServeSettings& settings, const std::string& cell);

/// The plan of one load at `rate`, as the client with that share carries it out.
LoadPlan plan_of(const ServeSettings& settings, const ServeRequests& requests, const LoadShare& share = {});

/// A hash of the contents of the files that the settings name. Reads them. Errors: those of reading.
Result<std::string> hash_of_files(const ServeSettings& settings);

}  // namespace assay
