#include "stint/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

namespace stint {
namespace {

TEST(Error, CodesHaveDistinctNames) {
  std::set<std::string_view> names;
  for (ErrorCode code :
       {ErrorCode::kUnavailable, ErrorCode::kOutcomeUnknown, ErrorCode::kThrottled,
        ErrorCode::kVersionMismatch, ErrorCode::kInvalidArgument, ErrorCode::kNotFound,
        ErrorCode::kExists, ErrorCode::kConflict, ErrorCode::kCorrupt, ErrorCode::kAccessDenied}) {
    EXPECT_TRUE(names.insert(to_string(code)).second) << to_string(code);
  }
  EXPECT_EQ(to_string(ErrorCode::kOutcomeUnknown), "outcome_unknown");
  EXPECT_EQ(to_string(ErrorCode::kAccessDenied), "access_denied");
  EXPECT_EQ(names.count("unknown"), 0u);
}

TEST(Error, MessageNamesWhatItKnows) {
  EXPECT_EQ(Error(ErrorCode::kConflict, "busy").message(), "conflict: busy");
  EXPECT_EQ(Error::invalid("limit.capacity", "0", "must be greater than 0").message(),
            "invalid limit.capacity \"0\": must be greater than 0");
}

TEST(Error, InvalidValuesAreCutAndPrintable) {
  EXPECT_EQ(Error::invalid("f", std::string(50, 'x'), "r").value(), std::string(50, 'x'));
  EXPECT_EQ(Error::invalid("f", std::string(51, 'x'), "r").value(), std::string(50, 'x'));
  EXPECT_EQ(Error::invalid("f", std::string("a\nb\0c\x7f", 6), "r").value(), "a?b?c?");
  // A character of two bytes that the cut would halve is left out.
  EXPECT_EQ(Error::invalid("f", std::string(49, 'x') + "\xc3\xa4", "r").value(),
            std::string(49, 'x'));
  EXPECT_EQ(Error::invalid("f", std::string(48, 'x') + "\xc3\xa4", "r").value(),
            std::string(48, 'x') + "\xc3\xa4");
}

TEST(Error, InvalidValuesKeepAWholeCharacterAtTheCut) {
  EXPECT_EQ(Error::invalid("f", std::string(48, 'x') + "\xc3\xa4yyy", "r").value(),
            std::string(48, 'x') + "\xc3\xa4");
}

TEST(Result, HoldsAValue) {
  Result<int> result = 7;
  EXPECT_TRUE(result.ok());
  EXPECT_TRUE(static_cast<bool>(result));
  EXPECT_EQ(result.value(), 7);
  EXPECT_EQ(*result, 7);
}

TEST(Result, HoldsAnErrorAndThrowsIt) {
  Result<std::string> result = Error(ErrorCode::kNotFound, "no such entity");
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.error().code(), ErrorCode::kNotFound);
  try {
    static_cast<void>(result.value());
    FAIL() << "value() returned";
  } catch (const ErrorException& thrown) {
    EXPECT_EQ(thrown.error(), result.error());
    EXPECT_STREQ(thrown.what(), "not_found: no such entity");
  }
}

TEST(Result, MovesItsValueOut) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(3);
  std::unique_ptr<int> value = std::move(result).value();
  EXPECT_EQ(*value, 3);
}

TEST(Result, StatusIsSuccessOrAnError) {
  Status fine;
  EXPECT_TRUE(fine.ok());
  fine.value();
  Status wrong = Error(ErrorCode::kExists, "again");
  EXPECT_FALSE(wrong.ok());
  EXPECT_THROW(wrong.value(), ErrorException);
}

#ifndef NDEBUG
TEST(ResultDeathTest, UncheckedAccessAsserts) {
  Result<int> wrong = Error(ErrorCode::kExists, "again");
  EXPECT_DEATH(static_cast<void>(*wrong), "ok");
  Result<int> fine = 1;
  EXPECT_DEATH(static_cast<void>(fine.error()), "ok");
}
#endif

}  // namespace
}  // namespace stint
