#include "models/model.h"

#include "formats/failure.h"
#include "models/transformer.h"

namespace assay::engine {
namespace {

void check_task(const TrainSpec& spec, const DataShape& data) {
  const bool is_language_task = spec.is_language();
  const bool has_tokens = data.kind == DataShape::Kind::tokens;
  const std::string& name = spec.model.name;
  if (is_language_task != has_tokens) {
    throw Failure(
        "bad_spec",
        "task '" + std::string(name_of(spec.task)) + "' and data set '" + spec.dataset.name + "' do not go together",
        is_language_task ? "It needs tokens: synthetic-tokens, markov-text or text:PATH."
                         : "It needs vectors or images: spiral, synthetic-images or cifar10:PATH.");
  }
  if (name == "generated") return;
  if (is_language_model(name) != is_language_task) {
    throw Failure("bad_spec",
                  "model '" + name + "' cannot be trained for task '" + std::string(name_of(spec.task)) + "'");
  }
  if (name == "bert-base" && spec.task == Task::pretrain) {
    throw Failure("bad_spec", "model 'bert-base' sees both sides of a word and cannot predict the next one",
                  "Use `task: masked-lm`.");
  }
  if (name != "bert-base" && spec.task == Task::masked_lm) {
    throw Failure("bad_spec", "model '" + name + "' sees only what comes before a word",
                  "Use `task: pretrain`, or the model bert-base.");
  }
}

}  // namespace

double training_flops(const ForwardFlops& forward) {
  return 3 * (forward.trained + forward.other) + 2 * forward.frozen;
}

void Model::prepare(at::Device device, at::ScalarType work) {
  device_ = device;
  work_ = work;
}

std::unique_ptr<Model> make_model(const TrainSpec& spec, const DataShape& data) {
  check_task(spec, data);
  const std::string& name = spec.model.name;
  if (name == "mlp") return make_mlp(spec, data);
  if (name == "generated") return make_generated(spec, data);
  if (name.starts_with("resnet")) return make_resnet(spec, data);
  if (name.starts_with("bert")) return make_bert(spec, data);
  if (name.starts_with("gpt2")) return make_gpt2(spec, data);
  return make_llama(spec, data);
}

std::int64_t vocabulary_of(const ModelSpec& spec) {
  if (is_language_model(spec.name)) return transformer_shape(spec).vocabulary;
  return spec.vocabulary.value_or(0);
}

}  // namespace assay::engine
