#include <cmath>

#include "data/dataset.h"
#include "data/dataset_fixture.h"
#include "formats/train_spec.h"

namespace assay::engine {
namespace {

TrainSpec spec_for(const std::string& dataset, Task task = Task::pretrain) {
  TrainSpec spec = parse_train_spec({});
  spec.dataset.name = dataset;
  spec.task = task;
  spec.seq_length = 16;
  return spec;
}

TEST(MakeDataset, MakesEveryGeneratedOne) {
  EXPECT_EQ(make_dataset(spec_for("spiral", Task::classification), 0)->description(),
            "spiral, 10,000 samples, 2 arms, noise 0.1");
  EXPECT_EQ(make_dataset(spec_for("synthetic-images", Task::classification), 0)->shape().image_size, 224);
  EXPECT_EQ(make_dataset(spec_for("synthetic-tokens"), 0)->shape().vocabulary, 50'257);
  EXPECT_EQ(make_dataset(spec_for("markov-text"), 0)->shape().vocabulary, 64);
  EXPECT_EQ(failure_of([] { make_dataset(spec_for("nonsense", Task::classification), 0); }).kind(), "bad_spec");
}

TEST(MakeDataset, TakesTheSettings) {
  TrainSpec spec = spec_for("spiral", Task::classification);
  spec.dataset.samples = 500;
  spec.dataset.arms = 3;
  spec.dataset.noise = 0.25;
  EXPECT_EQ(make_dataset(spec, 0)->description(), "spiral, 500 samples, 3 arms, noise 0.25");
  const auto digest_with_seed = [&](std::uint64_t seed) {
    spec.seed = seed;
    return digest(load_all(*make_dataset(spec, 0)));
  };
  EXPECT_EQ(digest_with_seed(1), digest_with_seed(1));
  EXPECT_NE(digest_with_seed(1), digest_with_seed(2));
}

TEST(MakeDataset, GeneratedTokensFitTheModel) {
  EXPECT_EQ(make_dataset(spec_for("synthetic-tokens"), 32'000)->shape().vocabulary, 32'000);
  EXPECT_EQ(make_dataset(spec_for("markov-text"), 32'000)->shape().vocabulary, 64);
  EXPECT_EQ(make_dataset(spec_for("markov-text"), 10)->shape().vocabulary, 10);
}

TEST(MakeDataset, ATextMustFitTheModel) {
  const TemporaryFolder folder;
  const TrainSpec spec = spec_for("text:" + folder.write("t", std::string(1000, 'a')));
  EXPECT_EQ(make_dataset(spec, 256)->samples(), 62);
  const Failure failure = failure_of([&] { make_dataset(spec, 255); });
  EXPECT_EQ(failure.kind(), "bad_spec");
  EXPECT_NE(std::string(failure.what()).find("vocabulary of 256, but the model knows 255"), std::string::npos);
}

TEST(MakeDataset, ATextWithATokenizer) {
  const TemporaryFolder folder;
  TrainSpec spec = spec_for("text:" + folder.write("t", "abab ba\n" + std::string(2000, 'b')));
  spec.dataset.tokenizer = folder.write("tokenizer.json", R"({
    "version": "1.0", "added_tokens": [], "normalizer": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "Ġ": 3, "Ċ": 4}, "merges": ["a b"]}})");
  for (const bool ahead : {true, false}) {
    spec.tokenize_ahead = ahead;
    const auto text = make_dataset(spec, 5);
    EXPECT_EQ(text->shape().vocabulary, 5);
    const auto inputs = integers(samples_of(*text, {0}).inputs);
    EXPECT_EQ(std::vector<std::int64_t>(inputs.begin(), inputs.begin() + 8),
              (std::vector<std::int64_t>{2, 2, 3, 1, 0, 4, 1, 1}));
    EXPECT_EQ(failure_of([&] { make_dataset(spec, 4); }).kind(), "bad_spec");
  }
  spec.dataset.tokenizer = folder.path() + "/nowhere.json";
  EXPECT_EQ(failure_of([&] { make_dataset(spec, 0); }).kind(), "missing_file");
}

TEST(MakeDataset, TasksAndDataMustFitTogether) {
  for (const char* name : {"spiral", "synthetic-images"}) {
    EXPECT_EQ(failure_of([&] { make_dataset(spec_for(name, Task::lora), 0); }).kind(), "bad_spec") << name;
  }
  const Failure failure = failure_of([] { make_dataset(spec_for("markov-text", Task::classification), 0); });
  EXPECT_EQ(failure.kind(), "bad_spec");
  EXPECT_STREQ(failure.what(), "the task 'classification' cannot learn from the data set 'markov-text'");
}

TEST(MakeDataset, MasksForMaskedLm) {
  const auto masked = make_dataset(spec_for("synthetic-tokens", Task::masked_lm), 30'522);
  EXPECT_NE(masked->description().find("15 % masked with token 103"), std::string::npos);
  const auto targets = integers(samples_of(*masked, {0, 1, 2, 3}).targets);
  EXPECT_GT(std::count(targets.begin(), targets.end(), kIgnoredTarget), 32);
}

TEST(MakeDataset, Cifar10UsesItsOwnTestPart) {
  const TemporaryFolder folder;
  const std::string record(3073, '\1');
  for (int i = 1; i <= 5; ++i) folder.write("data_batch_" + std::to_string(i) + ".bin", record + record);
  folder.write("test_batch.bin", record);
  const auto cifar = make_dataset(spec_for("cifar10:" + folder.path(), Task::classification), 0);
  EXPECT_EQ(cifar->training_samples(0.5), 10);
}

}  // namespace
}  // namespace assay::engine
