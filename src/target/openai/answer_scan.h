#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

/// Why an answer ended, as servers say it.
enum class FinishReason : std::uint8_t { unknown, stop, length, tool_calls, content_filter, other };
inline constexpr std::size_t kFinishReasons = 6;
std::string_view name_of(FinishReason reason);  ///< as in OpenAI's API: "stop", "length", …; "unknown": not said
FinishReason finish_reason_of(std::string_view name);

/// What a chunk of a streamed answer, or a whole answer, says. Texts are as they stand in the JSON, escapes included,
/// and point into it.
struct AnswerPart {
  std::string_view text;      ///< of the first choice: delta.content, message.content or text; may be empty
  std::string_view thinking;  ///< of the first choice: reasoning_content or reasoning; tokens, too
  bool calls_tool = false;    ///< the first choice has tool_calls that are not empty
  bool finished = false;      ///< it has a finish_reason
  std::string_view finish_reason;
  bool has_choices = false;
  bool failed = false;                         ///< it is an error object: `message`
  std::string_view message;                    ///< of the error
  std::optional<std::uint32_t> output_tokens;  ///< usage.completion_tokens
  std::optional<std::uint32_t> input_tokens;   ///< usage.prompt_tokens
  std::optional<std::uint32_t> cached_tokens;  ///< usage.prompt_tokens_details.cached_tokens

  bool has_tokens() const { return !text.empty() || !thinking.empty() || calls_tool; }
};

/// Looks through JSON once, without building a tree: a few hundred nanoseconds for a chunk, where a parser takes
/// microseconds. Nothing where it is no JSON object (numbers and words within are not checked); at most 64 levels deep.
/// Where a key stands twice, its last value counts. Pure; any thread.
std::optional<AnswerPart> scan_answer(std::string_view json);

/// Appends a text as it stands in JSON, escapes replaced. What is no valid escape becomes U+FFFD.
void append_unescaped(std::string_view raw, std::string& out);

}  // namespace assay
