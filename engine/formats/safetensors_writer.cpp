#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include "formats/failure.h"
#include "formats/safetensors.h"

namespace assay::engine {
namespace {

namespace json = boost::json;

/// Length and header, padded with spaces so that the data behind it starts at a multiple of 8.
std::string header_for(const std::vector<const TensorView*>& tensors) {
  json::object header;
  std::uint64_t offset = 0;
  for (const TensorView* tensor : tensors) {
    const json::array shape(tensor->shape.begin(), tensor->shape.end());
    const json::array offsets = {offset, offset + tensor->data.size()};
    const json::object entry = {{"dtype", name_of(tensor->dtype)}, {"shape", shape}, {"data_offsets", offsets}};
    offset += tensor->data.size();
    if (tensor->name == "__metadata__" || !header.emplace(tensor->name, entry).second) {
      throw std::invalid_argument("a tensor cannot be called '" + tensor->name + "': the name is taken");
    }
    if (tensor_bytes(tensor->dtype, tensor->shape) != tensor->data.size()) {
      throw std::invalid_argument("the data of the tensor '" + tensor->name + "' does not fit its shape");
    }
  }
  std::string text = json::serialize(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string length;
  for (int i = 0; i < 8; ++i) length += static_cast<char>(text.size() >> (8 * i) & 0xFFU);
  return length + text;
}

/// A file that is there under its name only once it is complete.
class StagedFile {
 public:
  explicit StagedFile(const std::string& path) : path_(path), staged_(path + ".partial." + std::to_string(::getpid())) {
    fd_ = ::open(staged_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd_ < 0) fail(errno);
  }
  StagedFile(const StagedFile&) = delete;
  StagedFile& operator=(const StagedFile&) = delete;
  ~StagedFile() {
    if (fd_ >= 0) ::close(fd_);
    if (!published_) ::unlink(staged_.c_str());
  }

  void write(const void* data, std::size_t size) {
    const auto* rest = static_cast<const char*>(data);
    while (size > 0) {
      const ssize_t written = ::write(fd_, rest, size);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) fail(errno);
      rest += written;
      size -= static_cast<std::size_t>(written);
    }
  }
  void publish() {
    if (::fsync(fd_) != 0) fail(errno);
    if (::close(std::exchange(fd_, -1)) != 0) fail(errno);
    if (::rename(staged_.c_str(), path_.c_str()) != 0) fail(errno);
    published_ = true;
  }

 private:
  [[noreturn]] void fail(int error) const {
    const bool missing = error == ENOENT || error == ENOTDIR;
    const bool denied = error == EACCES || error == EPERM || error == EROFS;
    throw Failure(missing  ? "missing_file"
                  : denied ? "denied"
                           : "io",
                  "'" + path_ + "' cannot be written: " + std::strerror(error));
  }

  std::string path_;
  std::string staged_;
  int fd_ = -1;
  bool published_ = false;
};

}  // namespace

void write_safetensors(const std::string& path, std::span<const TensorView> tensors) {
  std::vector<const TensorView*> ordered;
  for (const TensorView& tensor : tensors) ordered.push_back(&tensor);
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const TensorView* a, const TensorView* b) { return size_of(a->dtype) > size_of(b->dtype); });
  const std::string header = header_for(ordered);
  StagedFile file(path);
  file.write(header.data(), header.size());
  for (const TensorView* tensor : ordered) file.write(tensor->data.data(), tensor->data.size());
  file.publish();
}

}  // namespace assay::engine
