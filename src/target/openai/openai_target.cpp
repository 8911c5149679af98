#include "target/openai/openai_target.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"
#include "base/text.h"
#include "net/listener.h"
#include "target/openai/client_loop.h"
#include "target/openai/preflight.h"

namespace assay {
namespace {

std::string address_of(const Url& url) {
  if (url.scheme == Url::Scheme::unix_socket) return "unix:" + url.socket_path;
  return fmt::format("{}://{}{}", url.scheme == Url::Scheme::https ? "https" : "http", url.place(), url.target);
}

class OpenAiTarget final : public Target {
 public:
  OpenAiTarget(OpenAiOptions options, std::shared_ptr<const RequestSet> requests) {
    context_.options = std::move(options);
    context_.requests = std::move(requests);
    context_.outstanding = Outstanding(context_.options.endpoints.size());
  }
  ~OpenAiTarget() override { loops_.clear(); }

  std::string_view name() const override { return "openai"; }

  std::vector<std::string> endpoints() const override {
    std::vector<std::string> addresses;
    for (const OpenAiEndpoint& endpoint : context_.options.endpoints) addresses.push_back(address_of(endpoint.url));
    return addresses;
  }

  Result<void> start(CompletionSink& sink, const TargetWishes& wishes) override {
    context_.sink = &sink;
    context_.wishes = wishes;
    std::shared_ptr<TlsClient> tls;
    for (const OpenAiEndpoint& endpoint : context_.options.endpoints) {
      if (endpoint.url.scheme == Url::Scheme::https && !tls) {
        ASSAY_TRY(tls, TlsClient::create(context_.options.ca_file));
      }
      ASSAY_TRY(const auto address,
                find_server(endpoint.url, context_.options.connect_time).within("checking the target"));
      context_.places.push_back({.address = address,
                                 .host = endpoint.url.host,
                                 .tls = endpoint.url.scheme == Url::Scheme::https ? tls : nullptr});
      if (context_.options.check) ASSAY_CHECK(check_server(context_.options, endpoint));
    }
    return start_loops();
  }

  void issue(std::span<const Request> requests) noexcept override {
    for (const Request& request : requests) {
      next_ = next_ + 1 == loops_.size() ? 0 : next_ + 1;
      if (loops_[next_]->push(request)) continue;
      ++not_queued_;
      context_.sink->complete({.id = request.id,
                               .done = std::chrono::time_point_cast<Nanos>(std::chrono::steady_clock::now()),
                               .outcome = RequestOutcome::error,
                               .error = RequestError::overloaded});
    }
    for (std::size_t i = 0; i < std::min(requests.size(), loops_.size()); ++i) {
      loops_[(next_ + loops_.size() - i) % loops_.size()]->wake();
    }
  }

  void stop(SteadyTime) noexcept override {
    for (const auto& loop : loops_) loop->stop();
  }

  std::vector<int> threads() const override {
    std::vector<int> ids;
    for (const auto& loop : loops_) ids.push_back(loop->thread_id());
    return ids;
  }

  json::object facts() const override;

 private:
  Result<void> start_loops() {
    ASSAY_TRY(const std::size_t files, raise_file_limit());
    const std::size_t most = connections_within(files, context_.options.connections);
    context_.connections_per_loop =
        static_cast<std::uint32_t>(std::max<std::size_t>(most / context_.options.threads, 1));
    for (unsigned i = 0; i < context_.options.threads; ++i) {
      ASSAY_TRY(auto loop, ClientLoop::start(context_));
      loops_.push_back(std::move(loop));
    }
    return {};
  }

