#include "store/dynamodb/http_date.h"

#include <gtest/gtest.h>

#include <chrono>

namespace stint::store::dynamodb {
namespace {

using namespace std::chrono_literals;

TEST(HttpDate, IsReadToTheSecond) {
  EXPECT_EQ(read_http_date("Thu, 01 Jan 1970 00:00:00 GMT"), TimePoint(0ms));
  EXPECT_EQ(read_http_date("Sun, 06 Nov 1994 08:49:37 GMT"), TimePoint(784'111'777s));
  EXPECT_EQ(read_http_date("Tue, 29 Feb 2028 23:59:59 GMT"), TimePoint(1'835'481'599s));
  // A leap second is the first second of the next minute.
  EXPECT_EQ(read_http_date("Sat, 31 Dec 2016 23:59:60 GMT"), TimePoint(1'483'228'800s));
}

TEST(HttpDate, AnythingElseIsAbsent) {
  for (const char* text :
       {"", "now", "Sun, 06 Nov 1994 08:49:37 UTC", "Sunday, 06-Nov-94 08:49:37 GMT",
        "Sun Nov  6 08:49:37 1994", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 06 anF 1994 08:49:37 GMT", "Sun, 31 Feb 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:49:61 GMT",
        "Sun, 06 Nov 19x4 08:49:37 GMT", "Sun, 06 Nov 1994 -8:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT "}) {
    EXPECT_EQ(read_http_date(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace stint::store::dynamodb
