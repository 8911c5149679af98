#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "store/local/local_store.h"
#include "store/run_contract_fixture.h"
#include "store/run_writer.h"

namespace assay {

class LocalStoreTest : public testing::Test {
 protected:
  using Run = assay::Run;  // gtest has a function of that name

  std::unique_ptr<RunStore> open() {
    auto store = open_local_store(data_);
    EXPECT_TRUE(store.ok()) << store.error().text();
    return std::move(store).value();
  }

  std::string ended_run(RunStore& store, const std::string& name) {
    Run run;
    run.name = name;
    run.kind = "command";
    auto writer = begin_run(store, run);
    EXPECT_TRUE(writer.ok()) << writer.error().text();
    EXPECT_TRUE((*writer)->append_event(run.created, R"({"type":"hello"})").ok());
    EXPECT_TRUE((*writer)->append_output(OutputStream::out, run.created, name).ok());
    run.verdict = Verdict::valid;
    EXPECT_TRUE((*writer)->finish(run).ok());
    return run.id;
  }

  static std::vector<std::string> names(RunStore& store) {
    const auto page = store.list_runs({.sort = "name", .descending = false});
    EXPECT_TRUE(page.ok()) << page.error().text();
    std::vector<std::string> names;
    for (const auto& row : page->rows) names.push_back(row.name);
    return names;
  }

  fs::path run_file(const std::string& id, const std::string& file) const { return data_ / "runs" / id / file; }

  static void put(const fs::path& path, std::string_view content) {
    fs::remove(path);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  }

  std::vector<std::string> top_level() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(data_)) names.push_back(entry.path().filename().string());
    return names;
  }

  TemporaryFolder folder_;
  fs::path data_ = folder_.path() / "data";
};

/// Runs `work` in a child process; it must end it itself or return its exit code.
template <typename Work>
pid_t in_child(Work work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  return child;
}

inline int exit_code_of(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace assay
