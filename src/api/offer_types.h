#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/api_type.h"
#include "base/clock.h"
#include "model/price_book.h"

namespace assay {

// What the API says of prices, and of tokens and keys by which machines get in.

struct GpusOfModel {
  std::string name;
  std::int64_t count = 0;
  std::optional<GpuPrice> price;
};
struct PriceList {
  std::vector<GpuPrice> prices;
  std::optional<PowerPrice> power;
  std::vector<GpusOfModel> gpus;
};

struct JoinTokenView {
  std::string id;
  std::string name;
  WallTime created;
  std::optional<WallTime> expires;
  std::string state;
  std::string nodes;
  std::optional<std::int64_t> uses;
  bool approval = false;
  std::int64_t nodes_let_in = 0;
};
struct NodeKeyView {
  std::string node;
  WallTime joined;
  std::string by_token;
  std::string state;
};
struct JoinTokenList {
  std::vector<JoinTokenView> tokens;
  std::vector<NodeKeyView> keys;
  std::string next_token;  ///< empty: those are all tokens
  std::string next_key;    ///< empty: those are all keys
};
struct NewJoinToken {
  std::string name;
  std::string length;
  std::string nodes;
  std::optional<std::int64_t> uses;
  bool approval = false;
};
struct MadeJoinToken {
  JoinTokenView token;
  std::string secret;
};

template <>
const ApiType<GpuPrice>& api_type();
template <>
const ApiType<PowerPrice>& api_type();
template <>
const ApiType<GpusOfModel>& api_type();
template <>
const ApiType<PriceList>& api_type();
template <>
const ApiType<JoinTokenView>& api_type();
template <>
const ApiType<NodeKeyView>& api_type();
template <>
const ApiType<JoinTokenList>& api_type();
template <>
const ApiType<NewJoinToken>& api_type();
template <>
const ApiType<MadeJoinToken>& api_type();

}  // namespace assay
