#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <map>
#include <optional>

#include "cluster_fixture.h"

namespace assay {
namespace {

using testing::HasSubstr;

class ClusterBackup : public ClusterTest {
 protected:
  static json::array names_of_nodes(const json::object& answer) {
    json::array names;
    for (const auto& node : answer.at("result").at("nodes").as_array()) names.push_back(node.at("name"));
    return names;
  }
};

TEST_F(ClusterBackup, MadeWhileTheLeaderRunsAnswersAsItDid) {
  leader_.start();
  AssayCli& cli = leader_.cli();
  auto fleet = leader_.start_fleet(3, {"--gpus", "2"});
  for (const char* node : {"sim001", "sim002", "sim003"}) {
    ASSERT_TRUE(eventually([&] { return leader_.seconds_of(node, "gpu.power_w").size() >= 2; })) << node;
  }
  EXPECT_EQ(cli.run({"exec", "--", "true"}).exit_code, 0);
  const auto before = cli.json({"query", "gpu.power_w", "last=10min", "width=1s"});
  const auto seconds = leader_.seconds_of("sim003", "gpu.power_w");

  const std::string copy = (cli.folder() / "copy").string();
  const auto made = cli.run({"backup", copy});
  ASSERT_EQ(made.exit_code, 0) << made.error;
  EXPECT_THAT(made.out, HasSubstr("every sum is right"));
  EXPECT_FALSE(fs::exists(cli.data() / "leader" / "backup")) << "the leader keeps copies of its stores";
  const auto twice = cli.run({"backup", copy});
  EXPECT_EQ(twice.exit_code, 2);
  EXPECT_THAT(twice.error, HasSubstr("is not empty"));
  EXPECT_EQ(cli.run({"backup", (cli.data() / "inside").string()}).exit_code, 2);
  EXPECT_EQ(fleet.terminate(), 0) << "the backup was in the way of the agents";
  const auto nodes = names_of_nodes(cli.json({"nodes"}));

  const fs::path restored = cli.folder() / "restored";
  const std::map<std::string, std::string> there = {{"ASSAY_DATA", restored.string()}};
  EXPECT_EQ(cli.run({"restore", cli.folder().string()}, there).exit_code, 2);
  const auto done = cli.run({"restore", copy}, there);
  ASSERT_EQ(done.exit_code, 0) << done.error;
  EXPECT_EQ(cli.run({"restore", copy}, there).exit_code, 2) << "a folder with data in it was overwritten";
  EXPECT_EQ(cli.json({"runs"}, nullptr, there).at("result").at("runs").as_array().size(), 1U);

  // Without a leader, then with one.
  const auto series = cli.json({"query", "gpu.power_w", "last=10min"}, nullptr, there).at("result").at("series");
  EXPECT_EQ(series.as_array().size(), before.at("result").at("series").as_array().size());
  AssayProcess second({"serve", "--listen", "127.0.0.1:0"}, cli.folder() / "second.log", there);
  ASSERT_TRUE(eventually([&] { return fs::exists(restored / "leader" / "endpoint.json"); })) << second.said();
  EXPECT_EQ(names_of_nodes(cli.json({"nodes"}, nullptr, there)), nodes);
  const auto after = cli.json({"query", "gpu.power_w", "node=sim003", "last=10min", "width=1s"}, nullptr, there);
  std::set<std::int64_t> kept;
  for (const auto& row : after.at("result").at("series").as_array()) {
    for (const auto& bucket : row.at("buckets").as_array()) kept.insert(bucket.at(0).to_number<std::int64_t>() / 1000);
  }
  EXPECT_TRUE(std::includes(kept.begin(), kept.end(), seconds.begin(), seconds.end()));
  EXPECT_EQ(second.terminate(), 0);
}

TEST_F(ClusterBackup, OfALeaderThatDoesNotRunIsTheSame) {
  leader_.start();
  AssayCli& cli = leader_.cli();
  auto agent = leader_.start_agent("n1");
  ASSERT_TRUE(eventually([&] { return leader_.seconds_of("n1").size() >= 2; }));
  const auto seconds = leader_.seconds_of("n1");
  // Killed: its address is still there.
  leader_.process().kill_now();
  const auto made = cli.run({"backup", (cli.folder() / "copy").string()});
  EXPECT_EQ(made.exit_code, 0) << made.error;
  const std::map<std::string, std::string> there = {{"ASSAY_DATA", (cli.folder() / "restored").string()}};
  EXPECT_EQ(cli.run({"restore", (cli.folder() / "copy").string()}, there).exit_code, 0);
  const auto answer = cli.json({"query", "host.cpu_util", "last=10min", "width=1s"}, nullptr, there);
  ASSERT_EQ(answer.at("result").at("series").as_array().size(), 1U);
  EXPECT_GE(answer.at("result").at("series").at(0).at("buckets").as_array().size(), seconds.size());
}

TEST_F(ClusterBackup, SaysThatWhatWasRevokedSinceIsGoodAgain) {
  leader_.start();
  AssayCli& cli = leader_.cli();
  ASSERT_EQ(cli.run({"token", "create", "--role", "viewer", "--name", "stolen"}).exit_code, 0);
  const auto good_there = [&](const std::map<std::string, std::string>& there) {
    return cli.run({"token", "list"}, there).out.find("stolen") != std::string::npos;
  };
  ASSERT_EQ(cli.run({"backup", (cli.folder() / "copy").string()}).exit_code, 0);
  ASSERT_EQ(cli.run({"token", "revoke", "stolen"}).exit_code, 0);
  EXPECT_FALSE(good_there({}));
  const std::map<std::string, std::string> there = {{"ASSAY_DATA", (cli.folder() / "restored").string()}};
  const auto done = cli.run({"restore", (cli.folder() / "copy").string()}, there);
  EXPECT_EQ(done.exit_code, 0);
  EXPECT_THAT(done.error, HasSubstr("revoked, disabled or changed since then is good again"));
  EXPECT_TRUE(good_there(there)) << "or there is nothing to warn of";
  EXPECT_EQ(cli.run({"token", "revoke", "stolen"}, there).exit_code, 0) << "what the note tells to do";
  EXPECT_FALSE(good_there(there));
}

/// What belongs to whom below a folder, and when it was changed.
std::map<std::string, std::string> state_of(const fs::path& folder) {
  std::map<std::string, std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    struct stat info{};
    EXPECT_EQ(::lstat(entry.path().c_str(), &info), 0);
    found[entry.path().string()] =
        fmt::format("{} {} {:o} {}", info.st_uid, info.st_gid, info.st_mode, entry.is_directory() ? 0 : info.st_size);
  }
  return found;
}

TEST_F(ClusterBackup, OfALeaderThatDoesNotRunLeavesItsFolderAsItIs) {
  leader_.start();
  AssayCli& cli = leader_.cli();
  auto agent = leader_.start_agent("n1");
  ASSERT_TRUE(eventually([&] { return leader_.seconds_of("n1").size() >= 2; }));
  EXPECT_EQ(agent.terminate(), 0);
  EXPECT_EQ(leader_.process().terminate(), 0);
  const auto before = state_of(cli.data());
  const auto made = cli.run({"backup", (cli.folder() / "copy").string()});
  EXPECT_EQ(made.exit_code, 0) << made.error;
  // Another user would leave files that the leader's own cannot write.
  EXPECT_EQ(state_of(cli.data()), before);
}

TEST_F(ClusterBackup, ComesToWhoeverAskedForItWithTheTokenOfAnAdministrator) {
  leader_.start();
  AssayCli& cli = leader_.cli();
  const std::string copy = (cli.folder() / "elsewhere" / "copy").string();
  // Another machine has no data folder of this leader.
  const std::map<std::string, std::string> away = {{"ASSAY_DATA", (cli.folder() / "nothing").string()}};
  const auto ask = [&](const std::string& role) {
    return cli.run({"backup", copy, "--leader", leader_.url(), "--token-file", leader_.token_file(role).string()},
                   away);
  };
  const auto refused = ask("user");
  EXPECT_EQ(refused.exit_code, 3) << refused.error;
  EXPECT_FALSE(fs::exists(copy));
  EXPECT_FALSE(fs::exists(copy + ".partial"));
  const auto made = ask("admin");
  ASSERT_EQ(made.exit_code, 0) << made.error;
  EXPECT_TRUE(fs::exists(fs::path(copy) / "leader" / "cluster.db"));
  EXPECT_FALSE(fs::exists(fs::path(copy) / "leader" / "owner.token")) << "a secret, and not its hash";
}

TEST_F(ClusterBackup, ThatIsDamagedIsRefusedByTheNameOfTheFile) {
  leader_.start();
  AssayCli& cli = leader_.cli();
  EXPECT_EQ(cli.run({"exec", "--", "true"}).exit_code, 0);
  const fs::path copy = cli.folder() / "copy";
  ASSERT_EQ(cli.run({"backup", copy.string()}).exit_code, 0);
  auto bytes = read_file(copy / "leader" / "cluster.db").value();
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  ASSERT_TRUE(write_file_atomically(copy / "leader" / "cluster.db", bytes).ok());
  const fs::path restored = cli.folder() / "restored";
  const auto refused = cli.run({"restore", copy.string()}, {{"ASSAY_DATA", restored.string()}});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.error, HasSubstr("'leader/cluster.db' has other content than when it was copied"));
  EXPECT_FALSE(fs::exists(restored));
}

