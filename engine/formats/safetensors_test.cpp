#include "formats/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "formats/scratch_fixture.h"

namespace assay::engine {
namespace {

namespace fs = std::filesystem;
using test::failure_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string file_with(std::string_view header, std::string_view data) {
  std::string length;
  for (int i = 0; i < 8; ++i) length += static_cast<char>(header.size() >> (8 * i) & 0xFFU);
  return length + std::string(header) + std::string(data);
}

std::string failure_with(const std::string& file) {
  return failure_of([&] { parse_safetensors(bytes_of(file), "m.safetensors"); });
}
std::string failure_with(std::string_view header, std::size_t data) {
  return failure_with(file_with(header, std::string(data, 'x')));
}

TensorView tensor(const std::string& name, Dtype dtype, const std::vector<std::int64_t>& shape, std::string_view data) {
  return {name, dtype, shape, bytes_of(data)};
}

TEST(Safetensors, ReadsTensorsInTheOrderOfTheirData) {
  const std::string file = file_with(
      R"({"__metadata__": {"format": "pt"},
          "b": {"dtype": "BF16", "shape": [2, 1], "data_offsets": [3, 7]},
          "a\u0062": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]},
          "scalar": {"dtype": "F32", "shape": [], "data_offsets": [7, 11]},
          "empty": {"dtype": "F64", "shape": [0, 5], "data_offsets": [7, 7]}}   )",
      "abcDEFGhijk");
  const std::vector<TensorView> tensors = parse_safetensors(bytes_of(file), "m");
  ASSERT_EQ(tensors.size(), 4U);
  EXPECT_EQ(tensors[0].name, "ab");
  EXPECT_EQ(tensors[0].dtype, Dtype::u8);
  EXPECT_THAT(tensors[0].shape, ElementsAre(3));
  EXPECT_EQ(text_of(tensors[0].data), "abc");
  EXPECT_EQ(tensors[1].name, "b");
  EXPECT_EQ(tensors[1].dtype, Dtype::bf16);
  EXPECT_THAT(tensors[1].shape, ElementsAre(2, 1));
  EXPECT_EQ(text_of(tensors[1].data), "DEFG");
  EXPECT_EQ(tensors[2].name, "empty");
  EXPECT_TRUE(tensors[2].data.empty());
  EXPECT_EQ(tensors[3].name, "scalar");
  EXPECT_THAT(tensors[3].shape, IsEmpty());
  EXPECT_EQ(text_of(tensors[3].data), "hijk");
}

TEST(Safetensors, AFileWithoutTensorsIsOne) {
  EXPECT_THAT(parse_safetensors(bytes_of(file_with("{}", "")), "m"), IsEmpty());
  EXPECT_THAT(parse_safetensors(bytes_of(file_with(R"({"__metadata__": 7})", "")), "m"), IsEmpty());
}

TEST(Safetensors, SizesAndNamesOfTheDtypes) {
  const std::vector<std::pair<Dtype, std::size_t>> sizes = {
      {Dtype::f64, 8}, {Dtype::f32, 4}, {Dtype::f16, 2}, {Dtype::bf16, 2}, {Dtype::i64, 8},
      {Dtype::i32, 4}, {Dtype::i16, 2}, {Dtype::i8, 1},  {Dtype::u8, 1},   {Dtype::boolean, 1}};
  for (const auto& [dtype, size] : sizes) {
    EXPECT_EQ(size_of(dtype), size);
    const std::string header = R"({"t": {"dtype": ")" + std::string(name_of(dtype)) +
                               R"(", "shape": [3], "data_offsets": [0, )" + std::to_string(3 * size) + "]}}";
    const std::string file = file_with(header, std::string(3 * size, 'x'));
    EXPECT_EQ(parse_safetensors(bytes_of(file), "m").at(0).dtype, dtype);
  }
}

TEST(Safetensors, BytesOfATensor) {
  EXPECT_EQ(tensor_bytes(Dtype::f32, std::vector<std::int64_t>{2, 3}), 24U);
  EXPECT_EQ(tensor_bytes(Dtype::f32, {}), 4U);
  EXPECT_EQ(tensor_bytes(Dtype::i8, std::vector<std::int64_t>{-1}), std::nullopt);
  EXPECT_EQ(tensor_bytes(Dtype::f64, std::vector<std::int64_t>{std::int64_t{1} << 61}), std::nullopt);
}

