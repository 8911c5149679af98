#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "formats/safetensors.h"

namespace assay::engine {

/// The weights of a model by name, from one file or several. Keeps the files mapped: the views live as long as this
/// object, wherever it is moved.
class Weights {
 public:
  const TensorView* find(std::string_view name) const;  ///< null: there is none
  const std::map<std::string_view, const TensorView*>& all() const { return by_name_; }

 private:
  friend Weights open_weights(const std::string& path);

  void add_file(const std::string& path);
  void add_shards(const std::string& index);
  const SafetensorsFile& open_shard(const std::string& index, const std::string& shard);

  std::deque<SafetensorsFile> files_;  // deque: views stay where they are
  std::map<std::string_view, const TensorView*> by_name_;
};

/// Opens a safetensors file, or a folder in the Hugging Face layout: with `model.safetensors`, or else with
/// `model.safetensors.index.json`, which says in which of several files a tensor is (only the tensors it names are
/// there then). Reads headers only. Throws Failure `missing_file` (path, weights or a shard), `bad_file`, `denied`,
/// `io`.
Weights open_weights(const std::string& path);

}  // namespace assay::engine
