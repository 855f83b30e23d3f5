// What a limiter remembers of buckets: a view has one holder at a time, and what was forgotten
// while somebody held it does not come back with it.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "limiter/caches.h"
#include "store/image.h"

namespace stint::limiter {
namespace {

constexpr const char* kEntity = "user";
constexpr const char* kResource = "api";
constexpr std::size_t kRoom = 1000;

store::ImagePtr image_of(const std::string& entity, std::int64_t number) {
  store::ImageBuilder item(store::Key(entity, "#STATE"));
  item.set(store::intern("n"), number);
  return item.build();
}

std::int64_t number_of(const ops::View& view) {
  return view.image ? view.image->number(store::intern("n")).value_or(-1) : -1;
}

class ViewTableTest : public ::testing::Test {
 protected:
  bool take(ops::View& view, bool exclusively = true, const std::string& entity = kEntity) {
    bool found =
        table.take(ops::view_hash(entity, kResource), entity, kResource, exclusively, view);
    view.generation = table.generation();
    if (!found) view.names = std::make_shared<const ops::BucketNames>("ns", entity, kResource, 0);
    return found;
  }
  void remember(std::int64_t number, const std::string& entity = kEntity) {
    ops::View view;
    take(view, true, entity);
    view.image = image_of(entity, number);
    table.put(std::move(view));
  }
  /// The number of the remembered image; -1 where nothing is.
  std::int64_t remembered(const std::string& entity = kEntity) {
    ops::View view;
    return take(view, false, entity) ? number_of(view) : -1;
  }

  ViewTable table{kRoom};
};

TEST_F(ViewTableTest, WhatIsTakenIsGoneUntilItIsGivenBack) {
  remember(1);
  ops::View mine;
  ASSERT_TRUE(take(mine));
  EXPECT_EQ(number_of(mine), 1);
  EXPECT_EQ(remembered(), -1);
  mine.image = image_of(kEntity, 2);
  table.put(std::move(mine));
  EXPECT_EQ(remembered(), 2);
}

TEST_F(ViewTableTest, ACopyLeavesTheViewWhereItIs) {
  remember(1);
  ops::View copy;
  ASSERT_TRUE(take(copy, false));
  EXPECT_EQ(number_of(copy), 1);
  EXPECT_EQ(remembered(), 1);
}

TEST_F(ViewTableTest, AViewOfNothingForgetsThePair) {
  remember(1);
  ops::View mine;
  ASSERT_TRUE(take(mine));
  mine.image = store::ImagePtr();
  table.put(std::move(mine));
  EXPECT_EQ(remembered(), -1);
}

TEST_F(ViewTableTest, APairIsRememberedOnceHoweverManyHeldIt) {
  remember(1);
  ops::View first;
  ASSERT_TRUE(take(first));
  remember(2);  // by somebody who found nothing
  table.put(std::move(first));
  EXPECT_EQ(remembered(), 1);
  table.forget(kEntity, kResource);
  EXPECT_EQ(remembered(), -1) << "the other one had stayed beside it";
}

TEST_F(ViewTableTest, WhatWasForgottenMeanwhileDoesNotComeBack) {
  const std::function<void()> forgetters[] = {
      [&] { table.forget(kEntity, kResource); },
      [&] { table.forget_entity(kEntity); },
      [&] { table.clear(); },
  };
  for (const auto& forget : forgetters) {
    remember(1);
    ops::View mine;
    ASSERT_TRUE(take(mine));
    forget();
    table.put(std::move(mine));
    EXPECT_EQ(remembered(), -1);
  }
}

TEST_F(ViewTableTest, ConfigurationForgottenMeanwhileDoesNotComeBack) {
  remember(1);
  ops::View mine;
  ASSERT_TRUE(take(mine));
  mine.config.emplace();
  table.forget_configs();
  table.put(std::move(mine));
  ops::View after;
  take(after);
  EXPECT_FALSE(after.config);
}

TEST_F(ViewTableTest, TheLongestUntouchedGivesWay) {
  ViewTable small(1);  // one view a shard
  for (int i = 0; i < 10'000; ++i) {
    std::string entity = "user-" + std::to_string(i);
    ops::View view;
    view.names = std::make_shared<const ops::BucketNames>("ns", entity, kResource, 0);
    view.image = image_of(entity, i);
    view.generation = small.generation();
    small.put(std::move(view));
  }
  int kept = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::string entity = "user-" + std::to_string(i);
    ops::View view;
    kept += small.take(ops::view_hash(entity, kResource), entity, kResource, false, view) ? 1 : 0;
  }
  EXPECT_GT(kept, 0);
  EXPECT_LE(kept, 64);
}

TEST(CachesTest, ConfigurationReadBeforeEverythingWasForgottenIsNotRemembered) {
  Caches caches(kRoom);
  const std::uint64_t before = caches.generation();
  caches.put_config("api", {image_of("config", 1), nullptr, TimePoint()}, before);
  EXPECT_TRUE(caches.find_config("api"));
  // The namespace turned out to be another.
  caches.clear();
  EXPECT_FALSE(caches.find_config("api"));
  caches.put_config("api", {image_of("config", 1), nullptr, TimePoint()}, before);
  EXPECT_FALSE(caches.find_config("api"));
  caches.put_config("api", {image_of("config", 2), nullptr, TimePoint()}, caches.generation());
  EXPECT_TRUE(caches.find_config("api"));
}

}  // namespace
}  // namespace stint::limiter
