#pragma once

#include <fmt/format.h>

#include <string_view>

namespace assay {

enum class LogLevel { debug, info, warning, error };
enum class LogFormat {
  text,
  timed_text,  ///< for what runs for months where nobody else writes down the time
  json_lines,
};

/// Where diagnostics go: standard error, as text for people or as one JSON object per line for machines.
/// Call once from main; the default is text at `warning`.
void configure_log(LogLevel level, LogFormat format);

/// Writes one message as one line, whole: line ends and tabs in it become `\n` and `\t`. Any thread.
void log(LogLevel level, std::string_view message);

template <typename... Args>
void log_debug(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::debug, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::info, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::warning, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void log_error(fmt::format_string<Args...> format, Args&&... args) {
  log(LogLevel::error, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace assay
