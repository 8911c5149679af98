// What a leader held when it was attacked and killed by hand, and must go on holding. Counts are those of a small
// machine; `bench/forged_agent.py` and `bench/cluster.py` have larger ones.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/files.h"
#include "cluster_fixture.h"
#include "net/client_messages.h"
#include "net/listener.h"
#include "net/url_text.h"

namespace assay {
namespace {

using testing::IsEmpty;

class ClusterLoad : public ClusterTest {
 protected:
  void start(int nodes, const std::vector<std::string>& arguments) {
    leader_.start();
    fleet_.emplace(leader_.start_fleet(nodes, arguments));
    leader_.expect_state(fmt::format("sim{:03}", nodes), "online");
  }
  /// The nodes are told to end, and have had nothing to complain of.
  void expect_nodes_were_heard() {
    EXPECT_THAT(leader_.silenced(), IsEmpty());
    EXPECT_EQ(fleet_->terminate(), 0) << fleet_->said();
    expect_prompt(leader_.fleet_summary());
  }
  /// How many values the leader has of each metric of the fleet, and of how many series.
  std::int64_t values_of_fleet() {
    std::set<std::string> metrics;
    std::string after;
    do {
      const auto page = leader_.get("/api/v1/series?limit=10000&after=" + percent_encode(after));
      for (const auto& series : page.at("series").as_array()) metrics.emplace(series.at("name").as_string());
      after = std::string(page.at("next").as_string());
    } while (!after.empty());
    std::int64_t values = 0;
    for (const auto& metric : metrics) {
      const auto answer = leader_.cli().json({"query", metric, "node=sim*", "last=1h", "width=1h"});
      for (const auto& series : answer.at("result").at("series").as_array()) {
        for (const auto& bucket : series.at("buckets").as_array()) values += bucket.at(4).to_number<std::int64_t>();
      }
    }
    return values;
  }

  std::optional<AssayProcess> fleet_;
};

TEST_F(ClusterLoad, SixKillsLoseAndDoubleNothing) {
  start(30, {"--gpus", "8"});
  for (int kill = 0; kill < 6; ++kill) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    leader_.process().kill_now();
    leader_.start();
  }
  EXPECT_EQ(fleet_->terminate(), 0) << fleet_->said();
  const auto samples = leader_.fleet_summary().at("samples").as_object();
  EXPECT_EQ(samples.at("lost").to_number<std::int64_t>(), 0);
  const auto read = samples.at("read").to_number<std::int64_t>();
  EXPECT_EQ(samples.at("acknowledged").to_number<std::int64_t>(), read);
  EXPECT_GT(read, 10'000);
  EXPECT_EQ(values_of_fleet(), read);
  EXPECT_THAT(leader_.problems(), IsEmpty());
}

TEST_F(ClusterLoad, ManyViewersKeepNobodyWaiting) {
  start(40, {"--gpus", "8", "--metrics", "8"});
  constexpr int kViewers = 64;
  // Each token may have half of them.
  const std::vector<std::string> secrets = {leader_.secret_of(leader_.token_file("viewer")),
                                            leader_.secret_of(leader_.token_file("viewer")),
                                            leader_.secret_of(leader_.token_file("viewer"))};
  const std::vector<std::string> questions = {
      "/api/v1/nodes?values=true", "/api/v1/events?kind=nosuch", "/api/v1/query?q=gpu.util%20last=1h",
      "/api/v1/series?limit=1000", "/api/v1/alerts?all=true",    "/metrics"};
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  std::atomic<int> answered = 0;
  {
    std::vector<std::jthread> viewers;
    viewers.reserve(kViewers);
    for (std::size_t i = 0; i < kViewers; ++i) {
      viewers.emplace_back([&, i] {
        for (std::size_t round = i; std::chrono::steady_clock::now() < end; ++round) {
          const auto answer = leader_.request("GET", questions[round % questions.size()], secrets[i % secrets.size()]);
          EXPECT_EQ(answer.status, 200) << answer.body;
          ++answered;
          std::this_thread::sleep_for(std::chrono::milliseconds(200));
        }
      });
    }
  }
  EXPECT_GT(answered, kViewers);
  expect_nodes_were_heard();
}

/// From an address of its own, as somebody else's machine has.
FileDescriptor connect_from_elsewhere(std::uint16_t port) {
  FileDescriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in from{};
  from.sin_family = AF_INET;
  ::inet_pton(AF_INET, "127.0.0.9", &from.sin_addr);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool connected = ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&from), sizeof from) == 0 &&
                         ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  if (!connected) fd.reset();
  return fd;
}

TEST_F(ClusterLoad, IdleAndSlowConnectionsKeepNobodyWaiting) {
  const auto files = raise_file_limit();
  ASSERT_TRUE(files.ok());
  start(20, {"--gpus", "1", "--metrics", "4"});
  // Where that many files may be open; the leader has the same limit.
  const std::size_t idle_ones = std::min<std::size_t>(5000, *files / 4);
  const std::size_t slow_ones = std::min<std::size_t>(3000, *files / 8);
  std::vector<FileDescriptor> idle;
  std::vector<FileDescriptor> slow;
  idle.reserve(idle_ones);
  slow.reserve(slow_ones);
  for (std::size_t i = 0; i < idle_ones; ++i) idle.push_back(connect_from_elsewhere(leader_.port()));
  for (std::size_t i = 0; i < slow_ones; ++i) slow.push_back(connect_from_elsewhere(leader_.port()));
  const auto open = [](const auto& all) {
    return std::count_if(all.begin(), all.end(), [](const FileDescriptor& one) { return one.get() >= 0; });
  };
  EXPECT_GT(open(idle) + open(slow), 1000);
  const std::string head = "GET /api/v1/nodes HTTP/1.1\r\nHost: ";
  for (int second = 0; second < 5; ++second) {
    for (const auto& one : slow) {
      if (one.get() >= 0) (void)::send(one.get(), head.data() + second, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(leader_.request("GET", "/api/v1/nodes", leader_.owner_secret()).status, 200);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(1));
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  expect_nodes_were_heard();
  EXPECT_LT(leader_.process().memory_bytes("VmHWM"), std::int64_t{512} << 20);
}

TEST_F(ClusterLoad, BackupsKeepNobodyWaiting) {
  start(30, {"--gpus", "8"});
  for (int i = 0; i < 3; ++i) {
    const auto made = leader_.cli().run({"backup", (leader_.cli().folder() / ("copy-" + std::to_string(i))).string()});
    EXPECT_EQ(made.exit_code, 0) << made.error;
  }
  expect_nodes_were_heard();
}

}  // namespace
}  // namespace assay
