#include "launch/kubernetes/kube_config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bytes/base64.h"

namespace assay {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string example_config() {
  return fmt::format(R"(apiVersion: v1
kind: Config
current-context: lab
preferences: {{}}
clusters:
- name: lab
  cluster:
    server: https://10.0.0.1:6443
    certificate-authority-data: {}
- name: cloud
  cluster: {{server: "https://cloud.example/k8s/clusters/c-1", certificate-authority: ca.crt}}
- name: careless
  cluster: {{server: "https://10.0.0.2:6443", insecure-skip-tls-verify: true}}
users:
- name: ada
  user: {{client-certificate-data: {}, client-key-data: {}}}
- name: robot
  user: {{token: secret-token}}
- name: mount
  user: {{tokenFile: tokens/robot}}
- name: plugin
  user:
    exec:
      apiVersion: client.authentication.k8s.io/v1
      command: ./login
      args: [--cluster, lab]
      env: [{{name: REGION, value: north}}]
      interactiveMode: Never
- name: old
  user: {{auth-provider: {{name: oidc}}}}
contexts:
- name: lab
  context: {{cluster: lab, user: ada, namespace: bench}}
- name: cloud
  context: {{cluster: cloud, user: robot}}
- name: mounted
  context: {{cluster: cloud, user: mount}}
- name: plugin
  context: {{cluster: lab, user: plugin}}
- name: careless
  context: {{cluster: careless, user: robot}}
- name: old
  context: {{cluster: lab, user: old}}
- name: broken
  context: {{cluster: nowhere, user: robot}}
)",
                     to_base64("CA"), to_base64("CERTIFICATE"), to_base64("KEY"));
}

class KubeConfigTest : public testing::Test {
 protected:
  fs::path write(const std::string& name, const std::string& text) const {
    const fs::path file = folder_.path() / name;
    EXPECT_TRUE(make_folders(file.parent_path()).ok());
    EXPECT_TRUE(write_file_atomically(file, text).ok());
    return file;
  }
  Result<KubeAccess> access(std::string_view context) const {
    return find_kube_access({.environment = {{"KUBECONFIG", write("config", example_config()).string()}}}, context);
  }

  TemporaryFolder folder_;
};

TEST_F(KubeConfigTest, TheCurrentContextSaysWhereAndAsWhom) {
  const auto found = access("");
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_EQ(found->server.place(), "10.0.0.1:6443");
  EXPECT_EQ(found->trust.ca_text, "CA");
  EXPECT_EQ(found->user.identity.certificate, "CERTIFICATE");
  EXPECT_EQ(found->user.identity.key, "KEY");
  EXPECT_EQ(found->name_space, "bench");
  EXPECT_THAT(found->origin, AllOf(HasSubstr("context 'lab'"), HasSubstr("config")));
}

TEST_F(KubeConfigTest, AnotherContextCanBeNamed) {
  const auto cloud = access("cloud");
  ASSERT_TRUE(cloud.ok()) << cloud.error().text();
  EXPECT_EQ(cloud->server.target, "/k8s/clusters/c-1");
  EXPECT_EQ(cloud->trust.ca_file, folder_.path() / "ca.crt") << "below the folder of the file";
  EXPECT_EQ(cloud->user.token, "secret-token");
  EXPECT_EQ(cloud->name_space, "default");
  EXPECT_EQ(access("mounted")->user.token_file, folder_.path() / "tokens/robot");
}

TEST_F(KubeConfigTest, SaysWhatThereIsInsteadOfWhatIsNot) {
  const auto missing = access("labs");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::not_found);
  EXPECT_THAT(missing.error().hint, HasSubstr("'lab'"));
  EXPECT_THAT(access("broken").error().message, HasSubstr("no cluster 'nowhere'"));
}

TEST_F(KubeConfigTest, WhatCannotBeDoneIsRefused) {
  EXPECT_THAT(access("careless").error().message, HasSubstr("insecure-skip-tls-verify"));
  EXPECT_EQ(access("careless").error().kind, ErrorKind::unsupported);
  EXPECT_THAT(access("old").error().message, HasSubstr("auth-provider"));
}

TEST_F(KubeConfigTest, OfSeveralFilesTheFirstCounts) {
  const auto first = write("first", "contexts: [{name: lab, context: {cluster: lab, user: robot, namespace: mine}}]\n");
  const auto second = write("second", example_config());
  const auto found = find_kube_access(
      {.environment = {{"KUBECONFIG", fmt::format("{}:/no/such/file:{}", first.string(), second.string())}}}, "");
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_EQ(found->name_space, "mine");
  EXPECT_EQ(found->user.token, "secret-token");
}

