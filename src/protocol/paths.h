#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "net/url_text.h"

// Where agents send their requests, and what these carry.

namespace assay {

inline constexpr std::string_view kAgentPaths = "/agent/v1";  ///< all of them are below
inline constexpr std::string_view kJoinPath = "/agent/v1/join";
inline constexpr std::string_view kHelloPath = "/agent/v1/hello";
inline constexpr std::string_view kBatchPath = "/agent/v1/batch";
inline constexpr std::string_view kCommandsPath = "/agent/v1/commands";
inline constexpr std::string_view kReportPath = "/agent/v1/commands/{id}";
inline constexpr std::string_view kJobsPath = "/agent/v1/jobs";
inline constexpr std::string_view kTakePath = "/agent/v1/jobs/{run}/take";
inline constexpr std::string_view kSlurmPath = "/agent/v1/slurm";
inline constexpr std::string_view kPartPath = "/agent/v1/jobs/{run}/part";
inline constexpr std::string_view kPartFramesPath = "/agent/v1/jobs/{run}/frames";

/// A path whose `{…}` is this id.
inline std::string path_of(std::string_view path, std::string_view id) {
  const auto begin = path.find('{');
  const auto end = path.find('}');
  return std::string(path.substr(0, begin)) + percent_encode(id) + std::string(path.substr(end + 1));
}

inline constexpr const char* kNodeHeader = "Assay-Node";  ///< whose key it is
inline constexpr const char* kSentHeader = "Assay-Sent";  ///< the sender's clock, in nanoseconds

inline constexpr const char* kBatchesType = "application/x-assay-batches";
inline constexpr std::size_t kBatchBodyBytes = std::size_t{4} << 20;
/// As many jobs of Slurm as are listed, with usual names.
inline constexpr std::size_t kSlurmBodyBytes = std::size_t{4} << 20;
inline constexpr const char* kAddressFact = "address";  ///< of an agent's hello: where other nodes reach it
/// 1 MiB of output, escaped as JSON.
inline constexpr std::size_t kReportBodyBytes = std::size_t{8} << 20;

}  // namespace assay
