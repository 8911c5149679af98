#include "model/provenance.h"

namespace assay {
namespace {

void put(json::object& object, std::string_view key, const std::string& text) {
  if (!text.empty()) object[key] = text;
}

void put(json::object& object, std::string_view key, const std::map<std::string, std::string>& map) {
  if (!map.empty()) object[key] = json::value_from(map);
}

}  // namespace

json::object to_json(const Provenance& provenance) {
  json::object object;
  put(object, "assay_version", provenance.assay_version);
  put(object, "assay_commit", provenance.assay_commit);
  put(object, "hostname", provenance.hostname);
  put(object, "os", provenance.os);
  put(object, "kernel", provenance.kernel);
  put(object, "cpu_model", provenance.cpu_model);
  if (provenance.cpu_cores) object["cpu_cores"] = provenance.cpu_cores;
  if (provenance.machine_cores) object["machine_cores"] = provenance.machine_cores;
  if (provenance.memory_bytes) object["memory_bytes"] = provenance.memory_bytes;
  put(object, "cpu_governor", provenance.cpu_governor);
  if (!provenance.gpus.empty()) {
    auto& gpus = object["gpus"].emplace_array();
    for (const auto& gpu : provenance.gpus) {
      gpus.push_back({{"uuid", gpu.uuid}, {"name", gpu.name}, {"memory_bytes", gpu.memory_bytes}});
    }
  }
  put(object, "gpu_driver", provenance.gpu_driver);
  put(object, "python_version", provenance.python_version);
  put(object, "torch_version", provenance.torch_version);
  put(object, "engine_version", provenance.engine_version);
  put(object, "git_commit", provenance.git_commit);
  if (provenance.git_dirty) object["git_dirty"] = *provenance.git_dirty;
  if (!provenance.command.empty()) object["command"] = json::value_from(provenance.command);
  put(object, "working_directory", provenance.working_directory);
  put(object, "environment", provenance.environment);
  put(object, "job", provenance.job);
  if (!provenance.seeds.empty()) object["seeds"] = json::value_from(provenance.seeds);
  return object;
}

Result<Provenance> provenance_from_json(const json::value& value) {
  JsonFields fields(value, "provenance");
  Provenance provenance;
  provenance.assay_version = fields.text_or("assay_version", "");
  provenance.assay_commit = fields.text_or("assay_commit", "");
  provenance.hostname = fields.text_or("hostname", "");
  provenance.os = fields.text_or("os", "");
  provenance.kernel = fields.text_or("kernel", "");
  provenance.cpu_model = fields.text_or("cpu_model", "");
  provenance.cpu_cores = fields.small_integer_or("cpu_cores", 0);
  provenance.machine_cores = fields.small_integer_or("machine_cores", 0);
  provenance.memory_bytes = fields.integer_or("memory_bytes", 0);
  provenance.cpu_governor = fields.text_or("cpu_governor", "");
  for (const auto& item : fields.array_or_empty("gpus")) {
    JsonFields gpu(item, "gpu");
    provenance.gpus.push_back({.uuid = gpu.text_or("uuid", ""),
                               .name = gpu.text_or("name", ""),
                               .memory_bytes = gpu.integer_or("memory_bytes", 0)});
    ASSAY_CHECK(gpu.finish());
  }
  provenance.gpu_driver = fields.text_or("gpu_driver", "");
  provenance.python_version = fields.text_or("python_version", "");
  provenance.torch_version = fields.text_or("torch_version", "");
  provenance.engine_version = fields.text_or("engine_version", "");
  provenance.git_commit = fields.text_or("git_commit", "");
  if (fields.find("git_dirty")) provenance.git_dirty = fields.boolean_or("git_dirty", false);
  provenance.command = fields.texts_or_empty("command");
  provenance.working_directory = fields.text_or("working_directory", "");
  provenance.environment = fields.text_map_or_empty("environment");
  provenance.job = fields.text_map_or_empty("job");
  for (const auto& member : fields.object_or_empty("seeds")) {
    json::error_code code;
    provenance.seeds.emplace(member.key(), member.value().to_number<std::uint64_t>(code));
    if (code) fields.fail("seeds", "must hold whole numbers");
  }
  ASSAY_CHECK(fields.finish());
  return provenance;
}

}  // namespace assay
