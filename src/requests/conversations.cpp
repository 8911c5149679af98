#include "requests/conversations.h"

#include "requests/words.h"

namespace assay {
namespace {

// Blocks of the generator that one message may take: 2^24 of them are 2^28 words.
constexpr unsigned kBlocksPerMessage = 24;

class Conversations final : public RequestSet {
 public:
  explicit Conversations(ConversationOptions options)
      : options_(std::move(options)),
        lengths_(options_.seed.combined(), "lengths of messages"),
        words_(options_.seed.combined(), "words of messages"),
        system_(options_.seed.combined(), "words of the system message") {}

  std::uint64_t size() const override { return 0; }

  void make(std::uint64_t index, PromptRequest& into) const override {
    into.clear();
    const std::uint64_t block = std::uint64_t{options_.active} * options_.turns;
    const std::uint64_t conversation = index / block * options_.active + index % options_.active;
    const std::uint64_t turn = index % block / options_.active;
    if (options_.system_tokens > 0) {
      Random words = system_;
      add("system", options_.system_tokens, words, into);
    }
    for (std::uint64_t t = 0; t <= turn; ++t) {
      const std::uint64_t question = (conversation * options_.turns + t) * 2;
      add_message("user", question, options_.input, into);
      if (t < turn) add_message("assistant", question + 1, options_.output, into);
    }
    const std::uint64_t answer = (conversation * options_.turns + turn) * 2 + 1;
    into.output_tokens = length_of(answer, options_.output);
  }

 private:
  std::uint32_t length_of(std::uint64_t message, const Lengths& lengths) const {
    Random random = lengths_;
    random.skip_to(message);
    return lengths.draw(random);
  }

  void add_message(const char* role, std::uint64_t message, const Lengths& lengths, PromptRequest& into) const {
    Random words = words_;
    words.skip_to(message << kBlocksPerMessage);
    add(role, length_of(message, lengths), words, into);
  }

  static void add(const char* role, std::uint32_t tokens, Random& words, PromptRequest& into) {
    ChatMessage& message = into.messages.emplace_back();
    message.role = role;
    append_words(tokens, words, message.content);
    into.input_tokens += tokens;
  }

  ConversationOptions options_;
  Random lengths_;
  Random words_;
  Random system_;
};

}  // namespace

Result<std::unique_ptr<RequestSet>> make_conversations(ConversationOptions options) {
  if (options.turns == 0 || options.active == 0) {
    return Error{.kind = ErrorKind::bad_spec,
                 .message = "a conversation needs at least one turn, and one conversation must be active"};
  }
  return std::unique_ptr<RequestSet>(std::make_unique<Conversations>(std::move(options)));
}

}  // namespace assay
