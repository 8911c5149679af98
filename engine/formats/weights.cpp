#include "formats/weights.h"

#include <boost/json/parse.hpp>
#include <filesystem>
#include <system_error>

#include "formats/failure.h"

namespace assay::engine {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kIncomplete = "The download may be incomplete: compare the folder with the original.";

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

[[noreturn]] void bad_index(const std::string& index, const std::string& problem) {
  throw Failure("bad_file", "'" + index + "' " + problem, kIncomplete);
}

[[noreturn]] void bad_tensor(const std::string& index, const std::string& name, const std::string& where) {
  bad_index(index, "names the tensor '" + name + "' " + where);
}

/// Tensor → file name.
json::object read_weight_map(const std::string& index) {
  const MappedFile file(index);
  json::error_code code;
  json::value root = json::parse(file.text(), code);
  if (code) bad_index(index, "is not JSON: " + code.message());
  json::value* map = root.is_object() ? root.get_object().if_contains("weight_map") : nullptr;
  if (!map || !map->is_object()) bad_index(index, "has no 'weight_map'");
  return std::move(map->get_object());
}

}  // namespace

const TensorView* Weights::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

void Weights::add_file(const std::string& path) {
  files_.emplace_back(path);
  for (const TensorView& tensor : files_.back().tensors()) by_name_.emplace(tensor.name, &tensor);
}

const SafetensorsFile& Weights::open_shard(const std::string& index, const std::string& shard) {
  // The index may come from anywhere; it has no business in other folders.
  if (shard.empty() || fs::path(shard).filename() != shard || shard == "." || shard == "..") {
    bad_index(index, "names '" + shard + "', which is not a file beside it");
  }
  const fs::path path = fs::path(index).parent_path() / shard;
  if (!is_there(path)) {
    throw Failure("missing_file", "'" + index + "' needs '" + shard + "', which is not there", kIncomplete);
  }
  return files_.emplace_back(path.string());
}

void Weights::add_shards(const std::string& index) {
  std::map<std::string, const SafetensorsFile*> opened;
  const json::object weight_map = read_weight_map(index);
  for (const auto& entry : weight_map) {
    const std::string name(entry.key().data(), entry.key().size());
    if (!entry.value().is_string()) bad_tensor(index, name, "without a file");
    const std::string shard(entry.value().get_string());
    const SafetensorsFile*& file = opened[shard];
    if (!file) file = &open_shard(index, shard);
    const TensorView* tensor = file->find(name);
    if (!tensor) bad_tensor(index, name, "in '" + shard + "', which does not have it");
    by_name_.emplace(tensor->name, tensor);
  }
}

Weights open_weights(const std::string& path) {
  std::error_code ignored;
  Weights weights;
  if (!fs::is_directory(path, ignored)) {
    path.ends_with(".index.json") ? weights.add_shards(path) : weights.add_file(path);
  } else if (is_there(fs::path(path) / kSingle)) {
    weights.add_file((fs::path(path) / kSingle).string());
  } else if (is_there(fs::path(path) / kIndex)) {
    weights.add_shards((fs::path(path) / kIndex).string());
  } else {
    throw Failure("missing_file", "the folder '" + path + "' has neither " + kSingle + " nor " + kIndex,
                  "Weights are read from safetensors only, not from PyTorch's .bin and .pt files.");
  }
  return weights;
}

}  // namespace assay::engine