TEST_F(KubeConfigTest, LooksInTheHomeFolderThenInThePod) {
  write("home/.kube/config", example_config());
  KubeSearch where{.environment = {{"HOME", (folder_.path() / "home").string()},
                                   {"KUBERNETES_SERVICE_HOST", "fd00::1"},
                                   {"KUBERNETES_SERVICE_PORT", "443"}},
                   .account_folder = folder_.path() / "account"};
  EXPECT_EQ(find_kube_access(where, "")->name_space, "bench");
  fs::remove_all(folder_.path() / "home");
  EXPECT_EQ(find_kube_access(where, "").error().kind, ErrorKind::missing_file) << "no account either";
  write("account/token", "t");
  write("account/namespace", "inside\n");
  const auto pod = find_kube_access(where, "");
  ASSERT_TRUE(pod.ok()) << pod.error().text();
  EXPECT_EQ(pod->server.place(), "[fd00::1]:443");
  EXPECT_EQ(pod->name_space, "inside");
  EXPECT_EQ(pod->trust.ca_file, folder_.path() / "account/ca.crt");
  EXPECT_EQ(find_kube_access(where, "lab").error().kind, ErrorKind::missing_file) << "a pod has no contexts";
}

TEST_F(KubeConfigTest, JsonIsYamlToo) {
  const auto config = read_kube_config(
      R"({"current-context": "a", "contexts": [{"name": "a", "context": {"cluster": "b"}}]})", "config");
  ASSERT_TRUE(config.ok()) << config.error().text();
  EXPECT_EQ(config->contexts.at("a").cluster, "b");
}

TEST_F(KubeConfigTest, MistakesHaveTheirPlace) {
  const auto mistake = [](std::string_view text) {
    const auto config = read_kube_config(text, "config");
    return config ? std::string() : fmt::format("{} {}", config.error().at, config.error().message);
  };
  EXPECT_THAT(mistake("clusters: 5\n"), AllOf(HasSubstr("config:1:11"), HasSubstr("not a list")));
  EXPECT_THAT(mistake("clusters:\n- name: a\n"), HasSubstr("config:2:3"));
  EXPECT_THAT(mistake("users:\n- name: a\n  user: {client-key-data: '*'}\n"), HasSubstr("not Base64"));
  EXPECT_THAT(mistake("just text"), HasSubstr("no kubeconfig"));
  EXPECT_THAT(mistake("a: [\n"), HasSubstr("config:"));
}

TEST_F(KubeConfigTest, AProgramIsAskedForCredentials) {
  const auto program = access("plugin")->user.program;
  ASSERT_TRUE(program.has_value());
  EXPECT_EQ(program->command, (folder_.path() / "./login").string());
  EXPECT_EQ(program->environment.at("REGION"), "north");
  write("login",
        "#!/bin/sh\necho \"$KUBERNETES_EXEC_INFO\" | grep -q ExecCredential || exit 9\n"
        "echo '{\"kind\": \"ExecCredential\", \"status\": {\"token\": \"'$REGION-$2'\", \"expirationTimestamp\": "
        "\"2026-11-18T12:00:00Z\"}}'\n");
  fs::permissions(folder_.path() / "login", fs::perms::owner_all);
  const auto credential = ask_credential_program(*program);
  ASSERT_TRUE(credential.ok()) << credential.error().text();
  EXPECT_EQ(credential->token, "north-lab");
  EXPECT_TRUE(credential->expires.has_value());
}

TEST_F(KubeConfigTest, SaysWhyAProgramGaveNoCredentials) {
  KubeCredentialProgram program{.command = "no-such-login-program", .install_hint = "Install it from the portal."};
  EXPECT_THAT(ask_credential_program(program).error().hint, HasSubstr("portal"));
  program = {.command = "sh", .arguments = {"-c", "echo please log in >&2; exit 1"}};
  const auto refused = ask_credential_program(program);
  EXPECT_EQ(refused.error().kind, ErrorKind::denied);
  EXPECT_THAT(refused.error().message, HasSubstr("please log in"));
  program.arguments = {"-c", "echo '{\"status\": {}}'"};
  EXPECT_THAT(ask_credential_program(program).error().message, HasSubstr("neither a token nor a certificate"));
}

}  // namespace
}  // namespace assay
