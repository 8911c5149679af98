#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

/// What replaces a secret.
inline constexpr std::string_view kRedacted = "[redacted]";

/// Replaces what looks like a credential: known token shapes (AWS, GitHub, GitLab, Slack, Hugging Face, W&B, OpenAI,
/// JWT, PEM private keys), `password=…`, `--token …`, `Authorization: Bearer …`, `user:password@` in URLs. Plain text
/// comes back unchanged.
std::string redact(std::string_view text);

/// The same over a command line, where a flag and its value are two arguments.
std::vector<std::string> redact_command(const std::vector<std::string>& arguments);

/// Of our environment, what a workload gets that others ask for: what `shareable_environment` would show unchanged, and
/// where programs, libraries and the user's files are. No secret of whoever starts it, known to us or not.
std::map<std::string, std::string> workload_environment(const std::map<std::string, std::string>& environment);

/// The variables that say something about a benchmark (CUDA_*, OMP_*, NCCL_*, PATH-like ones left out …), redacted.
std::map<std::string, std::string> shareable_environment(const std::map<std::string, std::string>& environment);

}  // namespace assay
