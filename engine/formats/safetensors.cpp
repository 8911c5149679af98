#include "formats/safetensors.h"

#include <algorithm>
#include <array>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>

#include "formats/failure.h"

namespace assay::engine {
namespace {

namespace json = boost::json;

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kLargestHeader = 100'000'000;  // as the library of Hugging Face has it
constexpr const char* kTruncated = "The file may be truncated: compare its size with the original's.";
constexpr std::string_view kMetadata = "__metadata__";

struct DtypeFacts {
  std::string_view name;
  Dtype dtype;
  std::size_t size;
};
constexpr std::array kDtypes = {DtypeFacts{"F64", Dtype::f64, 8}, DtypeFacts{"F32", Dtype::f32, 4},
                                DtypeFacts{"F16", Dtype::f16, 2}, DtypeFacts{"BF16", Dtype::bf16, 2},
                                DtypeFacts{"I64", Dtype::i64, 8}, DtypeFacts{"I32", Dtype::i32, 4},
                                DtypeFacts{"I16", Dtype::i16, 2}, DtypeFacts{"I8", Dtype::i8, 1},
                                DtypeFacts{"U8", Dtype::u8, 1},   DtypeFacts{"BOOL", Dtype::boolean, 1}};

const DtypeFacts& facts_of(Dtype dtype) {
  return *std::find_if(kDtypes.begin(), kDtypes.end(), [&](const DtypeFacts& facts) { return facts.dtype == dtype; });
}

/// Finds a key of the outermost object that comes twice: a parsed object keeps only one of them, silently.
struct DuplicateFinder {
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_array_size = max_object_size;
  static constexpr std::size_t max_key_size = max_object_size;
  static constexpr std::size_t max_string_size = max_object_size;

  int depth = 0;
  std::string key;
  std::unordered_set<std::string> seen;
  std::optional<std::string> duplicate;

  bool on_object_begin(json::error_code&) { return ++depth > 0; }
  bool on_object_end(std::size_t, json::error_code&) { return --depth >= 0; }
  bool on_key_part(json::string_view part, std::size_t, json::error_code&) {
    key.append(part.data(), part.size());
    return true;
  }
  bool on_key(json::string_view part, std::size_t, json::error_code&) {
    key.append(part.data(), part.size());
    if (depth == 1 && !seen.insert(key).second) duplicate = key;
    key.clear();
    return true;
  }
  bool on_document_begin(json::error_code&) { return true; }
  bool on_document_end(json::error_code&) { return true; }
  bool on_array_begin(json::error_code&) { return true; }
  bool on_array_end(std::size_t, json::error_code&) { return true; }
  bool on_string_part(json::string_view, std::size_t, json::error_code&) { return true; }
  bool on_string(json::string_view, std::size_t, json::error_code&) { return true; }
  bool on_number_part(json::string_view, json::error_code&) { return true; }
  bool on_int64(std::int64_t, json::string_view, json::error_code&) { return true; }
  bool on_uint64(std::uint64_t, json::string_view, json::error_code&) { return true; }
  bool on_double(double, json::string_view, json::error_code&) { return true; }
  bool on_bool(bool, json::error_code&) { return true; }
  bool on_null(json::error_code&) { return true; }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }
};

class HeaderReader {
 public:
  HeaderReader(std::span<const std::byte> bytes, const std::string& file) : bytes_(bytes), file_(file) {}

  std::vector<TensorView> read() {
    const std::string_view text = header_text();
    json::error_code code;
    const json::value header = json::parse(text, code);
    if (code) bad("its header is not JSON: " + code.message());
    if (!header.is_object()) bad("its header is JSON, but not an object");
    json::basic_parser<DuplicateFinder> duplicates{json::parse_options{}};
    duplicates.write_some(false, text.data(), text.size(), code);
    if (const auto& name = duplicates.handler().duplicate) bad_tensor(*name, "comes twice");

    for (const auto& entry : header.get_object()) {
      const std::string name(entry.key().data(), entry.key().size());
      if (name != kMetadata) places_.push_back(read_tensor(name, entry.value()));
    }
    return tensors_without_holes();
  }

 private:
  struct Place {
    TensorView tensor;
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  std::string_view header_text() {
    if (bytes_.size() < kLengthBytes) bad("it has only " + std::to_string(bytes_.size()) + " bytes");
    std::uint64_t length = 0;
    for (std::size_t i = 0; i < kLengthBytes; ++i) length |= std::to_integer<std::uint64_t>(bytes_[i]) << (8 * i);
    if (length > kLargestHeader) bad("its header would have " + std::to_string(length) + " bytes, far too many");
    const std::uint64_t rest = bytes_.size() - kLengthBytes;
    if (length > rest) {
      bad("its header has " + std::to_string(length) + " bytes, but only " + std::to_string(rest) + " are there");
    }
    data_ = bytes_.subspan(kLengthBytes + length);
    return {reinterpret_cast<const char*>(bytes_.data()) + kLengthBytes, length};
  }

