#include "store/attribute.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace stint::store {
namespace {

TEST(Attribute, KeyNamesHaveFixedIds) {
  EXPECT_EQ(name_of(kPk), "PK");
  EXPECT_EQ(name_of(kSk), "SK");
  for (int index = 1; index <= 4; ++index) {
    std::string prefix = "GSI" + std::to_string(index);
    EXPECT_EQ(intern(prefix + "PK"), index_pk(index));
    EXPECT_EQ(intern(prefix + "SK"), index_sk(index));
    EXPECT_EQ(name_of(index_sk(index)), prefix + "SK");
  }
}

TEST(Attribute, SameNameSameId) {
  AttrId id = intern("b_rpm_tk");
  EXPECT_EQ(intern("b_rpm_tk"), id);
  EXPECT_NE(intern("b_rpm_tc"), id);
  EXPECT_EQ(name_of(id), "b_rpm_tk");
  EXPECT_GE(index_of(id), 10u);
}

TEST(Attribute, FewNamesLeaveRoomForMore) {
  intern("one of a few names");
  EXPECT_FALSE(names_running_out());
}

TEST(Attribute, ThreadsAgree) {
  constexpr int kThreads = 4;
  constexpr int kNames = 2000;
  std::vector<std::vector<AttrId>> seen(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&seen, t] {
      for (int i = 0; i < kNames; ++i) {
        seen[static_cast<std::size_t>(t)].push_back(intern("agreed " + std::to_string(i)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int t = 1; t < kThreads; ++t) EXPECT_EQ(seen[static_cast<std::size_t>(t)], seen[0]);
  for (int i = 0; i < kNames; ++i) {
    EXPECT_EQ(name_of(seen[0][static_cast<std::size_t>(i)]), "agreed " + std::to_string(i));
  }
}

}  // namespace
}  // namespace stint::store
