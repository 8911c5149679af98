#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace assay {

// What a load was like beyond its figures: distributions, endpoints, answers, probes. A run of `kind: serve` leaves it
// among its artifacts, so that reports draw it without the records of every request. Some ten kilobytes.

inline constexpr int kLoadProfileSchema = 1;
inline constexpr std::string_view kLoadProfileFile = "load.json";
/// Values of a distribution that are kept: every one of fewer, else this many at even steps of rank.
inline constexpr std::size_t kMostQuantiles = 1001;
/// Endpoints that are kept; `LoadProfile::endpoints_left_out` counts the others.
inline constexpr std::size_t kMostEndpoints = 128;

/// A distribution of times. `quantiles_ns[i]` is the value of rank ⌊i·(count−1)/(n−1)⌋ of all: the first is the
/// smallest, the last the largest, and each was measured.
struct TimeDistribution {
  std::uint64_t count = 0;  ///< 0: nothing was measured
  double mean_ns = 0;
  std::vector<std::int64_t> quantiles_ns;  ///< ascending
  bool operator==(const TimeDistribution&) const = default;
};

/// What one endpoint answered.
struct EndpointLoad {
  std::string address;
  std::uint64_t requests = 0;
  std::uint64_t ok = 0;
  std::uint64_t output_tokens = 0;
  std::optional<double> mean_latency_s;  ///< of those that ended well
  std::optional<double> latency_p50_s;
  std::optional<double> latency_p99_s;
  std::optional<double> ttft_p50_s;
  std::optional<double> ttft_p99_s;
  bool operator==(const EndpointLoad&) const = default;
};

/// What answers were like, of requests that ended well unless said otherwise.
struct AnswerProfile {
  std::uint64_t answers = 0;
  std::uint64_t without_tokens = 0;  ///< errors: the server answered with nothing
  std::uint32_t fewest_tokens = 0;
  std::uint32_t most_tokens = 0;
  double mean_tokens = 0;
  /// As the server named them ("stop", "length"), of the whole load with its warm-up; empty: it named none.
  std::map<std::string, std::uint64_t> finish_reasons;
  bool operator==(const AnswerProfile&) const = default;
};

/// What one of the clients that carried a load together did, of requests due after the warm-up.
struct ClientLoad {
  std::string name;  ///< "client 1 on gpu02"
  std::uint64_t requests = 0;
  std::uint64_t ok = 0;
  std::uint64_t lost = 0;
  std::optional<double> lateness_p99_s;  ///< of open loops
  double waited_share = 0;               ///< of the time, for a CPU
  double stolen_share = 0;               ///< of its machine's CPU time, by the hypervisor
  double clock_bound_s = 0;              ///< how well its clock was known
  std::string lost_reason;               ///< why it did not stay to the end; empty: it did
  bool operator==(const ClientLoad&) const = default;
};

/// One load of a search for the highest rate.
struct ProbedLoad {
  double offered = 0;  ///< requests a second
  double completed = 0;
  std::optional<double> latency_p99_s;
  bool kept = false;            ///< every limit
  bool client_limited = false;  ///< it says nothing of the server
  bool operator==(const ProbedLoad&) const = default;
};

struct LoadProfile {
  TimeDistribution latency;  ///< multi_stream: of queries
  TimeDistribution first_token;
  TimeDistribution per_output_token;
  TimeDistribution inter_token;  ///< with `token_times`
  std::vector<EndpointLoad> endpoints;
  std::uint64_t endpoints_left_out = 0;
  AnswerProfile answers;
  std::vector<ClientLoad> clients;  ///< empty: one carried the load alone
  std::vector<ProbedLoad> probes;   ///< of `find_peak`, in the order in which they were made
  bool operator==(const LoadProfile&) const = default;
};

json::object to_json(const LoadProfile& profile);
/// Errors: bad_file. Quantiles that do not ascend, and more of anything than is ever written, are errors.
Result<LoadProfile> load_profile_from_json(const json::value& value);

}  // namespace assay