  Place read_tensor(const std::string& name, const json::value& value) const {
    const json::object* entry = value.if_object();
    if (!entry) bad_tensor(name, "is not described by an object");
    Place place;
    place.tensor.name = name;
    place.tensor.dtype = read_dtype(name, entry->if_contains("dtype"));
    for (const std::uint64_t extent : read_numbers(name, "shape", entry->if_contains("shape"))) {
      if (extent > std::numeric_limits<std::int64_t>::max()) bad_tensor(name, "has an impossible shape");
      place.tensor.shape.push_back(static_cast<std::int64_t>(extent));
    }
    const auto offsets = read_numbers(name, "data_offsets", entry->if_contains("data_offsets"));
    if (offsets.size() != 2) bad_tensor(name, "has 'data_offsets' that are not two numbers");
    place.begin = offsets[0];
    place.end = offsets[1];
    const std::string range = std::to_string(place.begin) + " to " + std::to_string(place.end);
    if (place.begin > place.end) bad_tensor(name, "ends before it begins: bytes " + range);
    if (place.end > data_.size()) {
      bad_tensor(name, "is at the bytes " + range + ", but only " + std::to_string(data_.size()) + " are there");
    }
    const auto needed = tensor_bytes(place.tensor.dtype, place.tensor.shape);
    if (needed != place.end - place.begin) {
      bad_tensor(name, "has " + std::to_string(place.end - place.begin) + " bytes, but its shape and dtype need " +
                           (needed ? std::to_string(*needed) : "more than can be counted"));
    }
    place.tensor.data = data_.subspan(place.begin, place.end - place.begin);
    return place;
  }

  Dtype read_dtype(const std::string& name, const json::value* value) const {
    if (!value || !value->is_string()) bad_tensor(name, "has no dtype");
    std::string known;
    for (const DtypeFacts& facts : kDtypes) {
      if (value->get_string() == facts.name) return facts.dtype;
      known += (known.empty() ? "" : ", ") + std::string(facts.name);
    }
    bad("the tensor '" + name + "' has the dtype " + json::serialize(*value),
        "Known are " + known + ". Convert the weights to one of them.");
  }

  std::vector<std::uint64_t> read_numbers(const std::string& name, const char* key, const json::value* value) const {
    if (!value || !value->is_array()) bad_tensor(name, std::string("has no list '") + key + "'");
    std::vector<std::uint64_t> numbers;
    for (const json::value& element : value->get_array()) {
      json::error_code code;
      numbers.push_back(element.to_number<std::uint64_t>(code));
      if (code) bad_tensor(name, std::string("has a '") + key + "' with " + json::serialize(element));
    }
    return numbers;
  }

  std::vector<TensorView> tensors_without_holes() {
    std::sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) {
      return std::tie(a.begin, a.end, a.tensor.name) < std::tie(b.begin, b.end, b.tensor.name);
    });
    std::vector<TensorView> tensors;
    std::uint64_t covered = 0;
    for (Place& place : places_) {
      if (place.begin < covered) bad_tensor(place.tensor.name, "overlaps '" + tensors.back().name + "'");
      if (place.begin > covered) {
        bad_tensor(place.tensor.name,
                   "has unused bytes before it: " + std::to_string(covered) + " to " + std::to_string(place.begin));
      }
      covered = place.end;
      tensors.push_back(std::move(place.tensor));
    }
    if (covered != data_.size()) {
      bad("its tensors have " + std::to_string(covered) + " bytes, but " + std::to_string(data_.size()) + " are there");
    }
    return tensors;
  }

  [[noreturn]] void bad(const std::string& problem, const std::string& hint = kTruncated) const {
    throw Failure("bad_file", "'" + file_ + "' cannot be used as safetensors: " + problem, hint);
  }
  [[noreturn]] void bad_tensor(const std::string& name, const std::string& problem) const {
    bad("the tensor '" + name + "' " + problem);
  }

  std::span<const std::byte> bytes_;
  const std::string& file_;
  std::span<const std::byte> data_;
  std::vector<Place> places_;
};

}  // namespace

std::size_t size_of(Dtype dtype) { return facts_of(dtype).size; }
std::string_view name_of(Dtype dtype) { return facts_of(dtype).name; }

std::optional<std::uint64_t> tensor_bytes(Dtype dtype, std::span<const std::int64_t> shape) {
  std::uint64_t bytes = size_of(dtype);
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes)) return std::nullopt;
  }
  return bytes;
}

std::vector<TensorView> parse_safetensors(std::span<const std::byte> bytes, const std::string& file) {
  return HeaderReader(bytes, file).read();
}

SafetensorsFile::SafetensorsFile(const std::string& path)
    : file_(path), tensors_(parse_safetensors(file_.bytes(), path)) {
  for (const TensorView& tensor : tensors_) by_name_.emplace(tensor.name, &tensor);
}

const TensorView* SafetensorsFile::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

}  // namespace assay::engine
