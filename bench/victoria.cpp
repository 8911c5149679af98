#include "victoria.h"
#include "net/client_options.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <thread>

#include "base/text.h"
#include "bytes/varint.h"
#include "net/client_messages.h"
#include "net/url.h"
#include "recorded_fleet.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace assay::bench {
namespace {

constexpr const char* kProgram = "/usr/bin/victoria-metrics";
constexpr int kPort = 18428;

/// Protobuf: field 2 of any message is length-delimited here.
void put_message(std::string& out, char field, std::string_view bytes) {
  out.push_back(static_cast<char>(field << 3 | 2));
  put_varint(out, bytes.size());
  out.append(bytes);
}

std::string label(std::string_view name, std::string_view value) {
  std::string out;
  put_message(out, 1, name);
  put_message(out, 2, value);
  return out;
}

/// A snappy block of literals alone: valid, and costs nobody anything.
std::string as_snappy(std::string_view bytes) {
  std::string out;
  put_varint(out, bytes.size());
  while (!bytes.empty()) {
    const std::size_t size = std::min<std::size_t>(bytes.size(), 65536);
    out.push_back(static_cast<char>(61 << 2));
    put_fixed(out, size - 1, 2);
    out.append(bytes.substr(0, size));
    bytes.remove_prefix(size);
  }
  return out;
}

}  // namespace

double cpu_seconds_of(pid_t pid) {
  const auto text = read_file(fmt::format("/proc/{}/stat", pid)).value_or("");
  const auto fields = split(std::string_view(text).substr(std::min(text.size(), text.rfind(')') + 2)), ' ');
  if (fields.size() < 13) return 0;
  const auto ticks = [&](std::size_t field) { return std::strtod(std::string(fields[field]).c_str(), nullptr); };
  return (ticks(11) + ticks(12)) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double resident_bytes_of(pid_t pid) {
  const auto text = read_file(fmt::format("/proc/{}/statm", pid)).value_or("0 0");
  return std::strtod(text.substr(text.find(' ')).c_str(), nullptr) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

std::unique_ptr<Victoria> Victoria::start(const fs::path& folder) {
  if (::access(kProgram, X_OK) != 0) return nullptr;
  const std::string data = "-storageDataPath=" + folder.string();
  const std::string listen = fmt::format("-httpListenAddr=127.0.0.1:{}", kPort);
  std::vector<std::string> words = {kProgram,
                                    data,
                                    listen,
                                    "-retentionPeriod=10y",
                                    "-search.latencyOffset=0s",
                                    "-loggerLevel=ERROR",
                                    "-search.maxPointsPerTimeseries=200000"};
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t pid = 0;
  if (::posix_spawn(&pid, kProgram, nullptr, nullptr, arguments.data(), environ) != 0)
    fail("cannot start VictoriaMetrics");
  auto client = must(HttpClient::create(must(parse_url(fmt::format("http://127.0.0.1:{}", kPort))),
                                        {.response_bytes = std::size_t{1} << 30}));
  std::unique_ptr<Victoria> victoria(new Victoria(pid, folder, std::move(client)));
  for (int i = 0; i < 100; ++i) {
    if (victoria->client_->send({.target = "/health"}).ok()) return victoria;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  fail("VictoriaMetrics does not answer");
}

Victoria::Victoria(pid_t pid, fs::path folder, std::unique_ptr<HttpClient> client)
    : pid_(pid), folder_(std::move(folder)), client_(std::move(client)) {}

Victoria::~Victoria() {
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
}

std::vector<std::string> Victoria::encode_labels(const std::vector<SeriesName>& names) const {
  std::vector<std::string> encoded;
  for (const auto& name : names) {
    std::string labels;
    std::string metric = name.key.name;
    std::replace(metric.begin(), metric.end(), '.', '_');
    put_message(labels, 1, label("__name__", metric));
    for (const auto& [key, value] : name.key.labels) put_message(labels, 1, label(key, value));
    encoded.push_back(std::move(labels));
  }
  return encoded;
}

void Victoria::write(const std::vector<std::string>& labels, const std::vector<BatchSample>& samples) {
  std::string request;
  std::string series;
  std::string sample;
  for (const auto& read : samples) {
    sample.clear();
    sample.push_back(1 << 3 | 1);  // value: fixed 64
    put_fixed(sample, std::bit_cast<std::uint64_t>(read.value), 8);
    sample.push_back(2 << 3 | 0);  // time: varint of milliseconds
    put_varint(sample, static_cast<std::uint64_t>(read.time_ns / 1'000'000));
    series = labels[read.series];
    put_message(series, 2, sample);
    put_message(request, 1, series);
  }
  const auto response =
      must(client_->send({.method = "POST",
                          .target = "/api/v1/write",
                          .headers = {{"Content-Encoding", "snappy"}, {"Content-Type", "application/x-protobuf"}},
                          .body = as_snappy(request)}));
  if (response.status != 204) fail(fmt::format("VictoriaMetrics answers {}: {}", response.status, response.body));
}

void Victoria::flush() {
  get("/internal/force_flush");
  get("/internal/force_merge");
  // Merging goes on after the answer: until the size stays.
  for (double before = -1; before != folder_bytes();) {
    before = folder_bytes();
    std::this_thread::sleep_for(std::chrono::seconds(3));
  }
}

std::string Victoria::get(const std::string& target) {
  auto response = must(client_->send({.target = target, .time = std::chrono::minutes(5)}));
  if (response.status != 200 && response.status != 204)
    fail(fmt::format("VictoriaMetrics answers {}: {}", response.status, response.body));
  return std::move(response.body);
}

double Victoria::cpu_seconds() const { return cpu_seconds_of(pid_); }
double Victoria::resident_bytes() const { return resident_bytes_of(pid_); }

double Victoria::folder_bytes() const {
  double bytes = 0;
  std::error_code ignored;
  for (auto entry = fs::recursive_directory_iterator(folder_, ignored); entry != fs::recursive_directory_iterator();
       entry.increment(ignored)) {
    if (entry->is_regular_file(ignored)) bytes += static_cast<double>(entry->file_size(ignored));
  }
  return bytes;
}

}  // namespace assay::bench
