#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <csignal>
#include <future>

#include "base/spawn.h"
#include "base/text.h"
#include "support/assay_cli.h"

// A load that several clients share, on this machine. What it can deliver in time is not a test's business: runs may
// end as invalid (4), since a client was late or starved, but with every request accounted for.

namespace assay {
namespace {

using testing::HasSubstr;

std::string shared_load(std::string_view more) {
  return "kind: serve\ntarget: {name: 'null', service_time: 1ms}\nscenario: server\nrate: 300/s\nlimits: {e2e_p90: "
         "10s}\n" +
         std::string(more);
}

json::object profile_of_last(AssayCli& cli) {
  const fs::path file = cli.data() / "runs" / std::string(cli.last_run().at("id").as_string()) / "artifacts/load.json";
  return json::parse(read_file(file).value()).as_object();
}

std::vector<std::string> flags_of_last(AssayCli& cli) {
  const json::object run = cli.last_run();
  std::vector<std::string> flags;
  for (const auto& flag : run.at("flags").as_array()) {
    flags.push_back(std::string(flag.at("kind").as_string()) + ": " + std::string(flag.at("about").as_string()));
  }
  return flags;
}

TEST(ServeClients, TogetherSendTheScheduleOfOne) {
  AssayCli cli;
  const auto run = [&](const std::string& clients) {
    const auto answer =
        cli.run({"run", cli.write("load.yaml", shared_load("samples: 500\nmin_duration: 0s\nseed: 3\n")), "--set",
                 "clients=" + clients});
    EXPECT_THAT(answer.exit_code, testing::AnyOf(0, 4)) << answer.out << answer.error;
    return cli.last_run().at("metrics").as_object();
  };
  const json::object alone = run("1");
  const json::object together = run("3");
  for (const auto* name : {"samples_asked", "samples_done", "scheduled_samples_per_second", "success_rate"}) {
    EXPECT_EQ(alone.at(name), together.at(name)) << name;
  }
  EXPECT_FALSE(alone.contains("clients"));
  EXPECT_EQ(together.at("clients").to_number<int>(), 3);
  EXPECT_GT(together.at("clock_bound_seconds").to_number<double>(), 0);
  int requests = 0;
  const json::object profile = profile_of_last(cli);
  ASSERT_EQ(profile.at("clients").as_array().size(), 3u);
  for (const auto& client : profile.at("clients").as_array()) requests += client.at("requests").to_number<int>();
  EXPECT_EQ(requests, together.at("samples_asked").to_number<int>());
  EXPECT_THAT(processes_with(cli.folder().string()), testing::IsEmpty()) << "clients end with their run";
}

TEST(ServeClients, OneThatIsKilledMakesTheResultInvalidAndItsRequestsLost) {
  AssayCli cli;
  const std::string spec = cli.write("load.yaml", shared_load("samples: 100\nmin_duration: 15s\nclients: 3\n"));
  auto ended = std::async(std::launch::async, [&] { return cli.run({"run", spec}); });
  ASSERT_TRUE(eventually([&] { return cli.run({"runs"}).out.find("running") != std::string::npos; }));
  ASSERT_TRUE(eventually([&] { return !cli.last_series("requests_sent_per_second").empty(); })) << "the load goes on";
  std::vector<int> further;
  for (const int process : processes_with("clients-started")) {
    const auto environment = read_file(fmt::format("/proc/{}/environ", process));
    if (environment && environment->find("RANK=1") != std::string::npos &&
        environment->find(cli.data().string()) != std::string::npos) {
      further.push_back(process);
    }
  }
  ASSERT_EQ(further.size(), 1u);
  ASSERT_EQ(::kill(further[0], SIGKILL), 0);
  const auto answer = ended.get();
  EXPECT_EQ(answer.exit_code, 4) << answer.out << answer.error;
  EXPECT_THAT(flags_of_last(cli), testing::Contains(testing::StartsWith("client_lost: client 1 on ")));
  const json::object metrics = cli.last_run().at("metrics").as_object();
  const json::array clients = profile_of_last(cli).at("clients").as_array();
  EXPECT_EQ(metrics.at("requests_lost").to_number<int>(), clients[1].at("requests").to_number<int>());
  EXPECT_EQ(clients[1].at("ok").to_number<int>(), 0);
  EXPECT_EQ(clients[0].at("ok"), clients[0].at("requests"));
  EXPECT_EQ(clients[2].at("ok"), clients[2].at("requests"));
}

TEST(ServeClients, FindAPeakTogether) {
  AssayCli cli;
  const std::string spec =
      cli.write("load.yaml",
                "kind: serve\ntarget: {name: 'null', service_time: 20ms, slots: 4}\nscenario: server\n"
                "find_peak: {e2e_p90: 500ms}\nsamples: 50\nmin_duration: 0s\nclients: 2\n");
  const auto answer = cli.run({"run", spec});
  EXPECT_THAT(answer.exit_code, testing::AnyOf(0, 4)) << answer.out << answer.error;
  const json::object metrics = cli.last_run().at("metrics").as_object();
  EXPECT_EQ(metrics.at("clients").to_number<int>(), 2);
  EXPECT_GT(metrics.at("peak_probes").to_number<int>(), 1);
}

TEST(ServeClients, WhatOneCannotReachEndsTheRunBeforeItStarts) {
  AssayCli cli;
  const auto answer = cli.run({"run", cli.write("load.yaml",
                                                "kind: serve\nmodel: m\ntarget: {openai: 'http://127.0.0.1:1/v1'}\n"
                                                "rate: 5/s\nclients: 2\n")});
  EXPECT_EQ(answer.exit_code, 3) << answer.out << answer.error;
  EXPECT_THAT(answer.out + answer.error, HasSubstr("127.0.0.1:1"));
}

TEST(ServeClients, ScenariosThatCannotBeSharedAreRefused) {
  AssayCli cli;
  const auto refused = [&](const std::string& spec) {
    const auto answer = cli.run({"validate", cli.write("load.yaml", "kind: serve\ntarget: 'null'\n" + spec)});
    EXPECT_EQ(answer.exit_code, 2);
    return answer.out + answer.error;
  };
  EXPECT_THAT(refused("scenario: single_stream\nclients: 2\n"), HasSubstr("'clients'"));
  EXPECT_THAT(refused("scenario: closed\nconcurrency: 3\nclients: 4\n"), HasSubstr("4 clients cannot share"));
}

/// Clients as a launcher starts them: one process for each, told its place by the environment.
class LaunchedClients : public testing::Test {
 protected:
  LaunchedClients() {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(::bind(socket, reinterpret_cast<sockaddr*>(&address), length), 0);
    EXPECT_EQ(::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length), 0);
    port_ = ntohs(address.sin_port);
    ::close(socket);
    key_ = cli_.write("clients.key", std::string(64, 'a') + "\n");
  }
  std::string settings(const std::string& name, int samples) {
    return cli_.write(name, json::serialize(json::object{{"kind", "serve"},
                                                         {"target", {{"name", "null"}}},
                                                         {"scenario", "constant"},
                                                         {"rate", 200},
                                                         {"samples", samples},
                                                         {"clients", 2},
                                                         {"seed", 1}}));
  }
  pid_t start(int rank, const std::string& settings, const std::string& key) {
    const auto nothing = open_file("/dev/null", O_RDWR).value();
    const auto out = open_file(cli_.folder() / fmt::format("out{}", rank), O_WRONLY | O_CREAT | O_TRUNC).value();
    return spawn({.arguments = {AssayCli::program().string(), "__serve-load", settings, key, "clients-started"},
                  .environment = merged_environment({{"RANK", std::to_string(rank)},
                                                     {"WORLD_SIZE", "2"},
                                                     {"MASTER_ADDR", "127.0.0.1"},
                                                     {"MASTER_PORT", std::to_string(port_)},
                                                     {"ASSAY_EVENTS", "stdout"}})
                                     .value(),
                  .descriptors = {{nothing.get(), 0}, {out.get(), 1}, {out.get(), 2}},
                  .dies_with_parent = true})
        .value();
  }
  static int ending_of(pid_t process) {
    int status = 0;
    EXPECT_EQ(::waitpid(process, &status, 0), process);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string said(int rank) { return read_file(cli_.folder() / fmt::format("out{}", rank)).value(); }

  AssayCli cli_;
  std::uint16_t port_ = 0;
  std::string key_;
};

TEST_F(LaunchedClients, ShareALoadAndOnlyTheFirstSpeaks) {
  const std::string spec = settings("spec.json", 200);
  const pid_t second = start(1, spec, key_);
  const pid_t first = start(0, spec, key_);
  EXPECT_EQ(ending_of(first), 0) << said(0);
  EXPECT_EQ(ending_of(second), 0) << said(1);
  EXPECT_THAT(said(0), HasSubstr("\"samples_asked\":200"));
  EXPECT_EQ(said(1), "");
}

TEST_F(LaunchedClients, ThatDisagreeEndTheRunWithANameAndAReason) {
  const pid_t first = start(0, settings("one.json", 200), key_);
  const pid_t second = start(1, settings("other.json", 201), key_);
  EXPECT_EQ(ending_of(first), 1);
  EXPECT_EQ(ending_of(second), 1);
  EXPECT_THAT(said(0), HasSubstr("\"kind\":\"bad_spec\""));
  EXPECT_THAT(said(0), HasSubstr("client 1 on "));
  EXPECT_THAT(said(0), HasSubstr("has other settings"));
  EXPECT_THAT(said(1), HasSubstr("has other settings"));
}

TEST_F(LaunchedClients, AStrangerDoesNotGetIn) {
  const std::string spec = settings("spec.json", 200);
  const pid_t first = start(0, spec, key_);
  const pid_t stranger = start(1, spec, cli_.write("other.key", std::string(64, 'b') + "\n"));
  EXPECT_EQ(ending_of(stranger), 1);
  EXPECT_THAT(said(1), HasSubstr("key"));
  const pid_t second = start(1, spec, key_);
  EXPECT_EQ(ending_of(first), 0) << said(0);
  EXPECT_EQ(ending_of(second), 0) << said(1);
  EXPECT_THAT(said(0), HasSubstr("\"samples_asked\":200"));
}

}  // namespace
}  // namespace assay
