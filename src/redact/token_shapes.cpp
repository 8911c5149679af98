#include "redact/token_shapes.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"

namespace assay {
namespace {

bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
bool is_alphanumeric(char c) { return is_letter(c) || is_digit(c); }
bool is_capital_or_digit(char c) { return is_capital(c) || is_digit(c); }
bool is_hexadecimal(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

constexpr std::string_view kPemBegin = "-----BEGIN ";
constexpr std::string_view kPemEnd = "-----END ";
constexpr std::string_view kPemDashes = "-----";

struct Shape {
  std::string_view prefix;
  bool (*character)(char);
  std::size_t least;         ///< characters after the prefix
  std::size_t most;          ///< 0: any number
  std::size_t unbroken = 0;  ///< so many letters and digits in a row must be among them
};

constexpr std::array kShapes = {
    Shape{"assay_", is_hexadecimal, 64, 64},       // our own: tokens and keys of nodes
    Shape{"assay-join:", is_hexadecimal, 64, 64},  // join tokens of before
    Shape{"AKIA", is_capital_or_digit, 16, 16},    // AWS access key
    Shape{"ASIA", is_capital_or_digit, 16, 16},    // AWS temporary access key
    Shape{"ghp_", is_alphanumeric, 20, 0},         // GitHub: personal, OAuth, user, server, refresh
    Shape{"gho_", is_alphanumeric, 20, 0},         //
    Shape{"ghu_", is_alphanumeric, 20, 0},         //
    Shape{"ghs_", is_alphanumeric, 20, 0},         //
    Shape{"ghr_", is_alphanumeric, 20, 0},         //
    Shape{"github_pat_", is_word, 22, 0},          //
    Shape{"glpat-", is_url_safe, 20, 0},           // GitLab: personal, deploy, runner, trigger
    Shape{"gldt-", is_url_safe, 20, 0},            //
    Shape{"glrt-", is_url_safe, 20, 0},            //
    Shape{"glptt-", is_url_safe, 20, 0},           //
    Shape{"xoxa-", is_url_safe, 10, 0},            // Slack
    Shape{"xoxb-", is_url_safe, 10, 0},            //
    Shape{"xoxe-", is_url_safe, 10, 0},            //
    Shape{"xoxp-", is_url_safe, 10, 0},            //
    Shape{"xoxr-", is_url_safe, 10, 0},            //
    Shape{"xoxs-", is_url_safe, 10, 0},            //
    Shape{"xapp-", is_url_safe, 20, 0},            //
    Shape{"hf_", is_alphanumeric, 30, 0},          // Hugging Face
    Shape{"wandb_v1_", is_word, 20, 0},            // W&B
    Shape{"local-", is_hexadecimal, 40, 40},       // W&B on one's own server
    Shape{"sk-", is_url_safe, 20, 0, 16},          // OpenAI, Anthropic; not "sk-learn-pipeline-version-1"
    Shape{"nvapi-", is_url_safe, 40, 0},           // NVIDIA
    Shape{"AIza", is_url_safe, 35, 0},             // Google
    Shape{"npm_", is_alphanumeric, 36, 0},         //
    Shape{"pypi-AgE", is_url_safe, 50, 0},         //
    Shape{"dckr_pat_", is_url_safe, 20, 0},        // Docker
};

std::size_t run_end(std::string_view text, std::size_t at, bool (*character)(char)) {
  while (at < text.size() && character(text[at])) ++at;
  return at;
}

bool has_unbroken(std::string_view text, std::size_t wanted) {
  std::size_t row = 0;
  for (const char c : text) {
    row = is_alphanumeric(c) ? row + 1 : 0;
    if (row >= wanted) return true;
  }
  return wanted == 0;
}

std::optional<std::size_t> shape_end(std::string_view text, std::size_t at, const Shape& shape) {
  if (!text.substr(at).starts_with(shape.prefix)) return std::nullopt;
  const std::size_t body = at + shape.prefix.size();
  const std::size_t end = run_end(text, body, shape.character);
  const std::size_t length = end - body;
  if (length < shape.least || (shape.most != 0 && length > shape.most)) return std::nullopt;
  if (end < text.size() && is_word(text[end])) return std::nullopt;
  if (!has_unbroken(text.substr(body, length), shape.unbroken)) return std::nullopt;
  return end;
}

/// Three parts with full stops between them; the first two are JSON objects in base64, which start with "eyJ".
std::optional<std::size_t> web_token_end(std::string_view text, std::size_t at) {
  constexpr std::size_t kLeast = 10;
  if (!text.substr(at).starts_with("eyJ")) return std::nullopt;
  const std::size_t first = run_end(text, at, is_url_safe);
  if (first - at < kLeast || !text.substr(first).starts_with(".eyJ")) return std::nullopt;
  const std::size_t second = run_end(text, first + 1, is_url_safe);
  if (second - first < kLeast || second >= text.size() || text[second] != '.') return std::nullopt;
  return run_end(text, second + 1, is_url_safe);
}

}  // namespace

std::optional<std::size_t> token_shape_end(std::string_view text, std::size_t at) {
  for (const auto& shape : kShapes) {
    if (shape.prefix.front() != text[at]) continue;
    if (const auto end = shape_end(text, at, shape)) return end;
  }
  return web_token_end(text, at);
}

bool starts_private_key(std::string_view text, std::size_t at) {
  constexpr std::size_t kLongestTitle = 64;
  if (!text.substr(at).starts_with(kPemBegin)) return false;
  const auto rest = text.substr(at + kPemBegin.size(), kLongestTitle);
  const auto end = rest.find(kPemDashes);
  if (end == std::string_view::npos) return false;
  const auto title = rest.substr(0, end);
  return title.find("PRIVATE KEY") != std::string_view::npos &&
         std::all_of(title.begin(), title.end(), [](char c) { return is_capital_or_digit(c) || c == ' '; });
}

std::optional<std::size_t> private_key_end(std::string_view text, std::size_t at) {
  if (!starts_private_key(text, at)) return std::nullopt;
  const auto end = text.find(kPemEnd, at + kPemBegin.size());
  if (end == std::string_view::npos) return text.size();
  const auto dashes = text.find(kPemDashes, end + kPemEnd.size());
  return dashes == std::string_view::npos ? text.size() : dashes + kPemDashes.size();
}

}  // namespace assay
