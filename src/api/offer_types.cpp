#include "api/offer_types.h"

namespace assay {

template <>
const ApiType<GpuPrice>& api_type() {
  static const auto type =
      ApiType<GpuPrice>("GpuPrice", "What an hour of one GPU costs where a specification names no price.")
          .field("gpu", &GpuPrice::gpu, "Its name as the driver says it, or a pattern of names: `*H200*`")
          .optional("on_demand", &GpuPrice::on_demand, "Per GPU hour; null: not stated")
          .optional("spot", &GpuPrice::spot, "The same where it may be taken away; null: not stated")
          .field("currency", &GpuPrice::currency, "Three capital letters: USD")
          .optional("source", &GpuPrice::source, "Where the figures come from");
  return type;
}

template <>
const ApiType<PowerPrice>& api_type() {
  static const auto type =
      ApiType<PowerPrice>("PowerPrice", "What power costs where the cluster stands.")
          .optional("per_kwh", &PowerPrice::per_kwh, "Money per kilowatt hour; null: not stated")
          .optional("currency", &PowerPrice::currency, "Of that money: EUR")
          .optional("grams_co2_per_kwh", &PowerPrice::grams_co2_per_kwh, "CO₂ per kilowatt hour; null: not stated")
          .optional("source", &PowerPrice::source, "Where the figures come from");
  return type;
}

template <>
const ApiType<GpusOfModel>& api_type() {
  static const auto type = ApiType<GpusOfModel>("ClusterGpus", "GPUs of one model in the cluster.")
                               .field("name", &GpusOfModel::name, "As the driver says it")
                               .field("count", &GpusOfModel::count, "How many there are")
                               .field("price", &GpusOfModel::price, "The entry that holds for them; null: none does");
  return type;
}

template <>
const ApiType<PriceList>& api_type() {
  static const auto type = ApiType<PriceList>("PriceList", "Prices that hold where a specification names none.")
                               .field("prices", &PriceList::prices, "Of GPUs, by name")
                               .field("power", &PriceList::power, "Of power; null: not stated")
                               .field("gpus", &PriceList::gpus, "What the cluster has, with what it costs");
  return type;
}

template <>
const ApiType<JoinTokenView>& api_type() {
  static const auto type =
      ApiType<JoinTokenView>("JoinToken", "A token that lets machines join.")
          .field("id", &JoinTokenView::id, "What it is revoked by")
          .field("name", &JoinTokenView::name, "What it is called")
          .field("created", &JoinTokenView::created, "When it was made")
          .field("expires", &JoinTokenView::expires, "Null: when it is revoked")
          .field("state", &JoinTokenView::state, "good, expired or revoked")
          .field("nodes", &JoinTokenView::nodes, "Patterns of names that it lets in; empty: any")
          .field("uses", &JoinTokenView::uses, "So many machines in all; null: any number")
          .field("approval", &JoinTokenView::approval, "Whether each of them waits until an administrator has looked")
          .field("nodes_let_in", &JoinTokenView::nodes_let_in, "How many came with it");
  return type;
}

template <>
const ApiType<NodeKeyView>& api_type() {
  static const auto type = ApiType<NodeKeyView>("NodeKey", "What a node shows that it is itself.")
                               .field("node", &NodeKeyView::node, "Whose")
                               .field("joined", &NodeKeyView::joined, "Since when")
                               .field("by_token", &NodeKeyView::by_token, "The id of the token that let it in")
                               .field("state", &NodeKeyView::state, "good, waits (for approval) or revoked");
  return type;
}

template <>
const ApiType<JoinTokenList>& api_type() {
  static const auto type =
      ApiType<JoinTokenList>("JoinTokenList", "How machines get in, and which did.")
          .field("tokens", &JoinTokenList::tokens, "Newest first")
          .field("keys", &JoinTokenList::keys, "By node")
          .added("next_token", &JoinTokenList::next_token,
                 "For `before_token`: there are older ones; empty: that is all")
          .added("next_key", &JoinTokenList::next_key, "For `after_key`: there are more; empty: that is all");
  return type;
}

template <>
const ApiType<NewJoinToken>& api_type() {
  static const auto type =
      ApiType<NewJoinToken>("NewJoinToken", "A token to be made for machines.")
          .optional("name", &NewJoinToken::name, "What it is called; without one, by its id")
          .optional("for", &NewJoinToken::length, "How long it is good: 12h, 7d; 24h without, 30d at most")
          .optional("nodes", &NewJoinToken::nodes, "Patterns of names that it lets in: gpu*, gpu0[1-8],login")
          .optional("uses", &NewJoinToken::uses, "So many machines, and no more")
          .optional("approval", &NewJoinToken::approval, "true: each waits until an administrator has looked");
  return type;
}

template <>
const ApiType<MadeJoinToken>& api_type() {
  static const auto type =
      ApiType<MadeJoinToken>("MadeJoinToken", "A new token for machines.")
          .field("token", &MadeJoinToken::token, "What is kept of it")
          .field("secret", &MadeJoinToken::secret,
                 "For `assay agent --token-file`, with the leader's fingerprint where it has one; shown once");
  return type;
}

}  // namespace assay
