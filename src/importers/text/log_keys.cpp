#include "importers/text/log_keys.h"

#include <array>
#include <cstdint>
#include <vector>

#include "base/ascii.h"

namespace assay {
namespace {

struct Phrase {
  std::string_view words;  ///< normalised: lower case, one blank between words
  LogKey key;
  std::string_view name;
};

constexpr std::array kPhrases = {
    Phrase{"loss", LogKey::loss, "loss"},
    Phrase{"train loss", LogKey::loss, "loss"},
    Phrase{"training loss", LogKey::loss, "loss"},
    Phrase{"train loss step", LogKey::loss, "loss"},
    Phrase{"train loss epoch", LogKey::loss, "loss"},
    Phrase{"val loss", LogKey::val_loss, "val_loss"},
    Phrase{"valid loss", LogKey::val_loss, "val_loss"},
    Phrase{"validation loss", LogKey::val_loss, "val_loss"},
    Phrase{"eval loss", LogKey::val_loss, "val_loss"},
    Phrase{"val acc", LogKey::val_accuracy, "val_accuracy"},
    Phrase{"val accuracy", LogKey::val_accuracy, "val_accuracy"},
    Phrase{"valid acc", LogKey::val_accuracy, "val_accuracy"},
    Phrase{"validation acc", LogKey::val_accuracy, "val_accuracy"},
    Phrase{"validation accuracy", LogKey::val_accuracy, "val_accuracy"},
    Phrase{"eval accuracy", LogKey::val_accuracy, "val_accuracy"},
    Phrase{"test loss", LogKey::other_metric, "test_loss"},
    Phrase{"test acc", LogKey::other_metric, "test_accuracy"},
    Phrase{"test accuracy", LogKey::other_metric, "test_accuracy"},
    Phrase{"acc", LogKey::other_metric, "accuracy"},
    Phrase{"accuracy", LogKey::other_metric, "accuracy"},
    Phrase{"train acc", LogKey::other_metric, "accuracy"},
    Phrase{"train accuracy", LogKey::other_metric, "accuracy"},
    Phrase{"perplexity", LogKey::other_metric, "perplexity"},
    Phrase{"ppl", LogKey::other_metric, "perplexity"},
    Phrase{"val perplexity", LogKey::other_metric, "val_perplexity"},
    Phrase{"val ppl", LogKey::other_metric, "val_perplexity"},
    Phrase{"grad norm", LogKey::other_metric, "grad_norm"},
    Phrase{"step time", LogKey::other_metric, "step_seconds"},
    Phrase{"step seconds", LogKey::other_metric, "step_seconds"},
    Phrase{"epoch time", LogKey::epoch_seconds, "epoch_seconds"},
    Phrase{"samples per second", LogKey::samples_per_second, "samples_per_second"},
    Phrase{"samples s", LogKey::samples_per_second, "samples_per_second"},
    Phrase{"samples sec", LogKey::samples_per_second, "samples_per_second"},
    Phrase{"images sec", LogKey::samples_per_second, "samples_per_second"},
    Phrase{"tokens per second", LogKey::tokens_per_second, "tokens_per_second"},
    Phrase{"tokens s", LogKey::tokens_per_second, "tokens_per_second"},
    Phrase{"tokens sec", LogKey::tokens_per_second, "tokens_per_second"},
    Phrase{"tok s", LogKey::tokens_per_second, "tokens_per_second"},
    Phrase{"throughput", LogKey::throughput, "throughput"},
    Phrase{"average throughput", LogKey::throughput, "throughput"},
    Phrase{"job id", LogKey::job_id, "job_id"},
    Phrase{"slurm job id", LogKey::job_id, "job_id"},
    Phrase{"job name", LogKey::job_name, "job_name"},
    Phrase{"node(s)", LogKey::node_list, "node_list"},
    Phrase{"node list", LogKey::node_list, "node_list"},
    Phrase{"nodelist", LogKey::node_list, "node_list"},
    Phrase{"number of nodes", LogKey::nodes, "nodes"},
    Phrase{"num nodes", LogKey::nodes, "nodes"},
    Phrase{"number of tasks", LogKey::tasks, "tasks"},
    Phrase{"tasks per node", LogKey::tasks_per_node, "tasks_per_node"},
    Phrase{"cpus per task", LogKey::cpus_per_task, "cpus_per_task"},
    Phrase{"total gpus", LogKey::gpus, "gpus"},
    Phrase{"number of gpus", LogKey::gpus, "gpus"},
    Phrase{"world size", LogKey::gpus, "gpus"},
    Phrase{"member", LogKey::member, "tasks"},
    Phrase{"batch size per gpu", LogKey::batch_per_gpu, "batch_size"},
    Phrase{"batch size per device", LogKey::batch_per_gpu, "batch_size"},
    Phrase{"effective batch size", LogKey::effective_batch, "effective_batch"},
    Phrase{"global batch size", LogKey::effective_batch, "effective_batch"},
    Phrase{"total batch size", LogKey::effective_batch, "effective_batch"},
    Phrase{"gradient accumulation", LogKey::accumulation, "gradient_accumulation"},
    Phrase{"gradient accumulation steps", LogKey::accumulation, "gradient_accumulation"},
    Phrase{"accumulate grad batches", LogKey::accumulation, "gradient_accumulation"},
    Phrase{"epochs", LogKey::epochs, "epochs"},
    Phrase{"max epochs", LogKey::epochs, "epochs"},
    Phrase{"number of epochs", LogKey::epochs, "epochs"},
    Phrase{"num epochs", LogKey::epochs, "epochs"},
    Phrase{"samples", LogKey::samples, "samples"},
    Phrase{"training samples", LogKey::samples, "samples"},
    Phrase{"train samples", LogKey::samples, "samples"},
    Phrase{"number of samples", LogKey::samples, "samples"},
    Phrase{"dataset size", LogKey::samples, "samples"},
    Phrase{"total training time", LogKey::training_time, "training_seconds"},
    Phrase{"total duration", LogKey::job_duration, "duration_seconds"},
    Phrase{"time per epoch", LogKey::time_per_epoch, "seconds_per_epoch"},
    Phrase{"average time per epoch", LogKey::time_per_epoch, "seconds_per_epoch"},
    Phrase{"best checkpoint", LogKey::best_checkpoint, "best_checkpoint"},
    Phrase{"best validation loss", LogKey::best_val_loss, "best_val_loss"},
    Phrase{"best val loss", LogKey::best_val_loss, "best_val_loss"},
    Phrase{"best validation accuracy", LogKey::best_val_accuracy, "best_val_accuracy"},
    Phrase{"best val acc", LogKey::best_val_accuracy, "best_val_accuracy"},
    Phrase{"best val accuracy", LogKey::best_val_accuracy, "best_val_accuracy"},
    Phrase{"learning rate", LogKey::setting, "learning_rate"},
    Phrase{"lr", LogKey::setting, "learning_rate"},
    Phrase{"optimizer", LogKey::setting, "optimizer"},
    Phrase{"precision", LogKey::setting, "precision"},
    Phrase{"strategy", LogKey::setting, "strategy"},
    Phrase{"sequence length", LogKey::setting, "seq_length"},
    Phrase{"seq length", LogKey::setting, "seq_length"},
    Phrase{"weight decay", LogKey::setting, "weight_decay"},
    Phrase{"hidden size", LogKey::setting, "hidden_size"},
    Phrase{"num workers", LogKey::setting, "data_workers"},
    Phrase{"dataset", LogKey::setting, "dataset"},
    Phrase{"model", LogKey::setting, "model"},
    Phrase{"seed", LogKey::setting, "seed"},
    Phrase{"driver version", LogKey::setting, "driver_version"},
    Phrase{"cuda version", LogKey::setting, "cuda_version"},
    Phrase{"pytorch version", LogKey::setting, "pytorch_version"},
};

// Names are looked up letter by letter from their end, in a tree of the phrases written backwards: one step per letter
// however many phrases there are.
using Symbol = std::uint8_t;
constexpr std::size_t kSymbols = 30;  // other, a…z, separator, two brackets

constexpr std::array<Symbol, 256> kSymbolOf = [] {
  std::array<Symbol, 256> table{};
  for (std::size_t i = 0; i < 26; ++i) {
    table['a' + i] = table['A' + i] = static_cast<Symbol>(1 + i);
  }
  for (const char separator : {' ', '_', '-', '/', '.', '\t'}) table[static_cast<unsigned char>(separator)] = 27;
  table['('] = 28;
  table[')'] = 29;
  return table;
}();

Symbol symbol_of(char character) { return kSymbolOf[static_cast<unsigned char>(character)]; }

class PhraseTree {
 public:
  struct Node {
    std::array<std::uint16_t, kSymbols> next{};  ///< 0: no phrase goes on like this
    const Phrase* phrase = nullptr;              ///< one that begins here
    bool several_words = false;                  ///< it has
  };