TEST_F(ClusterBackup, IsMadeByALeaderThatWasToldTo) {
  AssayCli& cli = leader_.cli();
  const fs::path to = cli.folder() / "backups";
  leader_.start({"--backup-to", to.string(), "--backup-keep", "2"});
  const auto made = [&]() -> std::optional<fs::path> {
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(to, missing)) {
      if (entry.path().extension() != ".partial") return entry.path();
    }
    return std::nullopt;
  };
  ASSERT_TRUE(eventually([&] { return made().has_value(); })) << read_file(leader_.log()).value_or("");
  EXPECT_THAT(leader_.problems(), testing::IsEmpty());
  EXPECT_EQ(leader_.process().terminate(), 0);
  const auto done = cli.run({"restore", made()->string()}, {{"ASSAY_DATA", (cli.folder() / "restored").string()}});
  EXPECT_EQ(done.exit_code, 0) << done.error;

  // Nothing can be made below a file.
  leader_.start({"--backup-to", cli.write("file", "") + "/backups"});
  EXPECT_TRUE(eventually([&] {
    const auto problems = leader_.problems();
    return std::any_of(problems.begin(), problems.end(),
                       [](const std::string& one) { return one.starts_with("the scheduled backup: "); });
  }));
  const auto inside = cli.run({"serve", "--listen", "127.0.0.1:0", "--backup-to", (cli.data() / "backups").string()});
  EXPECT_EQ(inside.exit_code, 2);
  EXPECT_THAT(inside.error, HasSubstr("lies inside the data folder"));
}

