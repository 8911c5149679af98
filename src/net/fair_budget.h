#pragma once

#include <cstddef>
#include <unordered_map>
#include <utility>

namespace assay {

/// Something that all callers have together. Each may hold a quarter of what stays free at most: one alone a fifth of
/// all, and of ten that hold all they can nobody keeps the eleventh out. Not thread-safe.
class FairBudget {
 public:
  explicit FairBudget(std::size_t limit) : limit_(limit) {}

  std::size_t taken() const { return taken_; }

  /// False: it would be more than the caller may hold.
  bool take(std::size_t caller, std::size_t part) {
    const auto own = held_.find(caller);
    const std::size_t held = own == held_.end() ? 0 : own->second;
    const std::size_t left = limit_ - taken_;
    if (part > left || held + part > (left - part) / kFree) return false;
    taken_ += part;
    held_[caller] = held + part;
    return true;
  }
  /// What was taken.
  void give_back(std::size_t caller, std::size_t part) {
    const auto own = held_.find(caller);
    taken_ -= part;
    own->second -= part;
    if (own->second == 0) held_.erase(own);
  }

 private:
  static constexpr std::size_t kFree = 4;  ///< times as much as anybody holds was free when they took it

  std::size_t limit_;
  std::size_t taken_ = 0;
  std::unordered_map<std::size_t, std::size_t> held_;  ///< by caller; none is zero
};

/// What one request holds of it, given back when this object goes. The budget must outlive it.
class FairPart {
 public:
  FairPart() = default;
  FairPart(FairBudget& budget, std::size_t caller, std::size_t part) : caller_(caller), part_(part) {
    if (budget.take(caller, part)) budget_ = &budget;
  }
  FairPart(FairPart&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), caller_(other.caller_), part_(other.part_) {}
  FairPart& operator=(FairPart&& other) noexcept {
    give_back();
    budget_ = std::exchange(other.budget_, nullptr);
    caller_ = other.caller_;
    part_ = other.part_;
    return *this;
  }
  ~FairPart() { give_back(); }

  bool granted() const { return budget_ != nullptr; }
  void give_back() {
    if (budget_) std::exchange(budget_, nullptr)->give_back(caller_, part_);
  }

 private:
  FairBudget* budget_ = nullptr;
  std::size_t caller_ = 0;
  std::size_t part_ = 0;
};

}  // namespace assay
