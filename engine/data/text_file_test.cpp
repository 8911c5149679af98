#include "data/text_file.h"

#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

#include "data/dataset_fixture.h"

namespace assay::engine {
namespace {

/// One token per word; its length is the token.
TextEncoder word_lengths() {
  return {.name = "words", .vocabulary = 100, .encode = [](std::string_view text) {
            std::vector<std::int32_t> tokens;
            std::int32_t length = 0;
            for (const char letter : text) {
              if (letter != ' ' && letter != '\n') {
                ++length;
              } else if (length > 0) {
                tokens.push_back(std::exchange(length, 0));
              }
            }
            if (length > 0) tokens.push_back(length);
            return tokens;
          }};
}

/// Lines of words with lengths that do not repeat soon; more than one piece of EncodedText.
std::string long_text(std::size_t bytes) {
  std::string text;
  for (std::uint64_t i = 1; text.size() < bytes; ++i) {
    text.append(1 + i * i * 7919 % 13, 'x');
    text += i % 11 == 0 ? '\n' : ' ';
  }
  return text;
}

TEST(ByteText, CutsWindowsWithOneByteInCommon) {
  const TemporaryFolder folder;
  const auto text = open_text({.path = folder.write("t", "abcdefghijklmn"), .seq_length = 4});
  EXPECT_EQ(text->samples(), 3) << "13 targets, 4 each";
  EXPECT_EQ(text->shape().vocabulary, 256);
  const Batch all = load_all(*text);
  EXPECT_EQ(integers(all.inputs[0]), (std::vector<std::int64_t>{'a', 'b', 'c', 'd'}));
  EXPECT_EQ(integers(all.targets[0]), (std::vector<std::int64_t>{'b', 'c', 'd', 'e'}));
  EXPECT_EQ(integers(all.inputs[2]), (std::vector<std::int64_t>{'i', 'j', 'k', 'l'}));
  EXPECT_EQ(integers(all.targets[2]), (std::vector<std::int64_t>{'j', 'k', 'l', 'm'}));
}

TEST(ByteText, BytesAbove127AreNotNegative) {
  const TemporaryFolder folder;
  const auto text = open_text({.path = folder.write("t", "\xff\x80\x7f"), .seq_length = 2});
  EXPECT_EQ(integers(load_all(*text).inputs), (std::vector<std::int64_t>{255, 128}));
}

TEST(ByteText, ExactlyOneSampleIsEnough) {
  const TemporaryFolder folder;
  EXPECT_EQ(open_text({.path = folder.write("t", "abcde"), .seq_length = 4})->samples(), 1);
  const Failure failure = failure_of([&] { open_text({.path = folder.write("t", "abcd"), .seq_length = 4}); });
  EXPECT_EQ(failure.kind(), "bad_file");
  EXPECT_NE(std::string(failure.what()).find("has 4 bytes, but a sample of 4 tokens needs 5"), std::string::npos)
      << failure.what();
  EXPECT_NE(failure.hint().find("seq_length"), std::string::npos);
}

TEST(Text, MissingAndEmptyFilesAreNamed) {
  const TemporaryFolder folder;
  for (const bool encoded : {false, true}) {
    for (const bool ahead : {false, true}) {
      TextOptions options{.path = folder.path() + "/nowhere.txt", .seq_length = 4, .encode_ahead = ahead};
      if (encoded) options.encoder = word_lengths();
      const Failure missing = failure_of([&] { open_text(options); });
      EXPECT_EQ(missing.kind(), "missing_file");
      EXPECT_NE(std::string(missing.what()).find(options.path), std::string::npos);

      options.path = folder.write("empty.txt", "");
      const Failure empty = failure_of([&] { open_text(options); });
      EXPECT_EQ(empty.kind(), "bad_file");
      EXPECT_NE(std::string(empty.what()).find(options.path), std::string::npos);

      options.path = folder.path();
      EXPECT_EQ(failure_of([&] { open_text(options); }).kind(), "bad_file");
    }
  }
}

TEST(Text, SamplesLimitsWhatIsUsedButCannotExceedTheFile) {
  const TemporaryFolder folder;
  for (const bool ahead : {false, true}) {
    TextOptions options{.path = folder.write("t", long_text(10'000)), .seq_length = 4, .encode_ahead = ahead};
    options.encoder = word_lengths();
    const Batch all = load_all(*open_text(options));
    options.samples = 7;
    const auto limited = open_text(options);
    EXPECT_EQ(limited->samples(), 7);
    EXPECT_EQ(integers(load_all(*limited).targets), integers(all.targets.narrow(0, 0, 7)));
    options.samples = all.inputs.size(0);
    EXPECT_EQ(open_text(options)->samples(), all.inputs.size(0));
    options.samples = all.inputs.size(0) + 1;
    EXPECT_EQ(failure_of([&] { open_text(options); }).kind(), "bad_spec");
    options.samples = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(failure_of([&] { open_text(options); }).kind(), "bad_spec");
  }
}

TEST(AheadText, TokensOfManyPiecesAreOneStream) {
  const TemporaryFolder folder;
  const std::string content = long_text(3'500'000);
  const TextEncoder encoder = word_lengths();
  const auto text = open_text({.path = folder.write("t", content), .seq_length = 1000, .encoder = encoder});
  // Words never span a line end, so the pieces make the same tokens as the whole.
  const std::vector<std::int32_t> expected = encoder.encode(content);
  ASSERT_EQ(text->samples(), (std::ssize(expected) - 1) / 1000);
  const Batch all = load_all(*text);
  const auto inputs = integers(all.inputs);
  const auto targets = integers(all.targets);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    ASSERT_EQ(inputs[i], expected[i]);
    ASSERT_EQ(targets[i], expected[i + 1]);
  }
}

TEST(AheadText, PiecesEndWithALineWhereTheyCan) {
  std::mutex mutex;
  std::map<std::size_t, std::string_view> pieces;  // by their place in the text
  const std::string text = long_text(3'500'000);
  const TextEncoder encoder{.name = "none", .vocabulary = 1, .encode = [&](std::string_view piece) {
                              const std::lock_guard lock(mutex);
                              pieces[static_cast<std::size_t>(piece.data() - text.data())] = piece;
                              return std::vector<std::int32_t>{};
                            }};
  EXPECT_EQ(EncodedText(text, encoder, 1).size(), 0);
  ASSERT_EQ(pieces.size(), 4u);
  std::size_t end = 0;
  for (const auto& [start, piece] : pieces) {
    EXPECT_EQ(start, end) << "nothing left out, nothing twice";
    end = start + piece.size();
    EXPECT_TRUE(piece.ends_with('\n') || end == text.size());
  }
  EXPECT_EQ(end, text.size());
}

TEST(AheadText, PiecesWithoutLineEndsAreCutBetweenCharacters) {
  std::string text;
  while (text.size() < 2'500'000) text += "€";  // three bytes, so that a mebibyte is not a whole number of them
  const TextEncoder encoder{.name = "characters", .vocabulary = 2, .encode = [](std::string_view piece) {
                              const bool whole = piece.size() % 3 == 0 && static_cast<unsigned char>(piece[0]) == 0xE2;
                              return std::vector<std::int32_t>(piece.size() / 3, whole ? 1 : 0);
                            }};
  const EncodedText tokens(text, encoder, std::numeric_limits<std::int64_t>::max());
  ASSERT_EQ(tokens.size(), std::ssize(text) / 3);
  std::vector<std::int32_t> all(static_cast<std::size_t>(tokens.size()));
  tokens.copy(0, all);
  EXPECT_EQ(std::accumulate(all.begin(), all.end(), std::int64_t{0}), tokens.size());
}

TEST(AheadText, DoesNotEncodeWhatIsNotNeeded) {
  std::atomic<int> pieces = 0;
  TextEncoder encoder = word_lengths();
  encoder.encode = [&, encode = encoder.encode](std::string_view piece) {
    ++pieces;
    return encode(piece);
  };
  const std::string text = long_text(20 << 20);
  const EncodedText tokens(text, encoder, 1000);
  EXPECT_EQ(tokens.size(), 1000);
  EXPECT_LE(pieces, static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
}

TEST(AheadText, AnEncoderThatFailsIsReported) {
  TextEncoder encoder = word_lengths();
  const std::string text = long_text(3 << 20);
  encoder.vocabulary = 5;
  const Failure failure = failure_of([&] { EncodedText(text, encoder, 1 << 30); });
  EXPECT_EQ(failure.kind(), "bad_file");
  EXPECT_NE(std::string(failure.what()).find("vocabulary of 5"), std::string::npos) << failure.what();
}

TEST(OnTheFlyText, EncodesAWindowAndCutsOrRepeatsItsTokens) {
  const TemporaryFolder folder;
  // T = 3: windows of 5 · 4 = 20 bytes.
  const std::string many_words = "a bb ccc dddd eeeee ";
  const std::string few_words = "ffffffffff ggggggggg";
  const auto text = open_text({.path = folder.write("t", many_words + few_words + "rest"),
                               .seq_length = 3,
                               .encoder = word_lengths(),
                               .encode_ahead = false});
  ASSERT_EQ(text->samples(), 2);
  const Batch all = load_all(*text);
  EXPECT_EQ(integers(all.inputs[0]), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(integers(all.targets[0]), (std::vector<std::int64_t>{2, 3, 4}));
  EXPECT_EQ(integers(all.inputs[1]), (std::vector<std::int64_t>{10, 9, 10}));
  EXPECT_EQ(integers(all.targets[1]), (std::vector<std::int64_t>{9, 10, 9}));
}

TEST(OnTheFlyText, WindowsBeginAndEndWithWholeCharacters) {
  const TemporaryFolder folder;
  std::string content;
  for (int i = 0; i < 40; ++i) content += "€";
  const TextEncoder whole{.name = "characters", .vocabulary = 2, .encode = [](std::string_view piece) {
                            const bool good = piece.size() % 3 == 0 && static_cast<unsigned char>(piece[0]) == 0xE2;
                            return std::vector<std::int32_t>{good ? 1 : 0};
                          }};
  const auto text =
      open_text({.path = folder.write("t", content), .seq_length = 1, .encoder = whole, .encode_ahead = false});
  ASSERT_EQ(text->samples(), 12);
  EXPECT_EQ(integers(load_all(*text).inputs), std::vector<std::int64_t>(12, 1));
}

TEST(OnTheFlyText, AWindowWithoutTokensIsAFailure) {
  const TemporaryFolder folder;
  const auto text = open_text({.path = folder.write("t", std::string(40, ' ')),
                               .seq_length = 3,
                               .encoder = word_lengths(),
                               .encode_ahead = false});
  EXPECT_EQ(failure_of([&] { load_all(*text); }).kind(), "bad_file");
}

TEST(Text, SaysWhatItIs) {
  const TemporaryFolder folder;
  const std::string path = folder.write("t", long_text(5000));
  EXPECT_EQ(open_text({.path = path, .seq_length = 100, .samples = 9})->description(),
            "text '" + path + "', 9 samples of 100 tokens, one token per byte");
}

}  // namespace
}  // namespace assay::engine
