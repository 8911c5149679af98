#include "serving/serve_events.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <string>

namespace assay {

ServeEvents::ServeEvents(std::string_view where) : descriptor_(STDOUT_FILENO) {
  if (where.starts_with("fd:")) {
    std::from_chars(where.data() + 3, where.data() + where.size(), descriptor_);
  } else if (where.starts_with("file:")) {
    if (auto opened = open_file(std::string(where.substr(5)), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC)) {
      opened_ = std::move(opened).value();
      descriptor_ = opened_.get();
    }
  }
}

void ServeEvents::say(std::string_view type, json::object fields) {
  json::object event{{"assay", 1}, {"type", type}};
  for (auto& field : fields) event[field.key()] = std::move(field.value());
  const std::string line = json::serialize(event) + "\n";
  const std::lock_guard lock(mutex_);
  static_cast<void>(write_all(descriptor_, line).ok());
}

void ServeEvents::step(std::int64_t second, json::object metrics) {
  metrics["step"] = second;
  say("step", std::move(metrics));
}

void ServeEvents::result(json::object metrics, const std::vector<Flag>& flags) {
  json::array list;
  for (const auto& flag : flags) list.push_back(to_json(flag));
  say("result", {{"metrics", std::move(metrics)}, {"flags", std::move(list)}});
}

void ServeEvents::error(const Error& error) {
  say("error", {{"kind", name_of(error.kind)}, {"message", error.text()}, {"hint", error.hint}});
}

}  // namespace assay
