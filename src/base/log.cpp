#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"

namespace assay {
namespace {

class JsonLine final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    const std::string_view level(spdlog::level::to_string_view(message.level).data());
    const std::string_view text(message.payload.data(), message.payload.size());
    const auto time = std::chrono::time_point_cast<Nanos>(message.time);
    const std::string line =
        json::serialize(json::object{{"time", iso8601(time)}, {"level", level}, {"message", text}}) + '\n';
    out.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<JsonLine>(); }
};

/// One line for one message, whatever it quotes: a path that somebody asked for must not look like a line of ours.
class TextLine final : public spdlog::formatter {
 public:
  explicit TextLine(bool timed) : timed_(timed) {}
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& out) override {
    std::string line = timed_ ? local_time(std::chrono::time_point_cast<Nanos>(message.time)) + " " : "";
    line += fmt::format("assay: {}: ", spdlog::level::to_string_view(message.level).data());
    for (const char character : std::string_view(message.payload.data(), message.payload.size())) {
      if (character == '\n') {
        line += "\\n";
      } else if (character == '\t') {
        line += "\\t";
      } else {
        line += character;
      }
    }
    line += '\n';
    out.append(line.data(), line.data() + line.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<TextLine>(timed_); }

 private:
  const bool timed_;
};

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = std::make_shared<spdlog::logger>("assay", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_formatter(std::make_unique<TextLine>(false));
    made->set_level(spdlog::level::warn);
    return made;
  }();
  return *instance;
}

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warning: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

void configure_log(LogLevel level, LogFormat format) {
  logger().set_level(spdlog_level(level));
  if (format == LogFormat::json_lines) {
    logger().set_formatter(std::make_unique<JsonLine>());
  } else {
    logger().set_formatter(std::make_unique<TextLine>(format == LogFormat::timed_text));
  }
}

void log(LogLevel level, std::string_view message) {
  // Messages quote what came from outside: no terminal control, no invalid UTF-8 in JSON.
  const std::string clean = printable(message);
  logger().log(spdlog_level(level), spdlog::string_view_t(clean.data(), clean.size()));
}

}  // namespace assay
