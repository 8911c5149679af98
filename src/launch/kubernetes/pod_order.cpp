#include "launch/kubernetes/pod_order.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/units.h"
#include "bytes/base64.h"
#include "launch/hosted/job_folder.h"
#include "launch/hosted/job_order.h"
#include "launch/job.h"
#include "launch/kubernetes/manifests.h"

namespace assay {
namespace {

constexpr int kPodOrderSchema = 1;

Error too_large(std::uintmax_t bytes) {
  return {.kind = ErrorKind::unsupported,
          .message = fmt::format("what this job needs is {}, and Kubernetes hands a pod at most {} in a Secret",
                                 format_bytes({static_cast<std::int64_t>(bytes)}),
                                 format_bytes({static_cast<std::int64_t>(kLargestSecret)})),
          .hint = "Put large files into the image, or on a volume that the pods see."};
}

/// The files below the scratch folder, by their path in it.
Result<json::array> pack_files(const fs::path& folder) {
  json::array files;
  std::uintmax_t bytes = 0;
  std::error_code code;
  fs::recursive_directory_iterator entry(folder, code);
  for (; !code && entry != fs::recursive_directory_iterator(); entry.increment(code)) {
    const fs::path path = entry->path().lexically_relative(folder);
    if (entry->is_directory(code) && !entry->is_symlink(code)) {
      files.push_back({{"path", path.string()}, {"folder", true}});
      continue;
    }
    if (!entry->is_regular_file(code) || entry->is_symlink(code)) {
      return Error{.kind = ErrorKind::unsupported,
                   .message = fmt::format("{} is neither a file nor a folder", entry->path().string())};
    }
    bytes += entry->file_size(code);
    if (bytes > kLargestSecret) return too_large(bytes);
    ASSAY_TRY(const auto content, read_file(entry->path(), kLargestSecret));
    const bool executable = (entry->status(code).permissions() & fs::perms::owner_exec) != fs::perms::none;
    files.push_back({{"path", path.string()}, {"executable", executable}, {"content", to_base64(content)}});
  }
  if (code) return Error{.kind = ErrorKind::io, .message = fmt::format("{}: {}", folder.string(), code.message())};
  return files;
}

/// Below `folder`, whatever the text says.
Result<fs::path> path_below(const fs::path& folder, const std::string& text) {
  const fs::path path(text);
  for (const auto& part : path) {
    if (part == "..") return Error{.kind = ErrorKind::bad_file, .message = "an order has a path with '..'"};
  }
  if (path.empty() || path.is_absolute() || text.find('\0') != std::string::npos) {
    return Error{.kind = ErrorKind::bad_file, .message = "an order has a path that is not below its folder"};
  }
  return folder / path;
}

Result<void> unpack_files(const json::array& files, const fs::path& folder) {
  ASSAY_CHECK(make_folders(folder));
  for (const auto& file : files) {
    JsonFields fields(file, "file");
    ASSAY_TRY(const auto path, path_below(folder, fields.text("path")));
    if (fields.boolean_or("folder", false)) {
      ASSAY_CHECK(make_folders(path));
      continue;
    }
    const auto content = from_base64(fields.text_or("content", ""));
    const bool executable = fields.boolean_or("executable", false);
    ASSAY_CHECK(fields.finish());
    if (!content) return Error{.kind = ErrorKind::bad_file, .message = "a file of an order is not Base64"};
    ASSAY_CHECK(make_folders(path.parent_path()));
    ASSAY_CHECK(write_file_atomically(path, *content));
    std::error_code code;
    if (executable) fs::permissions(path, fs::perms::owner_exec, fs::perm_options::add, code);
  }
  return {};
}

}  // namespace

Result<std::string> write_pod_order(const Job& job) {
  ASSAY_TRY(auto order, write_order(job));
  json::object packed{{"schema", kPodOrderSchema}, {"order", std::move(order)}};
  if (job.scratch) {
    ASSAY_TRY(packed["files"], pack_files(*job.scratch));
  }
  std::string text = json::serialize(packed);
  if (text.size() > kLargestSecret) return too_large(text.size());
  return text;
}

Result<void> unpack_pod_order(std::string_view text, const fs::path& into) {
  ASSAY_TRY(const auto value, parse_json(text).within("reading the order of this pod"));
  ASSAY_CHECK(check_schema(value, kPodOrderSchema, "the order of this pod"));
  JsonFields fields(value, "order");
  ASSAY_TRY(Job job, read_order(fields.text("order")));
  const json::array& files = fields.array_or_empty("files");
  ASSAY_CHECK(fields.finish());
  const fs::path arrived = into / "arrived";
  if (job.scratch) {
    ASSAY_CHECK(unpack_files(files, arrived));
    job.scratch = arrived;
  }
  ASSAY_CHECK(JobFolder(into / "job").create(job));
  std::error_code code;
  fs::remove_all(arrived, code);
  return {};
}

}  // namespace assay
