#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "formats/failure.h"
#include "models/model.h"
#include "support/source_tree.h"

namespace assay::engine {
namespace {

namespace json = boost::json;

// Tiny models with random weights, their files and logits made with Hugging Face's transformers by
// scripts/make_engine_reference.py.
class Reference : public testing::TestWithParam<const char*> {
 protected:
  static std::filesystem::path folder() { return assay::test::source_folder() / "engine/models/testdata" / GetParam(); }
  static json::object expected() {
    std::ifstream file(folder() / "expected.json");
    std::stringstream text;
    text << file.rdbuf();
    return json::parse(text.str()).as_object();
  }
  static at::Tensor tokens_of(const json::object& reference) {
    const auto& rows = reference.at("tokens").as_array();
    std::vector<std::int64_t> tokens;
    for (const auto& row : rows) {
      for (const auto& token : row.as_array()) tokens.push_back(token.as_int64());
    }
    return at::tensor(tokens, at::kLong).view({static_cast<std::int64_t>(rows.size()), -1});
  }
  static std::unique_ptr<Model> model_of(const json::object& reference, std::int64_t length, at::ScalarType work) {
    json::object settings{{"kind", "train"}, {"task", reference.at("task")}, {"model", reference.at("model")}};
    settings["dataset"] = {{"name", "synthetic-tokens"}};
    settings["seq_length"] = length;
    TrainSpec spec = parse_train_spec(settings);
    DataShape data;
    data.kind = DataShape::Kind::tokens;
    data.vocabulary = *spec.model.vocabulary;
    data.seq_length = length;
    auto model = make_model(spec, data);
    model->parameters().allocate(at::kCPU, {work, work}, 1);
    EXPECT_EQ(load_weights(model->parameters(), folder().string()), 0) << "tensors of the file were not used";
    model->prepare(at::kCPU, work);
    return model;
  }
};

TEST_P(Reference, LogitsAreReproduced) {
  const json::object reference = expected();
  const at::Tensor tokens = tokens_of(reference);
  const auto model = model_of(reference, tokens.size(1), at::kFloat);
  const at::NoGradGuard no_grad;
  const at::Tensor logits = model->logits(tokens).reshape({-1});
  const auto& wanted = reference.at("logits").as_array();
  ASSERT_EQ(static_cast<std::size_t>(logits.numel()), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_NEAR(logits[static_cast<std::int64_t>(i)].item<double>(), wanted[i].to_number<double>(), 2e-5)
        << "logit " << i;
  }
}

TEST_P(Reference, MastersKeepWhatBf16Rounds) {
  const json::object reference = expected();
  const auto exact = model_of(reference, 8, at::kFloat);
  const auto rounded = model_of(reference, 8, at::kBFloat16);
  const at::Tensor master = rounded->parameters().all()[0].master;
  EXPECT_TRUE(at::equal(master, exact->parameters().all()[0].master));
  EXPECT_FALSE(at::equal(master, rounded->parameters().all()[0].value.to(at::kFloat)));
}

TEST_P(Reference, AnotherSizeIsRefusedWithBothShapes) {
  json::object reference = expected();
  reference["model"].as_object()["vocabulary"] = 72;
  try {
    model_of(reference, 8, at::kFloat);
    FAIL() << "no failure";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.kind(), "bad_file");
    EXPECT_NE(std::string(failure.what()).find("has the shape [64, "), std::string::npos) << failure.what();
    EXPECT_NE(std::string(failure.what()).find("not [72, "), std::string::npos) << failure.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Reference, testing::Values("gpt2", "bert", "llama", "llama3"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace assay::engine