TEST(Safetensors, DamageIsNamed) {
  const auto damaged = [](const std::string& what) {
    return AllOf(StartsWith("bad_file: 'm.safetensors'"), HasSubstr(what));
  };
  const auto one = [](const std::string& entry) { return R"({"w": )" + entry + "}"; };
  const auto placed = [&](const std::string& shape, const std::string& offsets) {
    return one(R"({"dtype": "F32", "shape": )" + shape + R"(, "data_offsets": )" + offsets + "}");
  };
  EXPECT_THAT(failure_with(""), damaged("only 0 bytes"));
  EXPECT_THAT(failure_with("1234567"), damaged("only 7 bytes"));
  EXPECT_THAT(failure_with(std::string(8, '\xFF') + "{}"), damaged("18446744073709551615 bytes, far too many"));
  EXPECT_THAT(failure_with(std::string("\x03\0\0\0\0\0\0\0{}", 10)), damaged("has 3 bytes, but only 2 are there"));
  EXPECT_THAT(failure_with("{", 0), damaged("not JSON"));
  EXPECT_THAT(failure_with("", 0), damaged("not JSON"));
  EXPECT_THAT(failure_with("{\"\xFF\": 1}", 0), damaged("not JSON"));
  EXPECT_THAT(failure_with(std::string("{}\0", 3), 0), damaged("not JSON"));
  EXPECT_THAT(failure_with("[]", 0), damaged("not an object"));
  EXPECT_THAT(failure_with(one("1"), 0), damaged("tensor 'w' is not described by an object"));
  EXPECT_THAT(failure_with(one("{}"), 0), damaged("'w' has no dtype"));
  EXPECT_THAT(failure_with(one(R"({"dtype": "F8_E4M3", "shape": [], "data_offsets": [0, 1]})"), 1), damaged("F8_E4M3"));
  EXPECT_THAT(failure_with(one(R"({"dtype": "F32", "data_offsets": [0, 4]})"), 4), damaged("no list 'shape'"));
  EXPECT_THAT(failure_with(one(R"({"dtype": "F32", "shape": []})"), 4), damaged("no list 'data_offsets'"));
  EXPECT_THAT(failure_with(placed("[1]", "[0]"), 4), damaged("not two numbers"));
  EXPECT_THAT(failure_with(placed("[1]", "[0, 4, 4]"), 4), damaged("not two numbers"));
  EXPECT_THAT(failure_with(placed("[-1]", "[0, 4]"), 4), damaged("'shape' with -1"));
  EXPECT_THAT(failure_with(placed("[1.5]", "[0, 4]"), 4), damaged("'shape' with 1.5"));
  EXPECT_THAT(failure_with(placed("[null]", "[0, 4]"), 4), damaged("'shape' with null"));
  EXPECT_THAT(failure_with(placed("[1]", "[-4, 0]"), 4), damaged("'data_offsets' with -4"));
  EXPECT_THAT(failure_with(placed("[9223372036854775808]", "[0, 4]"), 4), damaged("impossible shape"));
  EXPECT_THAT(failure_with(placed("[1]", "[4, 0]"), 4), damaged("ends before it begins"));
  EXPECT_THAT(failure_with(placed("[1]", "[0, 8]"), 4), damaged("bytes 0 to 8, but only 4 are there"));
  EXPECT_THAT(failure_with(placed("[1]", "[18446744073709551612, 18446744073709551615]"), 4),
              damaged("only 4 are there"));
  EXPECT_THAT(failure_with(placed("[2]", "[0, 4]"), 4), damaged("has 4 bytes, but its shape and dtype need 8"));
  EXPECT_THAT(failure_with(placed("[4611686018427387905]", "[0, 4]"), 4), damaged("more than can be counted"));
  EXPECT_THAT(failure_with(placed("[4294967296, 4294967296, 0]", "[0, 0]"), 0), damaged("more than can be counted"));
  EXPECT_THAT(failure_with(placed("[1]", "[4, 8]"), 8), damaged("unused bytes before it: 0 to 4"));
  EXPECT_THAT(failure_with(placed("[1]", "[0, 4]"), 5), damaged("tensors have 4 bytes, but 5 are there"));
  EXPECT_THAT(failure_with("{}", 1), damaged("tensors have 0 bytes, but 1 are there"));
}

TEST(Safetensors, OverlapsHolesAndDuplicatesAreNamed) {
  const auto entry = [](const std::string& name, const std::string& offsets) {
    return "\"" + name + R"(": {"dtype": "U8", "shape": [2], "data_offsets": )" + offsets + "}";
  };
  EXPECT_THAT(failure_with("{" + entry("a", "[0, 2]") + "," + entry("b", "[1, 3]") + "}", 3),
              HasSubstr("'b' overlaps 'a'"));
  EXPECT_THAT(failure_with("{" + entry("a", "[0, 2]") + "," + entry("b", "[0, 2]") + "}", 2),
              HasSubstr("'b' overlaps 'a'"));
  EXPECT_THAT(failure_with("{" + entry("b", "[3, 5]") + "," + entry("a", "[0, 2]") + "}", 5),
              HasSubstr("'b' has unused bytes before it: 2 to 3"));
  // Both as they are written and as they are meant.
  EXPECT_THAT(failure_with("{" + entry("a", "[0, 2]") + "," + entry("a", "[0, 2]") + "}", 2),
              HasSubstr("'a' comes twice"));
  EXPECT_THAT(failure_with("{" + entry("a", "[0, 2]") + "," + entry("\\u0061", "[2, 4]") + "}", 4),
              HasSubstr("'a' comes twice"));
}

