#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/json.h"
#include "net/headers.h"
#include "net/url.h"

namespace assay {

/// A server, or one of several that share the load.
struct OpenAiEndpoint {
  Url url;            ///< the base address: `http://host:8000/v1`
  double weight = 1;  ///< above 0: one of weight 2 gets twice as many requests, or may have twice as many in flight
};

/// How a server that speaks OpenAI's API is asked.
struct OpenAiOptions {
  enum class Api { chat, completions };
  enum class Balance {
    round_robin,       ///< in turn, by weight
    least_outstanding  ///< the one that has the fewest under way for its weight
  };

  std::vector<OpenAiEndpoint> endpoints;  ///< at least one
  Api api = Api::chat;
  Balance balance = Balance::round_robin;
  std::string model;
  std::string token;        ///< sent as `Authorization: Bearer`; empty: none. Appears in no message and no record
  fs::path ca_file;         ///< for https; empty: the system's authorities
  NamedValues headers;      ///< added to every request
  json::object extra_body;  ///< added to every body; wins over all but prompt, messages, max_tokens and stream
  double temperature = 0;
  bool stream = true;       ///< without it no first token is seen
  bool ignore_eos = false;  ///< asks for every token up to the limit (vLLM, SGLang and others; OpenAI's own refuses it)
  bool check = true;        ///< asks for the model and for one token before the load starts

  unsigned threads = 1;              ///< event loops; one keeps up with tens of thousands of requests a second
  std::uint32_t connections = 8192;  ///< most at a time, over all endpoints; requests beyond wait in the client
  unsigned retries = 0;              ///< of a request that was refused or had no connection; 0 keeps the load as it was
  Nanos retry_pause = std::chrono::milliseconds(100);  ///< doubled at each further one, at most 5 s
  Nanos connect_time = std::chrono::seconds(5);
  Nanos check_time = std::chrono::seconds(30);  ///< for one answer of the check
};

/// `/v1/chat/completions` below the endpoint's base.
std::string completions_path(const OpenAiOptions& options, const Url& base);
/// `/v1/models`.
std::string models_path(const Url& base);

/// What a server said, fit to be shown: without the token, should it repeat it, and without what looks like another.
std::string words_of_server(const OpenAiOptions& options, std::string words);

}  // namespace assay
