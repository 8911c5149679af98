#include "requests/generated_requests.h"

#include <fmt/format.h>

#include <algorithm>

#include "requests/words.h"

namespace assay {
namespace {

// Blocks of the generator that a prompt may take: 2^24 of them are 2^28 words.
constexpr unsigned kBlocksPerPrompt = 24;

class GeneratedRequests final : public RequestSet {
 public:
  explicit GeneratedRequests(GeneratedOptions options)
      : options_(std::move(options)),
        inputs_(options_.seed.combined(), "input lengths"),
        outputs_(options_.seed.combined(), "output lengths"),
        picks_(options_.seed.combined(), "prefix of a prompt"),
        prefixes_(options_.seed.combined(), "words of prefixes"),
        words_(options_.seed.combined(), "words of prompts") {}

  std::uint64_t size() const override { return 0; }

  void make(std::uint64_t index, PromptRequest& into) const override {
    into.clear();
    Random inputs = at(inputs_, index);
    Random outputs = at(outputs_, index);
    into.input_tokens = options_.input.draw(inputs);
    into.output_tokens = options_.output.draw(outputs);
    const auto shared = static_cast<std::uint32_t>(into.input_tokens * options_.shared_prefix + 0.5);
    if (shared > 0) {
      Random pick = at(picks_, index);
      Random prefix = at(prefixes_, pick.below(options_.prefixes) << kBlocksPerPrompt);
      append_words(shared, prefix, into.prompt);
    }
    std::uint32_t left = into.input_tokens - shared;
    if (!options_.instruction.empty()) {
      if (!into.prompt.empty()) into.prompt += ' ';
      into.prompt += options_.instruction;
      left -= std::min(left, options_.instruction_tokens);
    }
    Random words = at(words_, index << kBlocksPerPrompt);
    append_words(left, words, into.prompt);
  }

 private:
  static Random at(const Random& stream, std::uint64_t block) {
    Random there = stream;
    there.skip_to(block);
    return there;
  }

  GeneratedOptions options_;
  Random inputs_;
  Random outputs_;
  Random picks_;
  Random prefixes_;
  Random words_;
};

/// 32 in nine of ten cases, else 19 … 31: a mean of 31.3 under a cap of 32.
std::vector<std::uint32_t> capped_summaries() {
  std::vector<std::uint32_t> lengths(std::size_t{9} * 13, 32);
  for (std::uint32_t length = 19; length <= 31; ++length) lengths.push_back(length);
  return lengths;
}

}  // namespace

Result<std::unique_ptr<RequestSet>> generate_requests(GeneratedOptions options) {
  if (!(options.shared_prefix >= 0 && options.shared_prefix <= 1)) {
    return Error{
        .kind = ErrorKind::bad_spec,
        .message = fmt::format("the shared share {} of a prompt is not within 0 and 1", options.shared_prefix)};
  }
  if (options.prefixes == 0) {
    return Error{.kind = ErrorKind::bad_spec, .message = "there must be at least one shared prefix"};
  }
  return std::unique_ptr<RequestSet>(std::make_unique<GeneratedRequests>(std::move(options)));
}

const std::vector<RequestShape>& built_in_shapes() {
  static const std::vector<RequestShape> shapes = {
      {.name = "summarisation",
       .about = "short texts and their summaries: 66.8 tokens in, 31.3 out, at most 32",
       .instruction = "Summarise the text:",
       .instruction_tokens = 4,
       .input = Lengths::lognormal(66.8, 20, {.least = 16, .most = 256}).value(),
       .output = Lengths::histogram(capped_summaries()).value()},
      {.name = "news",
       .about = "articles like those of CNN-DailyMail: 780 tokens in, 128 out",
       .instruction = "Summarise the following news article in 128 tokens:",
       .instruction_tokens = 10,
       .input = Lengths::lognormal(780, 380, {.least = 64, .most = 2540}).value(),
       .output = Lengths::fixed(128)},
  };
  return shapes;
}

const RequestShape* find_shape(std::string_view name) {
  for (const RequestShape& shape : built_in_shapes()) {
    if (shape.name == name) return &shape;
  }
  return nullptr;
}

}  // namespace assay
