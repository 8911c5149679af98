#include "redact/redact.h"

#include <gmock/gmock.h>

#include <algorithm>

namespace assay {
namespace {

using testing::ElementsAre;
using testing::Pair;

// Made-up credentials, put together here so that no scanner takes this file for a leak.
const std::string kGithub = "ghp_" + std::string(12, 'a') + "0123456789" + std::string(14, 'Z');
const std::string kHuggingFace = "hf_" + std::string(17, 'q') + "XyZ" + std::string(14, 'w');
const std::string kOpenAi = "sk-" + std::string("proj-AbCdEfGhIjKlMnOpQrStUvWx0123");
const std::string kWebToken = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + std::string(20, 's') + "-_";
const std::string kPem = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n0123456789\n-----END RSA PRIVATE KEY-----";

TEST(Redact, known_shapes) {
  const std::vector<std::string> secrets = {
      "assay_" + std::string(64, 'a'),
      "assay-join:" + std::string(64, '0'),
      "AKIA" + std::string("IOSFODNN7EXAMPLE"),
      "ASIA" + std::string("IOSFODNN7EXAMPLE"),
      kGithub,
      "github_pat_" + std::string(22, 'A') + "_" + std::string(59, 'b'),
      "glpat-" + std::string("abcDEF-123_456789xyz"),
      "xoxb-" + std::string("1234567890-abcdefghij"),
      kHuggingFace,
      "wandb_v1_" + std::string(40, 'k'),
      "local-" + std::string("0123456789abcdef0123456789abcdef01234567"),
      kOpenAi,
      "sk-ant-api03-" + std::string(40, 'x') + "-AA",
      "nvapi-" + std::string(64, 'n'),
      "AIza" + std::string(35, 'g'),
      "npm_" + std::string(36, 'p'),
      kWebToken,
      kPem,
  };
  for (const auto& secret : secrets) {
    EXPECT_EQ(redact(secret), "[redacted]");
    EXPECT_EQ(redact("using " + secret + ", then more"), "using [redacted], then more");
    EXPECT_EQ(redact("(" + secret + ")"), "([redacted])");
    EXPECT_EQ(redact("\"" + secret + "\""), "\"[redacted]\"");
  }
}

TEST(Redact, private_keys_in_any_form) {
  EXPECT_EQ(redact("a\n" + kPem + "\nb"), "a\n[redacted]\nb");
  EXPECT_EQ(redact("-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn"), "[redacted]") << "cut off: the rest is key";
  EXPECT_EQ(redact("PRIVATE_KEY=" + kPem + "\nnext"), "PRIVATE_KEY=[redacted]\nnext");
  EXPECT_EQ(redact("{\"private_key\": \"" + kPem + "\", \"x\": 1}"), "{\"private_key\": \"[redacted]\", \"x\": 1}");
  EXPECT_EQ(redact("-----BEGIN PUBLIC KEY-----\nMFww\n-----END PUBLIC KEY-----"),
            "-----BEGIN PUBLIC KEY-----\nMFww\n-----END PUBLIC KEY-----");
}

struct Case {
  const char* text;
  const char* expected;
};

TEST(Redact, values_of_names) {
  for (const auto& [text, expected] : std::vector<Case>{
           {"password=hunter2", "password=[redacted]"},
           {"password = hunter2, user=ada", "password = [redacted], user=ada"},
           {"password=hunter2,user=ada", "password=[redacted],user=ada"},
           {"password: hunter2", "password: [redacted]"},
           {"Password: hunter2.", "Password: [redacted]."},
           {"DB_PASSWORD=12345", "DB_PASSWORD=[redacted]"},
           {"passwd='two words'", "passwd='[redacted]'"},
           {"{\"password\": \"a\\\"b\", \"x\": 1}", "{\"password\": \"[redacted]\", \"x\": 1}"},
           {"{\\\"password\\\": \\\"abc\\\"}", "{\\\"password\\\": \\\"[redacted]\\\"}"},
           {"{'apiKey' => 'abc'}", "{'apiKey' => '[redacted]'}"},
           {"Config(api_key=abc, lr=0.1)", "Config(api_key=[redacted], lr=0.1)"},
           {"[password=abc]", "[password=[redacted]]"},
           {"password=\"not closed\nnext", "password=\"[redacted]\nnext"},
           {"WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567", "WANDB_API_KEY=[redacted]"},
           {"HF_TOKEN=abc", "HF_TOKEN=[redacted]"},
           {"AZURE_KEY=abc", "AZURE_KEY=[redacted]"},
           {"MYSQL_PASS=abc", "MYSQL_PASS=[redacted]"},
           {"db_pwd=abc", "db_pwd=[redacted]"},
           {"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY", "aws_secret_access_key = [redacted]"},
           {"client_secret=abc", "client_secret=[redacted]"},
           {"clientSecret: abc", "clientSecret: [redacted]"},
           {"accessToken=abc", "accessToken=[redacted]"},
           {"token=abc", "token=[redacted]"},
           {"token: abcdef123", "token: [redacted]"},
           {"GET /x?access_token=abc&page=2", "GET /x?access_token=[redacted]&page=2"},
           {"X-Api-Key: abc", "X-Api-Key: [redacted]"},
           {"password := abc", "password := [redacted]"},
       }) {
    EXPECT_EQ(redact(text), expected);
  }
}

TEST(Redact, flags_and_their_values) {
  for (const auto& [text, expected] : std::vector<Case>{
           {"train.py --token abc --epochs 3", "train.py --token [redacted] --epochs 3"},
           {"train.py --api-key=abc", "train.py --api-key=[redacted]"},
           {"curl --password 'two words' url", "curl --password '[redacted]' url"},
           {"--hf_token hunter", "--hf_token [redacted]"},
           {"--token --verbose", "--token --verbose"},
           {"--token TEXT  the token", "--token TEXT  the token"},
           {"--token is required", "--token is required"},
       }) {
    EXPECT_EQ(redact(text), expected);
  }
}

TEST(Redact, authorization_headers) {
  for (const auto& [text, expected] : std::vector<Case>{
           {"Authorization: Bearer abc.def/ghi+j=", "Authorization: Bearer [redacted]"},
           {"authorization: basic dXNlcjpwYXNz\nHost: x", "authorization: basic [redacted]\nHost: x"},
           {"curl -H 'Authorization: token abc' url", "curl -H 'Authorization: token [redacted]' url"},
           {"{\"Authorization\": \"Bearer a b\"}", "{\"Authorization\": \"Bearer [redacted]\"}"},
           {"Proxy-Authorization: 0123abcdef", "Proxy-Authorization: [redacted]"},
           {"sent Bearer 0123456789abcdefg to it", "sent Bearer [redacted] to it"},
           {"authorization: required", "authorization: required"},
           {"the bearer of bad news", "the bearer of bad news"},
       }) {
    EXPECT_EQ(redact(text), expected);
  }
}

TEST(Redact, passwords_in_urls) {
  for (const auto& [text, expected] : std::vector<Case>{
           {"postgres://ada:hunter2@db:5432/x", "postgres://ada:[redacted]@db:5432/x"},
           {"http://:pw@proxy:3128", "http://:[redacted]@proxy:3128"},
           {"https://ada:p@ss:w@host/", "https://ada:[redacted]@host/"},
           {"see https://host:8080/a@b and x@y", "see https://host:8080/a@b and x@y"},
           {"git+ssh://git@host/repo", "git+ssh://git@host/repo"},
           {"http://[::1]:80/", "http://[::1]:80/"},
           {"http://user:@host", "http://user:@host"},
       }) {
    EXPECT_EQ(redact(text), expected);
  }
  EXPECT_EQ(redact("https://" + kGithub + ":x-oauth@github.com"), "https://[redacted]:[redacted]@github.com");
}

TEST(Redact, leaves_plain_text_alone) {
  for (const char* text : {
           "",
           "Epoch 3/50 loss=0.1234 lr=2e-4 tokens_per_second=1379",
           "commit 0123456789abcdef0123456789abcdef01234567",
           "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
           "GPU-a9449dfe-e9df-13cb-f842-5d34a377472e",
           "550e8400-e29b-41d4-a716-446655440000",
           "/home/ada/.cache/huggingface/hub/models--gpt2/snapshots/607a30d783dfa663caf39e06633721c8d4cfcb75",
           "--tokens 512",
           "--max-tokens=512",
           "--key-size 4",
           "--token-file /etc/assay/token",
           "token_env: KEY",
           "tokenizer=gpt2",
           "max_tokens=512",
           "maxNewTokens: 512",
           "monkey=1",
           "keyboard: qwerty",
           "token_count: 3",
           "num_tokens=12345678",
           "eos_token=</s> pad_token=[PAD] bos_token: <s>",
           "time per token: 12.5ms, 80 ms/token",
           "token: 17",
           "unexpected token: identifier",
           "use_auth_token=True, token=None",
           "password: null",
           "primary_key=id, sort_key: name",
           "PWD=/home/ada OLDPWD=/tmp",
           "first_pass=1 bypass: 2",
           "password_file=/etc/secret",
           "if token == other: pass",
           "Secret::open(key)",
           "https://huggingface.co/gpt2/resolve/main/config.json?download=true",
           "scikit-learn sk-learn-pipeline-version-1 task-0123456789abcdefghijkl",
           "hf_transfer hf_model_with_a_rather_long_name_of_parts",
           "AKIA is a prefix; AKIAlowercase0000000; XAKIAIOSFODNN7EXAMPLE",
           "eyJ.not.a.token",
           "ratio 16:9, C++ a::b, time 12:34:56",
           "Grüße, 世界: token 😀",
       }) {
    EXPECT_EQ(redact(text), text);
  }
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes.push_back(static_cast<char>(i));
  EXPECT_EQ(redact(bytes), bytes);
}

TEST(Redact, twice_is_once) {
  for (const std::string& text : {std::string("password=a,token=b&c=d [password=x] \"secret\": \"y"), kPem + kGithub,
                                  "x." + kGithub + ".MY_KEY=abc", "https://u:p@h token: ://1:p@ " + kWebToken,
                                  std::string("h://X_PASS=u:?,/[redacted]@h:p@b:'v"),
                                  std::string("Authorization: Bearer a b c\npassword=ab") + kPem}) {
    const std::string once = redact(text);
    EXPECT_NE(once, text);
    EXPECT_EQ(redact(once), once);
  }
}

// With a quadratic scanner each of these takes hours, and the test's time limit ends it.
TEST(Redact, takes_linear_time) {
  for (const std::string& piece :
       {std::string("token:"), std::string("sk-"), std::string("eyJaaaaaaaaa."), std::string("://a:"),
        std::string("--token "), std::string("password"), std::string("token:)"), std::string("Bearer "),
        std::string("authorization: bearer [redacted]"), std::string("-----BEGIN "), std::string("a.-_"),
        std::string("token:\""), std::string("token:\\\""), std::string(",a"), std::string("authorization:")}) {
    std::string text;
    while (text.size() < 500'000) text += piece;
    EXPECT_GT(redact(text).size(), 0u) << piece;
  }
}

TEST(RedactCommand, values_of_flags) {
  EXPECT_THAT(redact_command({"train.py", "--token", "abc", "--api-key=two words", "-p", "80", "--tokens", "512"}),
              ElementsAre("train.py", "--token", "[redacted]", "--api-key=[redacted]", "-p", "80", "--tokens", "512"));
  EXPECT_THAT(redact_command({"x", "-token", "abc", "--password", "-dash", "--secret", "--verbose", "--token"}),
              ElementsAre("x", "-token", "[redacted]", "--password", "[redacted]", "--secret", "--verbose", "--token"));
  EXPECT_THAT(redact_command({"x", "--use_auth_token", "True", "--eos-token", "</s>", "--token-file", "t"}),
              ElementsAre("x", "--use_auth_token", "True", "--eos-token", "</s>", "--token-file", "t"));
  EXPECT_THAT(redact_command({"env", "HF_TOKEN=a b", "sh", "-c", "curl --token abc https://u:p@h"}),
              ElementsAre("env", "HF_TOKEN=[redacted]", "sh", "-c", "curl --token [redacted] https://u:[redacted]@h"));
  EXPECT_THAT(redact_command({}), ElementsAre());
}

TEST(WorkloadEnvironment, has_places_and_settings_and_nothing_that_may_be_secret) {
  EXPECT_THAT(workload_environment({{"PATH", "/usr/bin"},
                                    {"HOME", "/home/bench"},
                                    {"LC_TIME", "C"},
                                    {"NCCL_DEBUG", "INFO"},
                                    {"LD_LIBRARY_PATH", "/opt/lib"},
                                    {"UCX_TLS", "rc password=abc"},
                                    {"CREDENTIALS_DIRECTORY", "/run/credentials/x"},
                                    {"ASSAY_TOKEN_FILE", "/etc/assay/token"},
                                    {"HF_TOKEN", "x"},
                                    {"MY_SETTING", "x"}}),
              ElementsAre(Pair("HOME", "/home/bench"), Pair("LC_TIME", "C"), Pair("LD_LIBRARY_PATH", "/opt/lib"),
                          Pair("NCCL_DEBUG", "INFO"), Pair("PATH", "/usr/bin")));
}

TEST(ShareableEnvironment, is_an_allow_list_without_secrets) {
  EXPECT_THAT(
      shareable_environment({{"CUDA_VISIBLE_DEVICES", "0,1"},
                             {"NCCL_DEBUG", "INFO"},
                             {"OMP_NUM_THREADS", "8"},
                             {"TOKENIZERS_PARALLELISM", "false"},
                             {"PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"},
                             {"NVIDIA_TF32_OVERRIDE", "0"},
                             {"HIP_VISIBLE_DEVICES", "1"},
                             {"HF_HUB_OFFLINE", "1"},
                             {"LANG", "C.UTF-8"},
                             {"TZ", "UTC"},
                             {"UCX_TLS", "rc password=abc"},
                             {"HOME", "/root"},
                             {"PATH", "/bin"},
                             {"LD_LIBRARY_PATH", "/lib"},
                             {"CUDA_PATH", "/usr/local/cuda"},
                             {"HF_TOKEN", "x"},
                             {"WANDB_API_KEY", "x"},
                             {"TORCH_TOKEN", "x"},
                             {"TORCH_TOKEN_ID", "x"},
                             {"NCCL_SECRET_NAME", "x"},
                             {"CUDA_KEY", "x"},
                             {"OMP_PASSWORD_HASH", "x"},
                             {"MY_SETTING", "x"}}),
      ElementsAre(Pair("CUDA_VISIBLE_DEVICES", "0,1"), Pair("HF_HUB_OFFLINE", "1"), Pair("HIP_VISIBLE_DEVICES", "1"),
                  Pair("LANG", "C.UTF-8"), Pair("NCCL_DEBUG", "INFO"), Pair("NVIDIA_TF32_OVERRIDE", "0"),
                  Pair("OMP_NUM_THREADS", "8"), Pair("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"),
                  Pair("TOKENIZERS_PARALLELISM", "false"), Pair("TZ", "UTC"),
                  Pair("UCX_TLS", "rc password=[redacted]")));
}

}  // namespace
}  // namespace assay
