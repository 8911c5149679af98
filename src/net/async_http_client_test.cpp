#include "net/async_http_client.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <exception>

#include "net/http_message.h"
#include "net/raw_connection_fixture.h"
#include "net/router.h"
#include "net/server_fixture.h"

namespace assay {
namespace {

IoTask<void> ask(AsyncHttpClient& client, int number, int& right) {
  for (int round = 0; round < 3; ++round) {
    ClientRequest request;
    request.method = "POST";
    request.target = "/echo";
    request.body = std::to_string(number * 10 + round);
    const std::string expected = request.body;
    const auto answer = co_await client.send(std::move(request));
    if (answer.ok() && answer->body == expected) ++right;
  }
}

TEST(AsyncHttpClient, HasManyRequestsUnderWayOnOneThread) {
  Router router;
  router.post("/echo", [](const HttpRequest& request) { return HttpResponse::text(200, request.body); });
  const auto server = start_server(std::move(router));
  asio::io_context context(1);
  auto client = AsyncHttpClient::create(context.get_executor(),
                                        {.host = "127.0.0.1", .port = port_of(*server), .target = "/"}, {});
  ASSERT_TRUE(client.ok());
  int right = 0;
  for (int i = 0; i < 50; ++i) {
    asio::co_spawn(context, ask(**client, i, right), [](const std::exception_ptr& problem) { EXPECT_FALSE(problem); });
  }
  context.run();
  EXPECT_EQ(right, 150);
  // Of the connections that are free only a few are kept.
  EXPECT_TRUE(comes_true([&] { return server->connections() <= ClientOptions().idle_connections; }));
}

}  // namespace
}  // namespace assay
