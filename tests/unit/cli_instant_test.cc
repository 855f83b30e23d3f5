// Instants on the command line and on the screen, over changes of the clocks.
#include "cli/instant.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "base/time.h"

namespace stint::cli {
namespace {

TimePoint at(std::string_view text) { return parse_instant("now", text).value(); }
TimeZone zone(std::string_view name) { return TimeZone::find(name).value(); }

TEST(CliInstant, ReadsIsoAndMilliseconds) {
  EXPECT_EQ(to_epoch_ms(at("1970-01-01T00:00:00Z")), 0);
  EXPECT_EQ(at("2027-03-14T08:00+01:00"), at("2027-03-14T07:00:00Z"));
  EXPECT_EQ(at("2027-03-14T07:00:00.0019Z"), from_epoch_ms(1'805'007'600'001));
  EXPECT_EQ(at("1805007600000"), at("2027-03-14T07:00:00Z"));
}

TEST(CliInstant, RefusesWhatIsNoInstant) {
  for (std::string_view text : {"", "now", "2027-02-29T00:00:00Z", "1969-12-31T23:59:59Z",
                                "2200-01-01T00:00:00Z", "2027-03-14T07:00:00Zx", "-5"}) {
    Result<TimePoint> instant = parse_instant("now", text);
    ASSERT_FALSE(instant.ok()) << text;
    EXPECT_EQ(instant.error().field(), "now");
    EXPECT_EQ(instant.error().value(), text);
  }
}

TEST(CliInstant, ExactTextTellsRepeatedTimesApart) {
  EXPECT_EQ(format_exact(at("2027-03-14T07:00:00Z"), zone("UTC")), "2027-03-14 07:00:00 UTC");
  EXPECT_EQ(format_exact(at("2027-03-14T07:00:00.005Z"), zone("Europe/Berlin")),
            "2027-03-14 08:00:00.005 +01:00 Europe/Berlin");
  EXPECT_EQ(format_exact(at("2026-10-25T00:30:00Z"), zone("Europe/Berlin")),
            "2026-10-25 02:30:00 +02:00 Europe/Berlin");
  EXPECT_EQ(format_exact(at("2026-10-25T01:30:00Z"), zone("Europe/Berlin")),
            "2026-10-25 02:30:00 +01:00 Europe/Berlin");
  EXPECT_EQ(format_exact(at("2026-10-25T01:30:00Z"), zone("America/St_Johns")),
            "2026-10-24 23:00:00 -02:30 America/St_Johns");
}

TEST(CliInstant, MomentsNameTheDayOnlyIfItIsNotToday) {
  TimeZone berlin = zone("Europe/Berlin");
  TimePoint now = at("2026-11-30T08:53:00Z");
  EXPECT_EQ(format_moment(at("2026-11-30T13:05:00Z"), now, berlin), "14:05 Europe/Berlin");
  EXPECT_EQ(format_moment(at("2026-11-30T23:00:00Z"), now, berlin),
            "2026-12-01 00:00 Europe/Berlin");
  // What is shown is never early.
  EXPECT_EQ(format_moment(at("2026-11-30T13:05:00.001Z"), now, berlin), "14:06 Europe/Berlin");
  EXPECT_EQ(format_moment(at("2026-11-30T08:53:01.200Z"), now, berlin), "09:53:02 Europe/Berlin");
  EXPECT_EQ(format_moment(at("2026-11-30T22:59:59.999Z"), now, berlin),
            "2026-12-01 00:00 Europe/Berlin");
}

TEST(CliInstant, MomentsAcrossChangesOfTheClocks) {
  TimeZone new_york = zone("America/New_York");
  // 02:00 to 03:00 does not exist that day.
  EXPECT_EQ(format_moment(at("2027-03-14T07:00:00Z"), at("2027-03-14T05:30:00Z"), new_york),
            "03:00 America/New_York");
  EXPECT_EQ(format_moment(at("2027-03-14T06:59:59.001Z"), at("2027-03-14T05:30:00Z"), new_york),
            "03:00 America/New_York");
}

TEST(CliInstant, WaitsAreRoundedUp) {
  auto wait = [](std::int64_t ms) { return format_wait(Millis(ms)); };
  EXPECT_EQ(wait(0), "0 ms");
  EXPECT_EQ(wait(-5), "0 ms");
  EXPECT_EQ(wait(999), "999 ms");
  EXPECT_EQ(wait(1000), "1 s");
  EXPECT_EQ(wait(1001), "1.1 s");
  EXPECT_EQ(wait(1200), "1.2 s");
  EXPECT_EQ(wait(9901), "10 s");
  EXPECT_EQ(wait(59'000), "59 s");
  EXPECT_EQ(wait(59'001), "1 min");
  EXPECT_EQ(wait(61'000), "1 min 1 s");
  EXPECT_EQ(wait(3'599'001), "1 h");
  EXPECT_EQ(wait(15'120'000), "4 h 12 min");
  EXPECT_EQ(wait(86'399'999), "1 d");
  EXPECT_EQ(wait(90'000'001), "1 d 2 h");
  EXPECT_EQ(wait(31'622'400'000), "366 d");
}

RC_GTEST_PROP(CliInstantProperty, ExactUtcTextReadsBack, ()) {
  TimePoint instant = from_epoch_ms(*rc::gen::inRange<std::int64_t>(0, 7'258'118'400'000));
  std::string text = format_exact(instant, zone("UTC"));
  text.replace(text.find(" UTC"), 4, "Z");
  RC_ASSERT(at(text) == instant);
}

}  // namespace
}  // namespace stint::cli
