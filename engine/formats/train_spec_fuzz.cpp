// libFuzzer entry: whatever the settings, they become a specification or a Failure of kind bad_spec.
#include <boost/json/parse.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "formats/failure.h"
#include "formats/train_spec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  boost::json::error_code code;
  const auto settings = boost::json::parse(std::string_view(reinterpret_cast<const char*>(data), size), code);
  if (code || !settings.is_object()) return 0;
  try {
    const auto spec = assay::engine::parse_train_spec(settings.get_object());
    if (spec.batch_size < 1 || spec.ranks < 1 || !(spec.learning_rate > 0)) std::abort();
  } catch (const assay::engine::Failure& failure) {
    if (failure.kind() != "bad_spec") std::abort();
  }
  return 0;
}
