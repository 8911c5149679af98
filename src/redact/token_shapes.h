#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace assay {

/// Where the credential ends that starts exactly at `at`, if one of a known shape does: our own, AWS, GitHub, GitLab,
/// Slack, Hugging Face, W&B, OpenAI, Google, NVIDIA, npm, PyPI and Docker tokens, and JSON Web Tokens. A hash or a UUID
/// is none. To be asked only where a word starts (letters, digits, `_` and `-` make words): within one it finds too
/// much, and a long row of "sk-sk-sk-…" would be read again and again.
std::optional<std::size_t> token_shape_end(std::string_view text, std::size_t at);

/// Whether the first line of a PEM private key starts at `at`.
bool starts_private_key(std::string_view text, std::size_t at);

/// Where the PEM private key that starts at `at` ends; without an end mark, the end of the text.
std::optional<std::size_t> private_key_end(std::string_view text, std::size_t at);

}  // namespace assay
