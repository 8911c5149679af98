// The runs of a leader, asked for over its API: the same contract as for every other store.

#include "access/token_book.h"
#include "client/connection_options.h"
#include "client/leader_runs.h"
#include "http/api_routes.h"
#include "http/http_fixture.h"
#include "net/router.h"
#include "net/server_fixture.h"
#include "store/memory/run_memory.h"
#include "store/run_contract.h"
#include "store/run_store.h"

namespace assay {
namespace {

/// A server in front of a store in memory.
class ApiPlace final : public RunStorePlace {
 public:
  ApiPlace() {
    auto book = TokenBook::open(folder_.path() / "tokens.jsonl", clock_);
    EXPECT_TRUE(book.ok());
    book_.emplace(std::move(*book));
    secret_ = book_->create(Role::admin, "ada", std::nullopt)->secret;
    gatekeeper_.emplace(*book_);
    ApiTable table;
    add_run_endpoints(table, *behind_, clock_);
    Router router;
    checked(table).route(router, *gatekeeper_);
    server_ = start_server(std::move(router));
  }
  ~ApiPlace() override { server_.reset(); }

  std::unique_ptr<RunStore> open() override {
    auto url = parse_url("http://127.0.0.1:" + std::to_string(port_of(*server_)));
    EXPECT_TRUE(url.ok());
    auto connection = Connection::create({.url = std::move(*url),
                                          .address = "the test's server",
                                          .client = {.server = "the leader"},
                                          .headers = {{"Authorization", "Bearer " + secret_}}});
    EXPECT_TRUE(connection.ok());
    return open_leader_runs(std::move(*connection));
  }
  void pass(Nanos time) override { clock_.advance(time); }

 private:
  TemporaryFolder folder_;
  ManualClock clock_;
  std::unique_ptr<RunStore> behind_ = open_run_memory(make_run_memory(), clock_);
  std::optional<TokenBook> book_;
  std::string secret_;
  std::optional<Gatekeeper> gatekeeper_;
  std::unique_ptr<HttpServer> server_;
};

const auto kApi = testing::Values(
    RunStoreFactory{"Api", [] { return std::unique_ptr<RunStorePlace>(std::make_unique<ApiPlace>()); }});
INSTANTIATE_TEST_SUITE_P(OverTheApi, RunStoreContract, kApi, run_store_factory_name);
INSTANTIATE_TEST_SUITE_P(OverTheApi, ListedRunStoreContract, kApi, run_store_factory_name);
INSTANTIATE_TEST_SUITE_P(OverTheApi, LeaseContract, kApi, run_store_factory_name);

}  // namespace
}  // namespace assay