  PhraseTree() : nodes_(1) {
    for (const Phrase& phrase : kPhrases) {
      std::size_t at = 0;
      for (auto letter = phrase.words.rbegin(); letter != phrase.words.rend(); ++letter) {
        const Symbol symbol = symbol_of(*letter);
        if (nodes_[at].next[symbol] == 0) {
          nodes_[at].next[symbol] = static_cast<std::uint16_t>(nodes_.size());
          nodes_.emplace_back();
        }
        at = nodes_[at].next[symbol];
      }
      nodes_[at].phrase = &phrase;
      nodes_[at].several_words = phrase.words.find(' ') != std::string_view::npos;
    }
  }

  const Node& root() const { return nodes_.front(); }
  /// Null where no phrase goes on with that letter.
  const Node* step(const Node& from, char letter) const {
    const std::uint16_t next = from.next[symbol_of(letter)];
    return next == 0 ? nullptr : &nodes_[next];
  }

 private:
  std::vector<Node> nodes_;
};

const PhraseTree& phrase_tree() {
  static const PhraseTree tree;
  return tree;
}

bool is_capital(char character) { return character >= 'A' && character <= 'Z'; }

/// Whether a name may begin at `start`. Behind a blank, `Style Loss: 3` is another loss than ours, while in
/// `INFO loss=3` the sign leaves no doubt where the name begins.
bool may_begin(std::string_view text, std::size_t start, bool several_words, char delimiter) {
  if (start == 0) return true;
  const char before = text[start - 1];
  if (is_letter(before) || (before >= '0' && before <= '9')) {
    // Another rank began its line here: `0.11Total training time: 95.23`.
    return several_words && is_capital(text[start]) && !is_capital(before);
  }
  if (before == '_' || before == '-' || before == '/' || before == '.') return several_words && is_capital(text[start]);
  if (delimiter == '=' || before != ' ' || several_words) return true;
  const std::size_t word_end = text.substr(0, start).find_last_not_of(' ');
  return word_end == std::string_view::npos || !is_letter(text[word_end]);
}

}  // namespace

LogKeyMatch log_key_before(std::string_view text, char delimiter) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '"' || text.back() == '\'')) text.remove_suffix(1);
  const PhraseTree& tree = phrase_tree();
  const PhraseTree::Node* node = &tree.root();
  LogKeyMatch longest;
  for (std::size_t start = text.size(); start-- > 0;) {
    node = tree.step(*node, text[start]);
    if (!node) break;
    if (node->phrase && may_begin(text, start, node->several_words, delimiter)) {
      longest = {node->phrase->key, node->phrase->name};
    }
  }
  return longest;
}

std::string_view known_metric_name(std::string_view written) {
  const PhraseTree& tree = phrase_tree();
  const PhraseTree::Node* node = &tree.root();
  for (std::size_t i = written.size(); node && i-- > 0;) node = tree.step(*node, written[i]);
  if (!node || !node->phrase) return {};
  const Phrase& phrase = *node->phrase;
  const bool metric = phrase.key < LogKey::job_id && phrase.key != LogKey::throughput;
  return metric || phrase.name == "learning_rate" ? phrase.name : std::string_view{};
}

}  // namespace assay
