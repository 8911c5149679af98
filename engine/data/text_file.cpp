#include "data/text_file.h"

#include <limits>
#include <utility>
#include <vector>

#include "data/batch_rows.h"
#include "data/describe.h"
#include "formats/failure.h"
#include "formats/mapped_file.h"

namespace assay::engine {
namespace {

constexpr std::int64_t kBytesPerToken = 5;

MappedFile open_file(const std::string& path) {
  MappedFile file(path);
  if (file.text().empty()) throw Failure("bad_file", "the text '" + path + "' is empty", "Take another file.");
  return file;
}

/// What the three kinds of text have in common.
class Text : public Dataset {
 public:
  explicit Text(const TextOptions& options)
      : path_(options.path),
        shape_{.kind = DataShape::Kind::tokens,
               .vocabulary = options.encoder ? options.encoder->vocabulary : kByteVocabulary,
               .seq_length = options.seq_length} {}

  const DataShape& shape() const override { return shape_; }
  std::int64_t samples() const override { return samples_; }
  std::string description() const override {
    return "text '" + path_ + "', " + grouped(samples_) + " samples of " + grouped(shape_.seq_length) + " tokens, " +
           how_encoded();
  }

 protected:
  /// `size` things of a kind (`unit`), of which a sample takes `needed`, make `available` samples.
  void set_samples(const TextOptions& options, std::int64_t available, std::int64_t size, const std::string& unit,
                   std::int64_t needed) {
    const std::string name = "the text '" + path_ + "'";
    if (available < 1) {
      throw Failure("bad_file",
                    name + " has " + grouped(size) + " " + unit + ", but a sample of " + grouped(shape_.seq_length) +
                        " tokens needs " + grouped(needed),
                    "Take a longer text or a smaller 'seq_length'.");
    }
    samples_ = options.samples.value_or(available);
    if (samples_ > available) {
      throw Failure("bad_spec",
                    "'dataset.samples' is " + grouped(samples_) + ", but " + name + " has only " + grouped(available) +
                        " samples of " + grouped(shape_.seq_length) + " tokens",
                    "Leave 'dataset.samples' out to use the whole file.");
    }
  }
  virtual std::string how_encoded() const = 0;

 private:
  std::string path_;
  DataShape shape_;
  std::int64_t samples_ = 0;
};

class ByteText : public Text {
 public:
  explicit ByteText(const TextOptions& options) : Text(options), file_(open_file(options.path)) {
    const auto size = std::ssize(file_.text());
    set_samples(options, (size - 1) / options.seq_length, size, "bytes", options.seq_length + 1);
  }

  void fill(std::span<const std::int64_t> indices, Batch& batch) const override {
    BatchRows<std::int64_t> rows(shape(), batch, indices.size());
    for (std::size_t row = 0; row < indices.size(); ++row) {
      const std::byte* first = file_.bytes().data() + indices[row] * shape().seq_length;
      write_tokens(rows.inputs(row), rows.targets(row), [&](std::size_t position) { return first[position]; });
    }
  }

 private:
  std::string how_encoded() const override { return "one token per byte"; }

  MappedFile file_;
};

class AheadText : public Text {
 public:
  explicit AheadText(const TextOptions& options)
      : Text(options),
        tokenizer_(options.encoder->name),
        tokens_(open_file(options.path).text(), *options.encoder, most_tokens(options)) {
    set_samples(options, (tokens_.size() - 1) / options.seq_length, tokens_.size(), "tokens", options.seq_length + 1);
  }

  void fill(std::span<const std::int64_t> indices, Batch& batch) const override {
    BatchRows<std::int64_t> rows(shape(), batch, indices.size());
    std::vector<std::int32_t> window(static_cast<std::size_t>(shape().seq_length + 1));
    for (std::size_t row = 0; row < indices.size(); ++row) {
      tokens_.copy(indices[row] * shape().seq_length, window);
      write_tokens(rows.inputs(row), rows.targets(row), [&](std::size_t position) { return window[position]; });
    }
  }

 private:
  static std::int64_t most_tokens(const TextOptions& options) {
    constexpr auto kAll = std::numeric_limits<std::int64_t>::max();
    if (!options.samples || *options.samples >= kAll / options.seq_length) return kAll;
    return *options.samples * options.seq_length + 1;
  }
  std::string how_encoded() const override { return "encoded ahead with '" + tokenizer_ + "'"; }

  std::string tokenizer_;
  EncodedText tokens_;
};

class OnTheFlyText : public Text {
 public:
  explicit OnTheFlyText(const TextOptions& options)
      : Text(options),
        encoder_(*options.encoder),
        file_(open_file(options.path)),
        window_(kBytesPerToken * (options.seq_length + 1)) {
    const auto size = std::ssize(file_.text());
    set_samples(options, size / window_, size, "bytes", window_);
  }

  void fill(std::span<const std::int64_t> indices, Batch& batch) const override {
    BatchRows<std::int64_t> rows(shape(), batch, indices.size());
    for (std::size_t row = 0; row < indices.size(); ++row) {
      const std::vector<std::int32_t> tokens = encoder_.encode_checked(window(indices[row]));
      if (tokens.empty()) {
        throw Failure("bad_file", "the tokenizer '" + encoder_.name + "' makes no tokens of the " + grouped(window_) +
                                      " bytes from " + grouped(indices[row] * window_) + " on of the text");
      }
      write_tokens(rows.inputs(row), rows.targets(row),
                   [&](std::size_t position) { return tokens[position % tokens.size()]; });
    }
  }

 private:
  std::string_view window(std::int64_t index) const {
    const std::string_view text = file_.text();
    const std::size_t begin = character_start(text, static_cast<std::size_t>(index * window_));
    const std::size_t end = character_start(text, static_cast<std::size_t>((index + 1) * window_));
    return text.substr(begin, end - begin);
  }
  std::string how_encoded() const override { return "encoded on the fly with '" + encoder_.name + "'"; }

  TextEncoder encoder_;
  MappedFile file_;
  std::int64_t window_;
};

}  // namespace

std::unique_ptr<Dataset> open_text(const TextOptions& options) {
  if (!options.encoder) return std::make_unique<ByteText>(options);
  if (options.encode_ahead) return std::make_unique<AheadText>(options);
  return std::make_unique<OnTheFlyText>(options);
}

}  // namespace assay::engine
