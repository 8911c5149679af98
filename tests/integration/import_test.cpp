#include <gmock/gmock.h>

#include "support/assay_cli.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class Import : public testing::Test {
 protected:
  static std::string fixture(const std::string& name) {
    return (AssayCli::source_folder() / "tests/fixtures/imports" / name).string();
  }
  /// The three jobs of the scaling guide, which nothing is wrong with.
  static std::vector<std::string> scaling_study() {
    return {"import", "slurm", fixture("slurm/slurm-48211.out"), fixture("slurm/slurm-48212.out"),
            fixture("slurm/slurm-48213.out")};
  }
  std::size_t stored_runs() { return cli_.json({"runs"}).at("result").at("runs").as_array().size(); }
  json::object run(const json::value& id) {
    return cli_.json({"show", std::string(id.as_string())}).at("result").as_object();
  }
  /// Records a small training run with flags of its own, several series and odd numbers.
  std::string record_run() {
    const auto script =
        cli_.write("train.sh",
                   "for step in 1 2 3; do echo \"step $step loss=0.$step$step$step val_acc=0.9\"; done\n"
                   "sleep 1000 &\n");
    EXPECT_EQ(cli_.run({"exec", "--name", "tiny", "--tag", "paper", "--", "sh", script}).exit_code, 4)
        << "it leaves a process behind";
    return std::string(cli_.last_run().at("id").as_string());
  }

  AssayCli cli_;
};

TEST_F(Import, SlurmJobsBecomeAStudyWithItsTable) {
  const auto answer = cli_.run(scaling_study());
  EXPECT_EQ(answer.exit_code, 0) << answer.error << answer.out;
  EXPECT_THAT(answer.out, AllOf(HasSubstr("spiral-4gpu"), HasSubstr("ranks=8, nodes=2"), HasSubstr("6.34×"),
                                HasSubstr("95.23"), HasSubstr("Stored as study ")));
  EXPECT_THAT(answer.out, Not(HasSubstr("▲")));
  EXPECT_EQ(stored_runs(), 3u);

  const auto last = cli_.json({"show", "spiral-4gpu"}).at("result").as_object();
  EXPECT_EQ(last.at("verdict").as_string(), "valid");
  EXPECT_EQ(last.at("state").as_string(), "ended");
  EXPECT_EQ(last.at("metrics").at("train_seconds").to_number<double>(), 95.23);
  EXPECT_EQ(last.at("variant").as_string(), "ranks=4");
  EXPECT_THAT(std::string(last.at("study").as_string()), Not(IsEmpty()));
  const auto series = cli_.json({"show", "spiral-4gpu", "--series", "epoch.val_loss"}).at("result").at("series");
  EXPECT_THAT(series.at(0).at("points").as_array(), SizeIs(50));
  EXPECT_THAT(cli_.run({"runs", "tag=imported=slurm", "--ids"}).out, Not(IsEmpty()));
  EXPECT_EQ(cli_.run({"show", "spiral-4gpu"}).exit_code, 0);
}

TEST_F(Import, JsonHasStudyRunsAndFlags) {
  int code = -1;
  auto arguments = scaling_study();
  arguments.insert(arguments.end(), {"--name", "scaling", "--tag", "paper", "--tag", "cluster=a"});
  const auto envelope = cli_.json(arguments, &code);
  EXPECT_EQ(code, 0);
  EXPECT_TRUE(envelope.at("ok").as_bool());
  const auto& result = envelope.at("result").as_object();
  EXPECT_TRUE(result.at("stored").as_bool());
  EXPECT_EQ(result.at("name").as_string(), "scaling");
  EXPECT_THAT(result.at("flags").as_array(), IsEmpty());
  ASSERT_THAT(result.at("runs").as_array(), SizeIs(3));
  const auto& first = result.at("runs").at(0).as_object();
  EXPECT_EQ(first.at("study"), result.at("study"));
  EXPECT_EQ(first.at("tags"), json::value({"imported", "imported=slurm", "paper", "cluster=a"}));
  EXPECT_THAT(first.at("series").as_array(), Not(IsEmpty())) << "as stored, with its summaries";
  EXPECT_EQ(run(first.at("id")).at("metrics"), first.at("metrics"));
}

TEST_F(Import, FlagsAreListedAndExitWithFour) {
  const auto answer = cli_.run({"import", "slurm", fixture("slurm/slurm-48220.out"), fixture("slurm/slurm-48230.out")});
  EXPECT_EQ(answer.exit_code, 4);
  EXPECT_THAT(answer.out, AllOf(HasSubstr("failed"), HasSubstr("flagged"), HasSubstr("▲ oom 48220: line "),
                                HasSubstr("▲ contradiction 48230: states ")));
}