TEST_F(ClusterBackup, RepairSaysWhatIsDamagedAndMendsIt) {
  leader_.start();
  AssayCli& cli = leader_.cli();
  auto agent = leader_.start_agent("n1");
  ASSERT_TRUE(eventually([&] { return leader_.seconds_of("n1").size() >= 2; }));
  EXPECT_EQ(cli.run({"exec", "--", "true"}).exit_code, 0);
  const auto busy = cli.run({"repair"});
  EXPECT_EQ(busy.exit_code, 3);
  EXPECT_THAT(busy.error, HasSubstr("Stop the leader first"));
  EXPECT_EQ(agent.terminate(), 0);
  EXPECT_EQ(leader_.process().terminate(), 0);
  EXPECT_EQ(cli.run({"repair"}).exit_code, 0);

  const fs::path cluster = cli.data() / "leader" / "cluster.db";
  const std::string junk(8192, 'x');
  ASSERT_TRUE(write_file_atomically(cluster, junk).ok());
  ASSERT_TRUE(write_file_atomically(cli.data() / "index.db", junk).ok());
  const auto refused = cli.run({"serve", "--listen", "127.0.0.1:0"});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.error, HasSubstr("assay repair"));
  const auto looked = cli.run({"repair"});
  EXPECT_EQ(looked.exit_code, 4);
  EXPECT_THAT(looked.out, HasSubstr("cluster  damaged"));
  EXPECT_THAT(looked.out, HasSubstr("series   sound"));
  EXPECT_EQ(read_file(cluster).value(), junk) << "looking changes nothing";
  const auto mended = cli.json({"repair", "--mend"});
  const fs::path aside = std::string(mended.at("result").at("parts").at(0).at("aside").as_string());
  EXPECT_EQ(read_file(aside).value(), junk) << "the damaged file is kept";
  EXPECT_EQ(cli.run({"repair"}).exit_code, 0);
  EXPECT_EQ(cli.json({"runs"}).at("result").at("runs").as_array().size(), 1U);
  leader_.start();
  EXPECT_GE(leader_.seconds_of("n1").size(), 2U) << "telemetry was not what was damaged";
}

}  // namespace
}  // namespace assay