  LoopContext context_;
  std::vector<std::unique_ptr<ClientLoop>> loops_;
  std::size_t next_ = 0;
  std::uint64_t not_queued_ = 0;
};

json::array endpoint_facts(const std::vector<std::string>& addresses, const LoopCounts& counts) {
  json::array facts;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const LoopCounts::Endpoint& endpoint = counts.endpoints[i];
    facts.push_back({{"address", addresses[i]},
                     {"requests", endpoint.requests},
                     {"ok", endpoint.ok},
                     {"failed", endpoint.failed},
                     {"connections", endpoint.connections}});
  }
  return facts;
}

void add_counts(const LoopCounts& part, LoopCounts& sum) {
  for (std::size_t i = 0; i < sum.endpoints.size(); ++i) {
    sum.endpoints[i].requests += part.endpoints[i].requests;
    sum.endpoints[i].ok += part.endpoints[i].ok;
    sum.endpoints[i].failed += part.endpoints[i].failed;
    sum.endpoints[i].connections += part.endpoints[i].connections;
  }
  sum.resent += part.resent;
  sum.retried += part.retried;
  sum.waited += part.waited;
  sum.unasked += part.unasked;
  sum.counted += part.counted;
  sum.estimated += part.estimated;
  sum.cut_short += part.cut_short;
  sum.cache_input_tokens += part.cache_input_tokens;
  sum.cached_tokens += part.cached_tokens;
  for (std::size_t i = 0; i < kFinishReasons; ++i) sum.finish_reasons[i] += part.finish_reasons[i];
  for (const auto& [problem, times] : part.problems) sum.problems[problem] += times;
}

json::object OpenAiTarget::facts() const {
  LoopCounts sum;
  sum.endpoints.resize(context_.options.endpoints.size());
  for (const auto& loop : loops_) add_counts(loop->counts(), sum);
  json::object facts{
      {"api", context_.options.api == OpenAiOptions::Api::chat ? "chat" : "completions"},
      {"model", context_.options.model},
      {"streamed", context_.options.stream},
      {"endpoints", endpoint_facts(endpoints(), sum)},
      {"token_counts", {{"by_server", sum.counted}, {"estimated", sum.estimated}}},
      {"cut_short", sum.cut_short},
      {"resent", sum.resent},
      {"retried", sum.retried},
      {"waited_for_connection", sum.waited},
      {"unasked_bytes", sum.unasked},
      {"not_queued", not_queued_},
  };
  if (sum.cache_input_tokens > 0) {
    facts["prefix_cache"] = {{"input_tokens", sum.cache_input_tokens}, {"cached_tokens", sum.cached_tokens}};
  }
  json::object reasons;
  for (std::size_t i = 0; i < kFinishReasons; ++i) {
    if (sum.finish_reasons[i] > 0) reasons[name_of(static_cast<FinishReason>(i))] = sum.finish_reasons[i];
  }
  facts["finish_reasons"] = std::move(reasons);
  json::object problems;
  for (const auto& [problem, times] : sum.problems) {
    problems[words_of_server(context_.options, problem)] = times;
  }
  facts["problems"] = std::move(problems);
  return facts;
}

/// A header that would be two, or that is ours to write.
std::optional<std::string> header_problem(std::string_view name, std::string_view value) {
  const bool is_name = !name.empty() && std::all_of(name.begin(), name.end(), is_url_safe);
  if (!is_name) return fmt::format("'{}' is no name of a header", printable(name));
  const std::string lower = lower_case(name);
  constexpr std::string_view kOwn[] = {"host", "content-length", "transfer-encoding", "connection", "content-type"};
  if (contains(kOwn, lower)) return fmt::format("the header '{}' is set by assay itself", name);
  if (value.find_first_of(std::string_view("\r\n\0", 3)) != std::string_view::npos) {
    return fmt::format("the header '{}' has a line break in its value", name);
  }
  return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<Target>> make_openai_target(OpenAiOptions options, std::shared_ptr<const RequestSet> requests) {
  const auto wrong = [](std::string message) { return Error{.kind = ErrorKind::usage, .message = std::move(message)}; };
  if (options.endpoints.empty() || options.endpoints.size() > 65'535) {
    return wrong("a target needs at least one address, and at most 65,535");
  }
  for (const OpenAiEndpoint& endpoint : options.endpoints) {
    if (!(endpoint.weight > 0 && endpoint.weight < 1e9)) {
      return wrong(fmt::format("the weight {} of {} is not above 0", endpoint.weight, endpoint.url.place()));
    }
  }
  for (const auto& [name, value] : options.headers) {
    if (auto problem = header_problem(name, value)) return wrong(std::move(*problem));
  }
  if (options.token.find_first_of(std::string_view("\r\n\0", 3)) != std::string::npos) {
    return wrong("the token has a line break in it");
  }
  options.threads = std::clamp(options.threads, 1U, 256U);
  return std::unique_ptr<Target>(std::make_unique<OpenAiTarget>(std::move(options), std::move(requests)));
}

}  // namespace assay