TEST_F(Import, ResultsLoadgenAndCsv) {
  const auto results = cli_.run({"import", "results", fixture("results/aggregated_results.json")});
  EXPECT_EQ(results.exit_code, 4);
  EXPECT_THAT(results.out, AllOf(HasSubstr("node-a"), HasSubstr("0.677"), HasSubstr("invalid"),
                                 HasSubstr("▲ lost_samples"), HasSubstr("▲ part_failed datacenter: ")));
  const auto loadgen = cli_.run({"import", "loadgen", fixture("loadgen/server"), fixture("loadgen/single-stream")});
  EXPECT_EQ(loadgen.exit_code, 0) << loadgen.out << loadgen.error;
  EXPECT_THAT(loadgen.out, AllOf(HasSubstr("19.6"), HasSubstr("p99")));
  const auto csv = cli_.run({"import", "csv", fixture("csv/wandb-chart.csv")});
  EXPECT_EQ(csv.exit_code, 0) << csv.out;
  EXPECT_THAT(csv.out, AllOf(HasSubstr("spiral-1gpu"), HasSubstr("0.119")));
}

TEST_F(Import, PricesAreCheckedAndKept) {
  const auto file = cli_.write("node1.json", R"({"node_id": 1, "performance": {"samples_per_second": 1.46},
                                                 "cost": {"cost_per_1000_samples_usd": 0.5}})");
  EXPECT_EQ(cli_.run({"import", "results", file, "--dry-run"}).exit_code, 0) << "nothing to compare it with";
  const auto answer = cli_.run({"import", "results", file, "--price", "0.60 USD/GPUh"});
  EXPECT_EQ(answer.exit_code, 4);
  EXPECT_THAT(answer.out, AllOf(HasSubstr("▲ contradiction"), HasSubstr("$0.5")));
  EXPECT_EQ(cli_.last_run().at("spec").at("price").at("amount").to_number<double>(), 0.6);
  EXPECT_EQ(cli_.run({"import", "results", file, "--price", "cheap"}).exit_code, 2);
  EXPECT_EQ(cli_.run({"import", "slurm", fixture("slurm/slurm-48211.out"), "--price", "1 EUR/h"}).exit_code, 2);
}

TEST_F(Import, TheSameFilesAreStoredOnce) {
  const auto first = cli_.json(scaling_study()).at("result").as_object();
  auto reversed = scaling_study();
  std::reverse(reversed.begin() + 2, reversed.end());
  const auto second = cli_.json(reversed).at("result").as_object();
  EXPECT_EQ(second.at("study"), first.at("study"));
  EXPECT_FALSE(second.at("stored").as_bool());
  EXPECT_EQ(second.at("runs").as_array().size(), 3u);
  EXPECT_EQ(stored_runs(), 3u);
  const auto told = cli_.run(scaling_study());
  EXPECT_EQ(told.exit_code, 0);
  EXPECT_THAT(told.out, AllOf(HasSubstr("Already imported as study "), HasSubstr("spiral-4gpu")));

  reversed.push_back("--again");
  const auto again = cli_.json(reversed).at("result").as_object();
  EXPECT_TRUE(again.at("stored").as_bool());
  EXPECT_NE(again.at("study"), first.at("study"));
  EXPECT_EQ(stored_runs(), 6u);
}

TEST_F(Import, WhatWasDeletedIsImportedAnew) {
  const auto file = fixture("slurm/slurm-48211.out");
  cli_.json({"import", "slurm", file});
  EXPECT_EQ(cli_.run({"rm", "@last", "--yes"}).exit_code, 0);
  EXPECT_TRUE(cli_.json({"import", "slurm", file}).at("result").at("stored").as_bool());
}

TEST_F(Import, ADryRunStoresNothing) {
  auto arguments = scaling_study();
  arguments.push_back("--dry-run");
  const auto answer = cli_.run(arguments);
  EXPECT_EQ(answer.exit_code, 0) << answer.error;
  EXPECT_THAT(answer.out, AllOf(HasSubstr("spiral-4gpu"), HasSubstr("Nothing was stored")));
  EXPECT_FALSE(fs::exists(cli_.data())) << "not even a data folder";
  const auto result = cli_.json(arguments).at("result").as_object();
  EXPECT_TRUE(result.at("study").is_null());
  EXPECT_FALSE(result.at("stored").as_bool());
  EXPECT_THAT(result.at("runs").as_array(), SizeIs(3));
}