TEST(Safetensors, EveryTruncationIsNoticed) {
  const test::ScratchFolder folder;
  const std::string data(24, 'd');
  write_safetensors(folder / "t", std::vector{tensor("a", Dtype::f32, {2, 2}, std::string_view(data).substr(0, 16)),
                                              tensor("b", Dtype::i8, {8}, std::string_view(data).substr(16))});
  const std::string whole = test::content_of(folder / "t");
  ASSERT_EQ(failure_with(whole), "none");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THAT(failure_with(whole.substr(0, size)), StartsWith("bad_file")) << size;
  }
}

TEST(Safetensors, HintsAtTruncation) {
  try {
    parse_safetensors(bytes_of("x"), "m");
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.hint(), "The file may be truncated: compare its size with the original's.");
  }
}

TEST(SafetensorsFile, FindsWhatWasWritten) {
  const test::ScratchFolder folder;
  write_safetensors(folder / "t",
                    std::vector{tensor("small \"\u00E9\"", Dtype::u8, {3}, "abc"),
                                tensor("large", Dtype::f64, {1}, "12345678"), tensor("none", Dtype::f32, {0}, "")});
  SafetensorsFile first(folder / "t");
  const SafetensorsFile file = std::move(first);  // the views survive a move
  EXPECT_EQ(file.tensors().size(), 3U);
  const TensorView* small = file.find("small \"\u00E9\"");
  ASSERT_NE(small, nullptr);
  EXPECT_EQ(text_of(small->data), "abc");
  const TensorView* large = file.find("large");
  ASSERT_NE(large, nullptr);
  EXPECT_EQ(large->dtype, Dtype::f64);
  EXPECT_EQ(text_of(large->data), "12345678");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(large->data.data()) % 8, 0U);  // large elements first: aligned
  EXPECT_EQ(file.find("larg"), nullptr);
}

TEST(SafetensorsFile, WhatIsNoFileIsRefused) {
  const test::ScratchFolder folder;
  const auto open = [&](const std::string& name) { return failure_of([&] { SafetensorsFile(folder / name); }); };
  EXPECT_THAT(open("none"), AllOf(StartsWith("missing_file"), HasSubstr("none")));
  folder.write("empty", "");
  EXPECT_THAT(open("empty"), AllOf(StartsWith("bad_file"), HasSubstr("only 0 bytes")));
  fs::create_directory(folder / "folder");
  EXPECT_THAT(open("folder"), AllOf(StartsWith("bad_file"), HasSubstr("not a regular file")));
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(open("pipe"), AllOf(StartsWith("bad_file"), HasSubstr("not a regular file")));  // and it does not wait
}

TEST(WriteSafetensors, ReplacesAtOnceAndLeavesNothingBehind) {
  const test::ScratchFolder folder;
  write_safetensors(folder / "t", std::vector{tensor("a", Dtype::u8, {3}, "old")});
  const SafetensorsFile old(folder / "t");
  write_safetensors(folder / "t", std::vector{tensor("a", Dtype::u8, {3}, "new")});
  EXPECT_EQ(text_of(old.find("a")->data), "old");  // a reader keeps the file that it has opened
  EXPECT_EQ(text_of(SafetensorsFile(folder / "t").find("a")->data), "new");
  write_safetensors(folder / "t", {});
  EXPECT_TRUE(SafetensorsFile(folder / "t").tensors().empty());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

TEST(WriteSafetensors, RefusesWhatCannotBeRead) {
  const test::ScratchFolder folder;
  const auto write = [&](std::vector<TensorView> tensors) { write_safetensors(folder / "t", tensors); };
  EXPECT_THROW(write({tensor("a", Dtype::f32, {1}, "abc")}), std::invalid_argument);
  EXPECT_THROW(write({tensor("a", Dtype::u8, {-1}, "abc")}), std::invalid_argument);
  EXPECT_THROW(write({tensor("a", Dtype::u8, {1}, "x"), tensor("a", Dtype::u8, {1}, "y")}), std::invalid_argument);
  EXPECT_THROW(write({tensor("__metadata__", Dtype::u8, {1}, "x")}), std::invalid_argument);
  EXPECT_TRUE(fs::is_empty(folder.path()));
  EXPECT_THAT(failure_of([&] { write_safetensors(folder / "none/t", {}); }), StartsWith("missing_file"));
  fs::create_directories(folder / "taken/x");
  EXPECT_THAT(failure_of([&] { write_safetensors(folder / "taken", {}); }), StartsWith("io"));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
}

}  // namespace
}  // namespace assay::engine
