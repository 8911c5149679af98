#include "formats/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "formats/scratch_fixture.h"

namespace assay::engine {
namespace {

using test::failure_of;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kIndex = "model.safetensors.index.json";

void write_file(const test::ScratchFolder& folder, std::string_view file, const std::vector<std::string>& names) {
  std::vector<TensorView> tensors;
  tensors.reserve(names.size());
  for (const std::string& name : names) {
    tensors.push_back({name, Dtype::u8, {std::ssize(name)}, std::as_bytes(std::span(name.data(), name.size()))});
  }
  write_safetensors(folder / file, tensors);
}

std::string text_of(const TensorView* tensor) {
  return tensor ? std::string(reinterpret_cast<const char*>(tensor->data.data()), tensor->data.size()) : "nothing";
}

std::string failure_from(const test::ScratchFolder& folder) {
  return failure_of([&] { open_weights(folder.path().string()); });
}

TEST(Weights, FromAFileAndFromAFolder) {
  const test::ScratchFolder folder;
  write_file(folder, "model.safetensors", {"one", "two"});
  for (const std::string& path : {folder / "model.safetensors", folder.path().string()}) {
    const Weights weights = open_weights(path);
    EXPECT_EQ(weights.all().size(), 2U);
    EXPECT_EQ(text_of(weights.find("two")), "two");
    EXPECT_EQ(weights.find("three"), nullptr);
  }
}

TEST(Weights, FromShards) {
  const test::ScratchFolder folder;
  write_file(folder, "s1", {"one", "two", "not in the index"});
  write_file(folder, "s2", {"three", "two"});
  folder.write(kIndex, R"({"metadata": {}, "weight_map": {"one": "s1", "three": "s2", "two": "s2"}})");
  for (const std::string& path : {folder / kIndex, folder.path().string()}) {
    Weights opened = open_weights(path);
    const Weights weights = std::move(opened);  // the views survive a move
    EXPECT_EQ(weights.all().size(), 3U);
    for (const std::string name : {"one", "two", "three"}) EXPECT_EQ(text_of(weights.find(name)), name);
    EXPECT_EQ(weights.find("not in the index"), nullptr);
  }
}

TEST(Weights, AWholeFileComesBeforeAnIndex) {
  const test::ScratchFolder folder;
  write_file(folder, "model.safetensors", {"one"});
  folder.write(kIndex, "damaged");
  EXPECT_EQ(text_of(open_weights(folder.path().string()).find("one")), "one");
}

TEST(Weights, WhatIsMissingIsNamed) {
  const test::ScratchFolder folder;
  EXPECT_THAT(failure_of([&] { open_weights(folder / "none"); }), AllOf(StartsWith("missing_file"), HasSubstr("none")));
  EXPECT_THAT(failure_from(folder), AllOf(StartsWith("missing_file"), HasSubstr("neither model.safetensors nor")));
  folder.write(kIndex, R"({"weight_map": {"one": "s1"}})");
  EXPECT_THAT(failure_from(folder), AllOf(StartsWith("missing_file"), HasSubstr("needs 's1', which is not there")));
  write_file(folder, "s1", {"two"});
  EXPECT_THAT(failure_from(folder),
              AllOf(StartsWith("bad_file"), HasSubstr("names the tensor 'one' in 's1', which does not have it")));
  folder.write("s1", "damaged");
  EXPECT_THAT(failure_from(folder), AllOf(StartsWith("bad_file"), HasSubstr("s1'")));
}

TEST(Weights, ADamagedIndexIsNamed) {
  const test::ScratchFolder folder;
  const auto with = [&](std::string_view index) {
    folder.write(kIndex, index);
    return failure_from(folder);
  };
  EXPECT_THAT(with("{"), AllOf(StartsWith("bad_file"), HasSubstr("not JSON")));
  EXPECT_THAT(with("[]"), AllOf(StartsWith("bad_file"), HasSubstr("no 'weight_map'")));
  EXPECT_THAT(with(R"({"weight_map": []})"), HasSubstr("no 'weight_map'"));
  EXPECT_THAT(with(R"({"weight_map": {"one": 1}})"), HasSubstr("names the tensor 'one' without a file"));
  for (const std::string name : {"", ".", "..", "../s1", "/etc/passwd", "sub/s1", "s1/"}) {
    EXPECT_THAT(with(R"({"weight_map": {"one": ")" + name + "\"}}"), HasSubstr("not a file beside it")) << name;
  }
}

}  // namespace
}  // namespace assay::engine
