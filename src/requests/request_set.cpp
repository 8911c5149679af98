#include "requests/request_set.h"

#include "base/hash.h"

namespace assay {
namespace {

class RequestsOfShare final : public RequestSet {
 public:
  RequestsOfShare(std::shared_ptr<const RequestSet> whole, std::uint32_t index, std::uint32_t count)
      : whole_(std::move(whole)), index_(index), count_(count) {}
  std::uint64_t size() const override { return 0; }
  void make(std::uint64_t index, PromptRequest& into) const override { whole_->make(index * count_ + index_, into); }

 private:
  std::shared_ptr<const RequestSet> whole_;
  std::uint32_t index_;
  std::uint32_t count_;
};

}  // namespace

std::shared_ptr<const RequestSet> requests_of_share(std::shared_ptr<const RequestSet> set, std::uint32_t index,
                                                    std::uint32_t count) {
  if (!set || set->size() > 0 || count == 1) return set;
  return std::make_shared<RequestsOfShare>(std::move(set), index, count);
}

void PromptRequest::clear() {
  prompt.clear();
  messages.clear();
  input_tokens = 0;
  output_tokens = 0;
  reference.clear();
}

std::uint64_t RequestSeed::combined() const { return stable_hash(std::to_string(seed) + '/' + cell); }

}  // namespace assay
