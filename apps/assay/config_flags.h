#pragma once

#include <deque>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "config/config_reader.h"
#include "context.h"
#include "mistakes.h"

namespace assay {

/// The flags of a command that are the settings of a table, and --config, which names a file of them. Must outlive the
/// parsing, and the table must outlive it.
class ConfigFlags {
 public:
  ConfigFlags(CLI::App& command, const ConfigRows& table);
  ConfigFlags(const ConfigFlags&) = delete;
  ConfigFlags& operator=(const ConfigFlags&) = delete;

  /// Everything that was given: the file, the environment, the flags. Errors are those of reading the file.
  Result<ConfigSources> sources(const Context& context) const;

 private:
  struct Flag {
    const ConfigRow* row = nullptr;
    CLI::Option* option = nullptr;
    std::string word = {};
    std::vector<std::string> words = {};
    bool on = false;
  };

  void add(CLI::App& command, const ConfigRow& row);

  const ConfigRows& table_;
  std::string file_;
  std::deque<Flag> flags_;
};

/// Errors: `missing_file`, `denied`, `bad_file`.
Result<ConfigText> read_config_text(const std::string& file);

/// Where to learn about the settings of a table.
std::string config_hint(const ConfigRows& table);

/// The settings of a program. Mistakes are printed, all of them, and the error says how many.
template <typename Config>
Result<Config> configure(const Context& context, const ConfigTable<Config>& table, const ConfigFlags& flags) {
  ASSAY_TRY(const auto sources, flags.sources(context));
  auto read = read_config(table, sources);
  if (!read.config) return mistakes_error(context, read.reading.diagnostics, config_hint(table));
  return std::move(*read.config);
}

}  // namespace assay