TEST_F(Import, TheFormatCanBeLeftOut) {
  EXPECT_EQ(cli_.run({"import", fixture("slurm/slurm-48211.out")}).exit_code, 0);
  EXPECT_EQ(cli_.run({"import", fixture("csv/wandb-chart.csv")}).exit_code, 0);
  EXPECT_EQ(cli_.run({"import", fixture("loadgen/server")}).exit_code, 0);
  const auto mixed = cli_.run({"import", fixture("csv/wandb-chart.csv"), fixture("slurm/slurm-48211.out")});
  EXPECT_EQ(mixed.exit_code, 2);
  EXPECT_THAT(mixed.error, HasSubstr("looks like"));
  const auto unknown = cli_.run({"import", cli_.write("notes.txt", "milk\nbread\n")});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.error, AllOf(HasSubstr("cannot tell what"), HasSubstr("slurm, results, csv, loadgen, run")));
}

TEST_F(Import, WhatCannotBeReadIsExitCode2AndStoresNothing) {
  const auto binary = cli_.write("binary", std::string_view("\x7f"
                                                            "ELF\x02\0\0\0\0\xff\xfe\x80",
                                                            12));
  const auto empty = cli_.write("empty.out", "");
  const auto folder = cli_.folder() / "folder";
  fs::create_directory(folder);
  for (const std::string format : {"slurm", "results", "csv", "loadgen", "run"}) {
    for (const std::string& file : {binary, empty, folder.string(), (cli_.folder() / "missing").string()}) {
      const auto answer = cli_.run({"import", format, file});
      EXPECT_EQ(answer.exit_code, 2) << format << " " << file << answer.out;
      EXPECT_THAT(answer.out, IsEmpty()) << format << " " << file;
      EXPECT_THAT(answer.error, HasSubstr("assay: ")) << format << " " << file;
    }
  }
  EXPECT_EQ(stored_runs(), 0u);
  EXPECT_THAT(cli_.run({"import", "slurm", folder.string()}).error, HasSubstr("is a folder"));
  EXPECT_EQ(cli_.run({"import"}).exit_code, 2);
  EXPECT_EQ(cli_.run({"import", "slurm"}).exit_code, 2);
  EXPECT_EQ(cli_.run({"import", "xml", "file"}).exit_code, 2);
  EXPECT_THAT(cli_.run({"import", "slrum", "file"}).error, HasSubstr("Did you mean 'slurm'?"));
}

TEST_F(Import, TheWrongFormatComesWithTheRightOne) {
  const auto file = fixture("loadgen/server/mlperf_log_summary.txt");
  const auto answer = cli_.run({"import", "slurm", file});
  EXPECT_EQ(answer.exit_code, 2);
  EXPECT_THAT(answer.error, HasSubstr("looks like a LoadGen log: assay import loadgen " + file));
  int code = 0;
  const auto envelope = cli_.json({"import", "results", fixture("csv/wandb-chart.csv")}, &code);
  EXPECT_EQ(code, 2);
  EXPECT_EQ(envelope.at("error").at("kind").as_string(), "bad_file");
  EXPECT_THAT(std::string(envelope.at("error").at("hint").as_string()), HasSubstr("assay import csv"));
}

TEST_F(Import, ARunComesBackThroughJsonAsItWas) {
  const std::string id = record_run();
  const auto file = (cli_.folder() / "run.json").string();
  EXPECT_EQ(cli_.run({"export", id, "-o", file}).exit_code, 0);
  int code = -1;
  const auto imported = cli_.json({"import", "run", file}, &code).at("result").as_object();
  EXPECT_EQ(code, 4) << "the run's own flags";
  ASSERT_THAT(imported.at("runs").as_array(), SizeIs(1));
  const auto& new_id = imported.at("runs").at(0).at("id");
  EXPECT_NE(new_id.as_string(), id);
  const auto before = run(json::value(id));
  const auto after = run(new_id);
  for (const auto* key : {"name", "kind", "verdict", "flags", "metrics", "series", "spec", "spec_hash", "provenance",
                          "started", "ended", "duration_seconds", "exit_code"}) {
    EXPECT_EQ(after.at(key), before.at(key)) << key;
  }
  EXPECT_EQ(before.at("flags").at(0).at("kind").as_string(), "left_processes");
  for (const auto& series : before.at("series").as_array()) {
    const std::string name(series.at("name").as_string());
    const auto points = [&](const std::string& of) {
      return cli_.json({"show", of, "--series", name}).at("result").at("series");
    };
    EXPECT_EQ(points(std::string(new_id.as_string())), points(id)) << name;
  }
}

