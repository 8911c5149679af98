#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstring>

#include "core/torch_compat.h"
#include "formats/failure.h"
#include "formats/scratch_fixture.h"
#include "formats/weights.h"
#include "models/model.h"
#include "models/transformer.h"

namespace assay::engine {
namespace {

DataShape tokens(std::int64_t vocabulary, std::int64_t length) {
  DataShape shape;
  shape.kind = DataShape::Kind::tokens;
  shape.vocabulary = vocabulary;
  shape.seq_length = length;
  return shape;
}

DataShape images(std::int64_t size, std::int64_t classes) {
  DataShape shape;
  shape.kind = DataShape::Kind::images;
  shape.image_size = size;
  shape.classes = classes;
  return shape;
}

DataShape vectors(std::int64_t features, std::int64_t classes) {
  DataShape shape;
  shape.kind = DataShape::Kind::vectors;
  shape.features = features;
  shape.classes = classes;
  return shape;
}

TrainSpec spec_of(const std::string& model, Task task) {
  TrainSpec spec = parse_train_spec({});
  spec.model.name = model;
  spec.task = task;
  spec.dataset.name = task == Task::classification ? "synthetic-images" : "synthetic-tokens";
  return spec;
}

TrainSpec tiny(const std::string& model, Task task = Task::pretrain) {
  TrainSpec spec = spec_of(model, task);
  spec.model.layers = 2;
  spec.model.width = 16;
  spec.model.heads = 4;
  spec.model.vocabulary = 40;
  return spec;
}

constexpr NumberFormats kMixed{.products = at::kBFloat16, .sums = at::kFloat};
constexpr NumberFormats kAllBf16{.products = at::kBFloat16, .sums = at::kBFloat16};

std::unique_ptr<Model> built(const TrainSpec& spec, const DataShape& data, const NumberFormats& formats = {}) {
  choose_attention(spec.attention, at::kCPU, formats.products);
  auto model = make_model(spec, data);
  model->parameters().allocate(at::kCPU, formats, spec.seed);
  model->prepare(at::kCPU, formats.products);
  return model;
}

Batch token_batch(std::int64_t vocabulary, std::int64_t rows = 3, std::int64_t length = 8) {
  return {at::randint(vocabulary, {rows, length}, at::kLong), at::randint(vocabulary, {rows, length}, at::kLong)};
}

double difference(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

struct Published {
  const char* name;
  Task task;
  std::int64_t parameters;
};

class PublishedSizes : public testing::TestWithParam<Published> {};

TEST_P(PublishedSizes, AreReproduced) {
  const auto& [name, task, parameters] = GetParam();
  const bool is_image = task == Task::classification;
  const auto model = make_model(spec_of(name, task), is_image ? images(224, 1000) : tokens(30000, 128));
  EXPECT_EQ(model->parameters().count(), parameters);
}

// BERT: the encoder and the head for masked language modelling, without the pooler.
INSTANTIATE_TEST_SUITE_P(Models, PublishedSizes,
                         testing::Values(Published{"resnet18", Task::classification, 11689512},
                                         Published{"resnet50", Task::classification, 25557032},
                                         Published{"bert-base", Task::masked_lm, 109514298},
                                         Published{"gpt2", Task::pretrain, 124439808},
                                         Published{"gpt2-medium", Task::pretrain, 354823168},
                                         Published{"gpt2-large", Task::pretrain, 774030080},
                                         Published{"gpt2-xl", Task::pretrain, 1557611200},
                                         Published{"tinyllama-1.1b", Task::pretrain, 1100048384},
                                         Published{"llama-3.2-1b", Task::pretrain, 1235814400},
                                         Published{"llama-3.1-8b", Task::pretrain, 8030261248},
                                         Published{"mistral-7b", Task::pretrain, 7241732096}),
                         [](const auto& test) {
                           std::string name = test.param.name;
                           std::replace_if(name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
                           return name;
                         });

TEST(Models, MlpHasTheSizeOfItsLayers) {
  TrainSpec spec = spec_of("mlp", Task::classification);
  const auto model = make_model(spec, vectors(2, 2));
  EXPECT_EQ(model->parameters().count(), 2 * 64 + 64 + 64 * 32 + 32 + 32 * 16 + 16 + 16 * 2 + 2);
}

class LanguageModels : public testing::TestWithParam<const char*> {};

TEST_P(LanguageModels, StartNearTheLossOfGuessing) {
  at::manual_seed(3);
  const Task task = std::string(GetParam()) == "bert-base" ? Task::masked_lm : Task::pretrain;
  const auto model = built(tiny(GetParam(), task), tokens(40, 8));
  EXPECT_NEAR(model->loss(token_batch(40), at::Tensor()).item<double>(), std::log(40.0), 0.3);
}

TEST_P(LanguageModels, LossScoreAndLogitsAgree) {
  at::manual_seed(3);
  const Task task = std::string(GetParam()) == "bert-base" ? Task::masked_lm : Task::pretrain;
  const auto model = built(tiny(GetParam(), task), tokens(40, 8));
  const Batch batch = token_batch(40);
  const double loss = model->loss(batch, at::Tensor()).item<double>();
  const at::Tensor score = model->score(batch);
  EXPECT_NEAR(score[0].item<double>() / score[2].item<double>(), loss, 1e-4);
  const at::NoGradGuard no_grad;
  const at::Tensor logits = model->logits(batch.inputs);
  EXPECT_EQ(logits.sizes(), at::IntArrayRef({3, 8, 40}));
  const at::Tensor expected = at::cross_entropy_loss(logits.reshape({-1, 40}), batch.targets.reshape({-1}));
  EXPECT_NEAR(expected.item<double>(), loss, 1e-4);
}

TEST_P(LanguageModels, GradientsAgreeWithFiniteDifferences) {
  at::manual_seed(3);
  const Task task = std::string(GetParam()) == "bert-base" ? Task::masked_lm : Task::pretrain;
  const auto model = built(tiny(GetParam(), task), tokens(40, 8));
  const Batch batch = token_batch(40);
  torch::autograd::backward({model->loss(batch, at::Tensor())}, {});
  const at::NoGradGuard no_grad;
  // Along the gradient itself the loss changes by step · |gradient|²: one number for every parameter at once.
  for (auto& arena : model->parameters().arenas()) {
    const double norm = arena.grad.norm().item<double>();
    ASSERT_GT(norm, 0);
    const double step = 1e-3 / norm;
    const at::Tensor start = arena.work.clone();
    const auto loss_at = [&](double by) {
      arena.work.copy_(start + arena.grad * by);
      return model->loss(batch, at::Tensor()).item<double>();
    };
    const double slope = (loss_at(step) - loss_at(-step)) / (2 * step);
    arena.work.copy_(start);
    EXPECT_NEAR(slope / (norm * norm), 1, 0.02);
  }
}

TEST_P(LanguageModels, CheckpointingGivesTheSameGradients) {
  at::manual_seed(3);
  const Task task = std::string(GetParam()) == "bert-base" ? Task::masked_lm : Task::pretrain;
  const Batch batch = token_batch(40);
  std::vector<at::Tensor> gradients;
  for (const bool checkpointing : {false, true}) {
    TrainSpec spec = tiny(GetParam(), task);
    spec.gradient_checkpointing = checkpointing;
    const auto model = built(spec, tokens(40, 8));
    torch::autograd::backward({model->loss(batch, at::Tensor())}, {});
    gradients.push_back(model->parameters().arenas()[0].grad.clone());
  }
  EXPECT_GT(gradients[0].norm().item<double>(), 0.01);
  EXPECT_LT(difference(gradients[0], gradients[1]), 1e-6);
}

TEST_P(LanguageModels, AttentionKernelsGiveTheSameGradients) {
  at::manual_seed(3);
  const Task task = std::string(GetParam()) == "bert-base" ? Task::masked_lm : Task::pretrain;
  const Batch batch = token_batch(40);
  std::vector<at::Tensor> gradients;
  for (const Attention kind : {Attention::eager, Attention::math, Attention::sdpa}) {
    TrainSpec spec = tiny(GetParam(), task);
    spec.attention = kind;
    const auto model = built(spec, tokens(40, 8));
    torch::autograd::backward({model->loss(batch, at::Tensor())}, {});
    gradients.push_back(model->parameters().arenas()[0].grad.clone());
  }
  EXPECT_LT(difference(gradients[0], gradients[1]), 1e-5);
  EXPECT_LT(difference(gradients[0], gradients[2]), 1e-5);
}

TEST_P(LanguageModels, LoraTrainsAdaptersOnly) {
  at::manual_seed(3);
  TrainSpec spec = tiny(GetParam(), Task::lora);
  spec.lora.rank = 2;
  for (const bool checkpointing : {false, true}) {
    spec.gradient_checkpointing = checkpointing;
    const auto model = built(spec, tokens(40, 8));
    torch::autograd::backward({model->loss(token_batch(40), at::Tensor())}, {});
    std::int64_t adapters = 0;
    for (const auto& parameter : model->parameters().all()) {
      const bool is_adapter = parameter.name().find(".lora_") != std::string::npos;
      EXPECT_EQ(parameter.value.requires_grad(), is_adapter) << parameter.name();
      if (!is_adapter) continue;
      ++adapters;
      // The product of both starts at zero: first only the upper factor learns.
      const double gradient = parameter.value.grad().norm().item<double>();
      EXPECT_EQ(gradient > 0, parameter.name().find("lora_B") != std::string::npos) << parameter.name();
    }
    EXPECT_EQ(adapters, 2 * 2 * 2);  // layers, targets, factors
  }
}

INSTANTIATE_TEST_SUITE_P(Models, LanguageModels, testing::Values("gpt2", "tinyllama-1.1b", "bert-base"),
                         [](const auto& test) { return std::string(test.param).substr(0, 4); });

TEST(Models, GroupedQueryHeadsFollowTheNamedModel) {
  ModelSpec spec;
  spec.name = "llama-3.1-8b";
  EXPECT_EQ(transformer_shape(spec).kv_heads, 8);
  spec.heads = 8;
  EXPECT_EQ(transformer_shape(spec).kv_heads, 2);
  spec.heads = 6;
  spec.width = 48;
  EXPECT_EQ(transformer_shape(spec).kv_heads, 6) << "four to a group do not divide six";
}

TEST(Models, GeneratedStacksTakeAnyBlockOnAnyData) {
  at::manual_seed(3);
  for (const char* block : {"fc", "residual", "lstm", "attention"}) {
    TrainSpec spec = spec_of("generated", Task::classification);
    spec.model.blocks = {block, "fc"};
    spec.model.layers = 3;
    spec.model.width = 16;
    for (const DataShape& data : {images(32, 10), vectors(2, 3)}) {
      const auto model = built(spec, data);
      const bool is_image = data.kind == DataShape::Kind::images;
      const Batch batch{is_image ? at::randint(256, {4, 32, 32, 3}, at::kByte) : at::randn({4, 2}),
                        at::randint(data.classes, {4}, at::kLong)};
      const at::Tensor loss = model->loss(batch, at::Tensor());
      torch::autograd::backward({loss}, {});
      EXPECT_NEAR(loss.item<double>(), std::log(static_cast<double>(data.classes)), 1.0) << block;
      EXPECT_GT(model->parameters().arenas()[0].grad.norm().item<double>(), 0) << block;
      EXPECT_GT(model->forward_flops().trained, 0);
    }
    TrainSpec language = spec;
    language.task = Task::pretrain;
    language.dataset.name = "markov-text";
    const auto model = built(language, tokens(30, 8));
    EXPECT_NEAR(model->loss(token_batch(30), at::Tensor()).item<double>(), std::log(30.0), 1.0) << block;
  }
}

TEST(Models, ResNetLearnsFromImagesAndCountsItsOperations) {
  at::manual_seed(3);
  TrainSpec spec = spec_of("resnet18", Task::classification);
  const auto model = built(spec, images(32, 10));
  const Batch batch{at::randint(256, {2, 32, 32, 3}, at::kByte), at::randint(10, {2}, at::kLong)};
  torch::autograd::backward({model->loss(batch, at::Tensor())}, {});
  EXPECT_GT(model->parameters().arenas()[0].grad.norm().item<double>(), 0);
  // Published: 4.1 G multiply-adds for ResNet-50 at 224 × 224.
  const auto fifty = make_model(spec_of("resnet50", Task::classification), images(224, 1000));
  EXPECT_NEAR(fifty->forward_flops().trained / 2e9, 4.1, 0.1);
}

TEST(Models, Gpt2CountsSixOperationsPerParameterAndToken) {
  const auto model = built(tiny("gpt2"), tokens(40, 8));
  const ForwardFlops flops = model->forward_flops();
  // Blocks (12 · width² per layer) and the head, without embeddings of positions and biases; per token of 8.
  const double weights = 2 * 12 * 16 * 16 + 40 * 16;
  EXPECT_DOUBLE_EQ(flops.trained, 8 * 2 * weights);
  EXPECT_DOUBLE_EQ(training_flops(flops), 8 * 6 * weights + 3 * flops.other);
}

TEST(Models, SameSeedSameStartAndPrecisionDoesNotChangeIt) {
  const auto first = built(tiny("gpt2"), tokens(40, 8));
  const auto second = built(tiny("gpt2"), tokens(40, 8));
  TrainSpec other = tiny("gpt2");
  other.seed = 2;
  const auto third = built(other, tokens(40, 8));
  const auto start = [](const auto& model) { return model->parameters().all()[0].master; };
  EXPECT_EQ(difference(start(first), start(second)), 0);
  EXPECT_GT(difference(start(first), start(third)), 0.01);
  const auto rounded = built(tiny("gpt2"), tokens(40, 8), kAllBf16);
  EXPECT_EQ(difference(start(first), start(rounded)), 0);
  EXPECT_EQ(rounded->parameters().all()[0].value.scalar_type(), at::kBFloat16);
}

// What autocast does, op by op: products see rounded weights, everything that learns or adds up is fp32.
TEST(Models, MixedFormatsRoundFactorsAndNothingElse) {
  const auto model = built(tiny("gpt2"), tokens(40, 8), kMixed);
  torch::autograd::backward({model->loss(token_batch(40), at::Tensor())}, {});
  for (const auto& parameter : model->parameters().all()) {
    EXPECT_EQ(parameter.value.scalar_type(), at::kFloat) << parameter.name();
    EXPECT_EQ(parameter.value.grad().scalar_type(), at::kFloat) << parameter.name();
    EXPECT_GT(parameter.value.grad().norm().item<double>(), 0) << parameter.name();
    const at::Tensor factor = parameter.for_products();
    EXPECT_EQ(factor.scalar_type(), parameter.full_precision ? at::kFloat : at::kBFloat16) << parameter.name();
    EXPECT_TRUE(at::equal(factor, parameter.master.to(factor.scalar_type()))) << parameter.name();
  }
}

TEST(Models, MixedFormatsHaveMoreExactGradientsThanAllBf16) {
  for (const char* name : {"gpt2", "llama-3.2-1b", "bert-base"}) {
    TrainSpec spec = tiny(name, name == std::string("bert-base") ? Task::masked_lm : Task::pretrain);
    spec.model.layers = 8;  // every one rounds the stream once more
    at::manual_seed(3);
    const Batch batch = token_batch(40, 16);
    const auto gradients = [&](const NumberFormats& formats) {
      const auto model = built(spec, tokens(40, 8), formats);
      torch::autograd::backward({model->loss(batch, at::Tensor())}, {});
      std::vector<at::Tensor> found;
      for (const auto& parameter : model->parameters().all()) found.push_back(parameter.value.grad().to(at::kDouble));
      return found;
    };
    const auto exact = gradients({});
    const auto mixed = gradients(kMixed);
    const auto all = gradients(kAllBf16);
    double mixed_error = 0;
    double all_error = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
      mixed_error += ((mixed[i] - exact[i]).norm() / exact[i].norm()).item<double>();
      all_error += ((all[i] - exact[i]).norm() / exact[i].norm()).item<double>();
    }
    EXPECT_LT(mixed_error, 0.9 * all_error) << name;
  }
}

// Frozen weights are stored in the format of products, as people load them, and the stream with them.
TEST(Models, AdaptersLearnInFp32OnFrozenBf16) {
  const auto model = built(tiny("mistral-7b", Task::lora), tokens(40, 8), kMixed);
  torch::autograd::backward({model->loss(token_batch(40), at::Tensor())}, {});
  for (const auto& parameter : model->parameters().all()) {
    const bool is_adapter = parameter.name().find(".lora_") != std::string::npos;
    const bool is_full = is_adapter || parameter.full_precision;
    EXPECT_EQ(parameter.value.scalar_type(), is_full ? at::kFloat : at::kBFloat16) << parameter.name();
    if (is_adapter) {
      EXPECT_EQ(parameter.value.grad().scalar_type(), at::kFloat);
    }
  }
}

TEST(Models, PaddingRowsStayOutOfSightAndAtZero) {
  const auto model = built(tiny("gpt2"), tokens(40, 8));
  const Parameter& table = model->parameters().all()[0];
  EXPECT_EQ(table.padded_rows, 88);
  EXPECT_EQ(table.count(), 40 * 16);
  torch::autograd::backward({model->loss(token_batch(40), at::Tensor())}, {});
  EXPECT_EQ(table.value.grad().narrow(0, 40, 88).abs().max().item<double>(), 0);
}

TEST(Models, GradientsAreSavedInTheLayoutOfWeights) {
  const test::ScratchFolder folder;
  for (const char* name : {"gpt2", "tinyllama-1.1b"}) {
    const auto model = built(tiny(name), tokens(40, 8), kMixed);
    torch::autograd::backward({model->loss(token_batch(40), {})}, {});
    const std::string path = folder / "gradients.safetensors";
    save_gradients(model->parameters(), 0.5, path);
    // Read back as if they were the weights of another model.
    const auto other = built(tiny(name), tokens(40, 8));
    EXPECT_EQ(load_weights(other->parameters(), path), 0);
    for (std::size_t i = 0; i < model->parameters().all().size(); ++i) {
      const Parameter& trained = model->parameters().all()[i];
      const at::Tensor wanted = trained.value.grad().to(at::kFloat) * 0.5;
      EXPECT_GT(wanted.norm().item<double>(), 0) << name << ' ' << trained.name();
      EXPECT_TRUE(at::equal(other->parameters().all()[i].master, wanted)) << name << ' ' << trained.name();
    }
  }
}

TEST(Models, GradientsOfFiltersAreSavedChannelsFirstAndThoseOfFrozenWeightsNotAtAll) {
  const test::ScratchFolder folder;
  const std::string path = folder / "gradients.safetensors";
  const auto resnet = built(spec_of("resnet18", Task::classification), images(32, 10));
  const Batch batch{at::randint(256, {2, 32, 32, 3}, at::kByte), at::randint(10, {2}, at::kLong)};
  torch::autograd::backward({resnet->loss(batch, {})}, {});
  save_gradients(resnet->parameters(), 1, path);
  {
    const Weights saved = open_weights(path);
    EXPECT_EQ(saved.find("resnet.embedder.embedder.normalization.running_mean"), nullptr);
    const auto* filter = saved.find("resnet.embedder.embedder.convolution.weight");
    ASSERT_NE(filter, nullptr);
    ASSERT_EQ(filter->shape, (std::vector<std::int64_t>{64, 3, 7, 7}));
    const at::Tensor wanted = resnet->parameters().all()[0].value.grad().permute({0, 3, 1, 2}).contiguous();
    EXPECT_EQ(std::memcmp(filter->data.data(), wanted.data_ptr(), filter->data.size()), 0);
  }
  const auto lora = built(tiny("tinyllama-1.1b", Task::lora), tokens(40, 8));
  torch::autograd::backward({lora->loss(token_batch(40), {})}, {});
  save_gradients(lora->parameters(), 1, path);
  const Weights adapters = open_weights(path);
  EXPECT_FALSE(adapters.all().empty());
  for (const auto& [name, view] : adapters.all()) {
    EXPECT_NE(name.find("lora_"), std::string_view::npos) << name;
  }
}

void expect_failure(const TrainSpec& spec, const DataShape& data, const std::string& part) {
  try {
    make_model(spec, data);
    FAIL() << "no failure: " << part;
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.kind(), "bad_spec");
    EXPECT_NE(std::string(failure.what()).find(part), std::string::npos) << failure.what();
  }
}

TEST(Models, WhatDoesNotGoTogetherIsRefusedWithTheReason) {
  expect_failure(spec_of("gpt2", Task::classification), images(32, 10), "gpt2");
  expect_failure(spec_of("gpt2", Task::pretrain), images(32, 10), "do not go together");
  expect_failure(spec_of("bert-base", Task::pretrain), tokens(100, 8), "both sides");
  expect_failure(spec_of("gpt2", Task::masked_lm), tokens(100, 8), "before a word");
  expect_failure(spec_of("gpt2", Task::pretrain), tokens(100, 4096), "1024 positions");
  expect_failure(spec_of("resnet50", Task::classification), vectors(2, 2), "images");
  TrainSpec heads = spec_of("gpt2", Task::pretrain);
  heads.model.heads = 7;
  expect_failure(heads, tokens(100, 8), "7 heads do not divide the width 768");
  TrainSpec lora = tiny("tinyllama-1.1b", Task::lora);
  lora.lora.targets = {"c_attn"};
  expect_failure(lora, tokens(40, 8), "no layer 'c_attn'");
}

}  // namespace
}  // namespace assay::engine
