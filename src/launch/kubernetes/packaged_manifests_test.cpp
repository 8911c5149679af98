// What packaging/kubernetes has for administrators, held against the program and against kubectl's own types.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/files.h"
#include "base/json.h"
#include "config/yaml_tree.h"
#include "launch/kubernetes/kube_api.h"
#include "launch/kubernetes/kube_cluster_fixture.h"
#include "support/source_tree.h"

namespace assay {
namespace {

struct PackagedObject {
  fs::path file;
  std::string text;
  YamlNode root;
  std::string kind;
};

std::string text_of(const YamlNode& node, std::string_view key) {
  const auto* const found = node.find(key);
  return found ? found->text : std::string();
}

std::vector<PackagedObject> packaged_objects() {
  std::vector<PackagedObject> objects;
  for (const auto& entry : fs::directory_iterator(test::source_folder() / "packaging/kubernetes")) {
    if (entry.path().extension() != ".yaml") continue;
    std::string rest = read_file(entry.path()).value();
    while (!rest.empty()) {
      const auto end = rest.find("\n---\n");
      const std::string text = rest.substr(0, end);
      rest = end == std::string::npos ? std::string() : rest.substr(end + 5);
      Problems problems;
      const std::string name = entry.path().string();
      auto root = read_yaml(text, {.file = name, .what = "manifest"}, problems);
      EXPECT_TRUE(problems.none()) << name << ": " << problems.take().front().text();
      if (!root) continue;
      std::string kind = text_of(*root, "kind");
      objects.push_back({entry.path(), text, std::move(*root), std::move(kind)});
    }
  }
  return objects;
}

TEST(PackagedManifests, AreWholeObjects) {
  std::set<std::string> kinds;
  for (const auto& object : packaged_objects()) {
    EXPECT_FALSE(text_of(object.root, "apiVersion").empty()) << object.file;
    EXPECT_FALSE(text_of(*object.root.find("metadata"), "name").empty()) << object.file;
    kinds.insert(object.kind);
  }
  EXPECT_THAT(kinds,
              testing::IsSupersetOf({"DaemonSet", "Role", "RoleBinding", "Service", "ServiceAccount", "StatefulSet"}));
}

TEST(PackagedManifests, TheRoleGrantsWhatTheProgramAsksForAndNoMore) {
  std::set<std::string> granted;
  for (const auto& object : packaged_objects()) {
    EXPECT_NE(object.kind, "ClusterRole") << "nothing of ours is for the whole cluster";
    if (object.kind != "Role") continue;
    for (const auto& rule : object.root.find("rules")->items) {
      for (const auto& resource : rule.find("resources")->items) {
        for (const auto& verb : rule.find("verbs")->items) {
          granted.insert(fmt::format("{} {}/{}", verb.text, rule.find("apiGroups")->items.front().text, resource.text));
        }
      }
    }
  }
  std::set<std::string> asked;
  for (const auto& right : kube_rights()) {
    asked.insert(fmt::format("{} {}/{}", name_of(right.verb), group_of(right.resource), name_of(right.resource)));
    EXPECT_FALSE(right.what_for.empty());
  }
  EXPECT_EQ(granted, asked);
}

/// Every key of ours is one of theirs.
void expect_keys(const YamlNode& ours, const json::value& theirs, const std::string& path) {
  for (const auto& entry : ours.entries) {
    const auto* const other = theirs.is_object() ? theirs.get_object().if_contains(entry.key) : nullptr;
    const std::string below = fmt::format("{}.{}", path, entry.key);
    if (!other) ADD_FAILURE() << below << " is no field of the API";
    if (other) expect_keys(entry.value, *other, below);
  }
  for (std::size_t i = 0; i < ours.items.size(); ++i) {
    ASSERT_TRUE(theirs.is_array() && i < theirs.get_array().size()) << path;
    expect_keys(ours.items[i], theirs.get_array()[i], path + "[]");
  }
}

TEST(PackagedManifests, ThePodsAreWhatKubectlUnderstands) {
  int seen = 0;
  for (const auto& object : packaged_objects()) {
    if (object.kind != "StatefulSet" && object.kind != "DaemonSet") continue;
    const auto as_seen = as_kubectl_sees(object.text);
    if (!as_seen) GTEST_SKIP() << as_seen.error().text();
    expect_keys(object.root, *as_seen, object.file.filename().string());
    ++seen;
  }
  EXPECT_EQ(seen, 2);
}

}  // namespace
}  // namespace assay
