#include "launch/kubernetes/kubernetes_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace assay {
namespace {

using testing::HasSubstr;

std::map<std::string, std::string> options_in(std::string_view text) {
  std::map<std::string, std::string> options;
  for (const auto part : split(text, ',')) {
    const auto equals = part.find('=');
    options[std::string(part.substr(0, equals))] = part.substr(equals + 1);
  }
  return options;
}

std::string mistake_in(std::string_view text) {
  const auto place = read_kubernetes_place(options_in(text));
  return place ? std::string() : place.error().message + " | " + place.error().hint;
}

TEST(KubernetesPlace, EveryOptionIsRead) {
  const auto place = read_kubernetes_place(
      options_in("namespace=bench,image=registry.example:5000/assay:1,context=lab@home,selector=pool=a100+zone=b,"
                 "toleration=gpu+team=ml:NoSchedule,gpus=2,gpu-resource=amd.com/gpu,cpu=2.5,memory=64GiB,"
                 "service-account=runner,pull-secret=one+two,runtime-class=nvidia,patience=2h,keep=1d"));
  ASSERT_TRUE(place.ok()) << place.error().text();
  EXPECT_EQ(place->name_space, "bench");
  EXPECT_EQ(place->image, "registry.example:5000/assay:1");
  EXPECT_EQ(place->context, "lab@home");
  EXPECT_EQ(place->selector, (std::map<std::string, std::string>{{"pool", "a100"}, {"zone", "b"}}));
  EXPECT_THAT(place->tolerations,
              testing::ElementsAre(KubeToleration{"gpu", "", ""}, KubeToleration{"team", "ml", "NoSchedule"}));
  EXPECT_EQ(place->gpus, 2);
  EXPECT_EQ(place->gpu_resource, "amd.com/gpu");
  EXPECT_EQ(place->cpu, "2500m");
  EXPECT_EQ(place->memory, "68719476736");
  EXPECT_EQ(place->service_account, "runner");
  EXPECT_THAT(place->pull_secrets, testing::ElementsAre("one", "two"));
  EXPECT_EQ(place->runtime_class, "nvidia");
  EXPECT_EQ(place->patience, std::chrono::hours(2));
  EXPECT_EQ(place->keep, std::chrono::hours(24));
}

TEST(KubernetesPlace, MistakesSayWhatToWrite) {
  EXPECT_THAT(mistake_in("image=a,namespce=b"), HasSubstr("Did you mean 'namespace'?"));
  EXPECT_THAT(mistake_in("image=a,zzz=b"), HasSubstr("There are: namespace, image"));
  EXPECT_THAT(mistake_in("namespace=bench"), HasSubstr("needs an image"));
  EXPECT_THAT(mistake_in("image=a,namespace=Bench"), HasSubstr("lower-case"));
  EXPECT_THAT(mistake_in("image=a,selector=pool"), HasSubstr("selector=pool=a100"));
  EXPECT_THAT(mistake_in("image=a,toleration=gpu:NoShedule"), HasSubstr("did you mean 'NoSchedule'?"));
  EXPECT_THAT(mistake_in("image=a,gpus=many"), HasSubstr("from 0 to"));
  EXPECT_THAT(mistake_in("image=a,cpu=-1"), HasSubstr("number of cores"));
  EXPECT_THAT(mistake_in("image=a,memory=64"), HasSubstr("unit"));
  EXPECT_THAT(mistake_in("image=a,patience=soon"), HasSubstr("30min"));
  EXPECT_THAT(mistake_in("image=a,gpu-resource=gpu"), HasSubstr("nvidia.com/gpu"));
}

TEST(KubernetesPlace, EveryOptionHasItsHelp) {
  EXPECT_EQ(kubernetes_options().size(), 14U);
  for (const auto& option : kubernetes_options()) {
    EXPECT_FALSE(option.value.empty());
    EXPECT_FALSE(option.help.empty());
  }
}

}  // namespace
}  // namespace assay
