#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "outlets/outlet.h"

namespace assay {

/// What an outlet of a test was told, and how it answers. Outlives the outlet.
class OutletNotes {
 public:
  /// The outlet that writes here.
  std::unique_ptr<Outlet> outlet() { return std::make_unique<Writer>(*this); }

  std::vector<std::string> bodies() const {
    const std::lock_guard lock(mutex_);
    return bodies_;
  }
  /// Waits for so many; fewer if they do not come.
  std::vector<std::string> wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [&] { return bodies_.size() >= count; });
    return bodies_;
  }
  void fail_with(std::optional<Error> error) {
    const std::lock_guard lock(mutex_);
    failure_ = std::move(error);
  }
  /// Every delivery hangs until it is released, or told to stop.
  void hold(bool held) {
    const std::lock_guard lock(mutex_);
    held_ = held;
    changed_.notify_all();
  }

 private:
  class Writer final : public Outlet {
   public:
    explicit Writer(OutletNotes& notes) : notes_(notes) {}
    std::string name() const override { return "the test"; }
    Result<void> deliver(const std::string& body, const std::stop_token& stop) override {
      std::unique_lock lock(notes_.mutex_);
      notes_.bodies_.push_back(body);
      notes_.changed_.notify_all();
      notes_.changed_.wait(lock, stop, [&] { return !notes_.held_; });
      if (notes_.failure_) return *notes_.failure_;
      return {};
    }

   private:
    OutletNotes& notes_;
  };

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<std::string> bodies_;
  std::optional<Error> failure_;
  bool held_ = false;
};

}  // namespace assay
