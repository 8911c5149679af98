#include "redact/secret_names.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/ascii.h"
#include "base/text.h"

namespace assay {
namespace {

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

/// The last two words of a name, in lower case; `first` is empty when there is only one.
struct LastWords {
  std::string first;
  std::string second;
};

/// Takes the last word off `name`: "max_newTokens" gives "tokens" and leaves "max_new".
std::string take_last_word(std::string_view& name) {
  while (!name.empty() && (name.back() == '_' || name.back() == '-' || name.back() == '.')) name.remove_suffix(1);
  std::size_t start = name.size();
  while (start > 0) {
    const char c = name[start - 1];
    if (c == '_' || c == '-' || c == '.') break;
    // A capital starts a word, unless it stands in a row of capitals (API_KEY, APIKey).
    if (start < name.size() && is_lower(name[start]) && is_upper(c)) {
      --start;
      break;
    }
    if (start < name.size() && is_upper(name[start]) && !is_upper(c)) break;
    --start;
  }
  std::string word = lower_case(name.substr(start));
  name = name.substr(0, start);
  return word;
}

LastWords last_words(std::string_view name) {
  LastWords words;
  words.second = take_last_word(name);
  words.first = take_last_word(name);
  return words;
}

bool is_shouted(std::string_view name) {
  return std::none_of(name.begin(), name.end(), is_lower) && std::any_of(name.begin(), name.end(), is_upper);
}

/// "token" alone may be a word of a text; these in front of it make it one.
constexpr std::array<std::string_view, 28> kTokenOfText = {
    "begin",   "bos",   "cls",  "decoder", "end",        "eos",    "eot",     "first", "image",  "input",
    "invalid", "last",  "mask", "new",     "next",       "output", "pad",     "per",   "prompt", "sep",
    "special", "start", "stop", "text",    "unexpected", "unk",    "unknown", "video"};

/// "key" alone is an index or a column; these in front of it make it a credential.
constexpr std::array<std::string_view, 19> kKeyOfAccess = {
    "access",  "account", "api",    "app",     "auth",    "client", "deploy",  "encryption", "license", "master",
    "private", "secret",  "server", "service", "session", "shared", "signing", "ssh",        "storage"};

constexpr std::array<std::string_view, 7> kPlainKeys = {"public",    "primary", "foreign", "sort",
                                                        "partition", "cache",   "index"};

constexpr std::array<std::string_view, 12> kSecretWords = {"password",  "passwd",      "passphrase", "secret",
                                                           "apikey",    "apitoken",    "accesskey",  "secretkey",
                                                           "authtoken", "accesstoken", "privatekey", "passcode"};

}  // namespace

NameVerdict judge_name(std::string_view name) {
  constexpr std::size_t kLongest = 128;
  if (name.size() > kLongest) name.remove_prefix(name.size() - kLongest);
  const auto words = last_words(name);
  std::string_view last = words.second;
  while (!last.empty() && is_digit(last.back())) last.remove_suffix(1);
  if (last.ends_with("password") || contains(kSecretWords, last)) return NameVerdict::secret;
  if (last == "word" && words.first == "pass") return NameVerdict::secret;
  if (last == "token") {
    if (words.first.empty()) return name.starts_with("--") ? NameVerdict::secret : NameVerdict::maybe;
    return contains(kTokenOfText, words.first) ? NameVerdict::plain : NameVerdict::secret;
  }
  if (last == "key" && contains(kKeyOfAccess, words.first)) return NameVerdict::secret;
  // `PWD` alone is the working folder, and a pass is a round of something; variables like DB_PASS are not.
  if (last == "pwd" && !words.first.empty() && words.first != "old") return NameVerdict::secret;
  const bool variable = is_shouted(name) && !words.first.empty();
  if (variable && last == "pass") return NameVerdict::secret;
  if (variable && last == "key" && !contains(kPlainKeys, words.first)) return NameVerdict::secret;
  return NameVerdict::plain;
}

bool is_harmless_value(std::string_view name, std::string_view value) {
  static constexpr std::array<std::string_view, 9> kWords = {"",    "true", "false", "none",     "null",
                                                             "nil", "yes",  "no",    "undefined"};
  if (contains(kWords, lower_case(value.substr(0, 16)))) return true;
  if (last_words(name.substr(name.size() > 128 ? name.size() - 128 : 0)).second != "token") return false;
  // 12, 0.25 and 3.1ms are how many or how long; nobody's token is that short.
  return value.size() <= 8 && is_digit(value.front());
}

}  // namespace assay