TEST_F(Import, SeriesComeBackThroughCsv) {
  const std::string id = record_run();
  const auto csv = cli_.run({"export", id, "--format", "csv"});
  EXPECT_EQ(csv.exit_code, 0);
  EXPECT_THAT(csv.out, testing::StartsWith("step,time_ns,"));
  const auto file = cli_.write("run.csv", csv.out);
  for (const std::string format : {"csv", "run"}) {
    const auto imported = cli_.json({"import", format, file}).at("result").as_object();
    const std::string new_id(imported.at("runs").at(0).at("id").as_string());
    const auto loss = [&](const std::string& of) {
      std::vector<double> values;
      const auto series = cli_.json({"show", of, "--series", "loss"}).at("result").at("series");
      for (const auto& point : series.at(0).at("points").as_array())
        values.push_back(point.at("value").to_number<double>());
      return values;
    };
    EXPECT_EQ(loss(new_id), loss(id)) << format;
    EXPECT_THAT(loss(new_id), testing::ElementsAre(0.111, 0.222, 0.333));
    EXPECT_EQ(run(json::value(new_id)).at("series").as_array().size(),
              run(json::value(id)).at("series").as_array().size());
  }
}

TEST_F(Import, SeveralRunsAreOneJsonListOrOneTable) {
  EXPECT_EQ(cli_.run(scaling_study()).exit_code, 0);
  const auto file = (cli_.folder() / "all.json").string();
  const auto exported = cli_.json({"export", "tag:imported", "-o", file}).at("result").as_object();
  EXPECT_THAT(exported.at("runs").as_array(), SizeIs(3));
  EXPECT_EQ(exported.at("file").as_string(), file);
  const auto imported = cli_.json({"import", "run", file}).at("result").as_object();
  EXPECT_THAT(imported.at("runs").as_array(), SizeIs(3));
  EXPECT_EQ(stored_runs(), 6u);
  const auto csv = cli_.run({"export", "tag:imported", "--format", "csv"});
  EXPECT_EQ(csv.exit_code, 0) << csv.error;
  EXPECT_THAT(csv.out, HasSubstr("run,step,time_ns,"));
  const auto table = cli_.write("all.csv", csv.out);
  EXPECT_THAT(cli_.json({"import", "csv", table}).at("result").at("runs").as_array(), SizeIs(6));
}

TEST_F(Import, RunsKeepTheTimeAtWhichTheyWereMade) {
  const auto file = cli_.write("runs.csv",
                               "Name,State,Created,Runtime,val_loss\n"
                               "a,finished,2025-11-11T09:14:02.000Z,371,0.5\n"
                               "b,crashed,2025-11-12T09:14:02.000Z,12,0.9\n");
  EXPECT_EQ(cli_.run({"import", "csv", file}).exit_code, 0);
  const auto failed = cli_.json({"runs", "verdict=failed"}).at("result").at("runs").as_array();
  ASSERT_THAT(failed, SizeIs(1));
  EXPECT_EQ(failed.at(0).at("name").as_string(), "b");
  EXPECT_EQ(failed.at(0).at("created").as_string(), "2025-11-12T09:14:02.000Z");
  const auto exported = (cli_.folder() / "one.json").string();
  EXPECT_EQ(cli_.run({"export", "a", "-o", exported}).exit_code, 0);
  EXPECT_EQ(cli_.run({"import", "run", exported}).exit_code, 0);
  const auto twice = cli_.json({"runs", "name=a"}).at("result").at("runs").as_array();
  ASSERT_THAT(twice, SizeIs(2));
  for (const auto& run : twice) EXPECT_EQ(run.at("created").as_string(), "2025-11-11T09:14:02.000Z");
}

TEST_F(Import, ExportsOfNothingAreErrors) {
  EXPECT_EQ(cli_.run({"export"}).exit_code, 2);
  EXPECT_EQ(cli_.run({"export", "nosuchrun"}).exit_code, 2);
  EXPECT_EQ(cli_.run({"export", "@last", "--format", "xml"}).exit_code, 2);
  EXPECT_EQ(cli_.run(scaling_study()).exit_code, 0);
  const auto unwritable = cli_.run({"export", "@last", "-o", "/no/such/folder/run.json"});
  EXPECT_NE(unwritable.exit_code, 0);
  EXPECT_THAT(unwritable.error, HasSubstr("/no/such/folder/run.json"));
}

}  // namespace
}  // namespace assay
