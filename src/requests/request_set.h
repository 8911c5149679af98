#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace assay {

/// One message of a chat.
struct ChatMessage {
  std::string role;  ///< "system", "user", "assistant"
  std::string content;
  bool operator==(const ChatMessage&) const = default;
};

/// What one request asks of a server. Either `messages` or, where they are empty, `prompt`.
struct PromptRequest {
  std::string prompt;
  std::vector<ChatMessage> messages;
  std::uint32_t input_tokens = 0;   ///< an estimate (see README.md); 0: unknown
  std::uint32_t output_tokens = 0;  ///< the most tokens to generate; 0: what the server does by itself
  std::string reference;            ///< the answer that is held to be right; may be empty
  bool operator==(const PromptRequest&) const = default;

  /// Empties it and keeps its memory, so that making the next one allocates nothing.
  void clear();
};

/// The requests of a load. Immutable after it was made: any number of threads may use it.
class RequestSet {
 public:
  virtual ~RequestSet() = default;

  /// How many different requests there are; 0: endless.
  virtual std::uint64_t size() const = 0;
  /// Writes request `index` over `into`. Does not fail: what could be wrong was found when the set was made. An index
  /// beyond `size` begins again from the front.
  virtual void make(std::uint64_t index, PromptRequest& into) const = 0;
};

/// The requests that client `index` of `count` makes of an endless set: its request j is number j·count + index, so
/// that no two clients ask the same. A set with an end, or none, and one client stay as they are.
std::shared_ptr<const RequestSet> requests_of_share(std::shared_ptr<const RequestSet> set, std::uint32_t index,
                                                    std::uint32_t count);

/// What a prefix cache must not carry from one result to the next: prompts are drawn for a cell of a study alone.
struct RequestSeed {
  std::uint64_t seed = 0;
  std::string cell;  ///< names run, configuration and repeat: "r-81/rate=20"

  /// The seed to give to `Random` for this cell.
  std::uint64_t combined() const;
};

}  // namespace assay
