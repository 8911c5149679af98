#include <algorithm>
#include <utility>

#include "data/cifar10.h"
#include "data/dataset.h"
#include "data/describe.h"
#include "data/markov_text.h"
#include "data/masked_tokens.h"
#include "data/spiral.h"
#include "data/synthetic_images.h"
#include "data/synthetic_tokens.h"
#include "data/text_file.h"
#include "formats/failure.h"
#include "formats/tokenizer.h"
#include "formats/train_spec.h"

namespace assay::engine {
namespace {

constexpr std::int64_t kGeneratedSamples = 10'000;

/// Before the text is encoded, which may take minutes.
void check_vocabulary(const std::string& who, std::int64_t needed, std::int64_t model_vocabulary) {
  if (model_vocabulary == 0 || needed <= model_vocabulary) return;
  throw Failure("bad_spec",
                who + " has a vocabulary of " + grouped(needed) + ", but the model knows " + grouped(model_vocabulary) +
                    " tokens only",
                "Set 'model.vocabulary' to " + std::to_string(needed) +
                    " or more, or take the tokenizer that belongs to the model.");
}

TextOptions text_options(const TrainSpec& spec, std::int64_t model_vocabulary) {
  TextOptions options{.path = spec.dataset.path(),
                      .seq_length = spec.seq_length,
                      .samples = spec.dataset.samples,
                      .encode_ahead = spec.tokenize_ahead};
  if (spec.dataset.tokenizer.empty()) {
    check_vocabulary("text of bytes", kByteVocabulary, model_vocabulary);
    return options;
  }
  auto tokenizer = std::make_shared<const Tokenizer>(Tokenizer::read(spec.dataset.tokenizer));
  check_vocabulary("the tokenizer '" + spec.dataset.tokenizer + "'", tokenizer->vocabulary(), model_vocabulary);
  options.encoder = TextEncoder{.name = spec.dataset.tokenizer,
                                .vocabulary = tokenizer->vocabulary(),
                                .encode = [tokenizer](std::string_view text) { return tokenizer->encode(text); }};
  return options;
}

std::unique_ptr<Dataset> open(const TrainSpec& spec, std::int64_t model_vocabulary) {
  const DatasetSpec& data = spec.dataset;
  const std::int64_t samples = data.samples.value_or(kGeneratedSamples);
  if (data.is_text()) return open_text(text_options(spec, model_vocabulary));
  if (data.is_cifar10()) return std::make_unique<Cifar10>(data.path(), data.samples);
  if (data.name == "spiral") {
    return std::make_unique<Spiral>(
        Spiral::Options{.seed = spec.seed, .samples = samples, .arms = data.arms, .noise = data.noise});
  }
  if (data.name == "synthetic-images") {
    return std::make_unique<SyntheticImages>(SyntheticImages::Options{.seed = spec.seed, .samples = samples});
  }
  if (data.name == "synthetic-tokens") {
    SyntheticTokens::Options options{.seed = spec.seed, .samples = samples, .seq_length = spec.seq_length};
    if (model_vocabulary > 0) options.vocabulary = model_vocabulary;
    return std::make_unique<SyntheticTokens>(options);
  }
  if (data.name == "markov-text") {
    MarkovText::Options options{.seed = spec.seed, .samples = samples, .seq_length = spec.seq_length};
    if (model_vocabulary > 0) options.vocabulary = std::min(options.vocabulary, model_vocabulary);
    return std::make_unique<MarkovText>(options);
  }
  throw Failure("bad_spec", "there is no data set '" + data.name + "'");
}

void check_task(const TrainSpec& spec) {
  const std::string& name = spec.dataset.name;
  const bool tokens = spec.dataset.is_text() || name == "synthetic-tokens" || name == "markov-text";
  if (tokens == spec.is_language()) return;
  throw Failure("bad_spec",
                "the task '" + std::string(name_of(spec.task)) + "' cannot learn from the data set '" + name + "'",
                tokens ? "For tokens take 'pretrain', 'masked-lm', 'finetune' or 'lora'."
                       : "Take 'synthetic-tokens', 'markov-text' or 'text:PATH', or the task 'classification'.");
}

}  // namespace

std::unique_ptr<Dataset> make_dataset(const TrainSpec& spec, std::int64_t model_vocabulary) {
  check_task(spec);
  std::unique_ptr<Dataset> dataset = open(spec, model_vocabulary);
  if (spec.task != Task::masked_lm) return dataset;
  return std::make_unique<MaskedTokens>(std::move(dataset), spec.seed, model_vocabulary);
}

}  // namespace assay::engine
