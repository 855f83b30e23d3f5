// How credentials are kept fresh, and that nothing secret is told.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "store/dynamodb/credentials.h"
#include "tests/dynamodb/credential_world.h"
#include "tests/support/seed.h"

namespace stint::store::dynamodb {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using test::CredentialWorld;
using test::key_document;
using test::no_reply;
using test::reply_of;

std::string as_text(TimePoint time) {
  auto day = std::chrono::floor<std::chrono::days>(time);
  std::chrono::year_month_day date(day);
  std::chrono::hh_mm_ss clock(std::chrono::floor<seconds>(time - day));
  char text[80];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()));
  return text;
}

/// A container that gives keys K1, K2, ... for an hour each.
class CredentialProviderTest : public testing::Test {
 protected:
  CredentialProviderTest() {
    world.set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/keys");
    world.serve([this](const HttpRequest&) {
      if (broken) return reply_of(404, "");
      if (!same_keys) ++given;
      return reply_of(200, key_document("K" + std::to_string(given), as_text(world.now() + life)));
    });
    provider = world.provider();
  }

  /// The key id that is handed out, or the reason why none is.
  std::string get() {
    Result<CredentialsPtr> result = CredentialWorld::get(*provider);
    return result ? (*result)->access_key_id : result.error().reason();
  }
  /// What is handed out while the server does not answer; "" if that waits for it.
  std::string get_at_once() {
    auto answer = std::make_shared<std::string>();
    auto answered = std::make_shared<std::atomic<bool>>(false);
    provider->get([answer, answered](Result<CredentialsPtr> result) {
      *answer = result ? (*result)->access_key_id : result.error().reason();
      *answered = true;
    });
    return *answered ? *answer : "";
  }
  /// Waits until the background fetch that a `get` set off has an effect.
  void wait_for(const std::string& id) {
    while (get() != id) std::this_thread::yield();
  }

  CredentialWorld world;
  std::atomic<bool> broken{false};
  std::atomic<bool> same_keys{false};
  std::atomic<int> given{0};
  Millis life = hours(1);
  std::shared_ptr<CredentialProvider> provider;
};

TEST_F(CredentialProviderTest, FetchesOnceWhileTheyAreGood) {
  EXPECT_EQ(world.requests(), 0u);  // Not before somebody asks.
  EXPECT_EQ(get(), "K1");
  EXPECT_EQ(get_at_once(), "K1");
  world.advance(minutes(49));
  EXPECT_EQ(get_at_once(), "K1");
  EXPECT_EQ(world.requests(), 1u);
}

TEST_F(CredentialProviderTest, AllWhoWaitAreAnsweredByOneFetch) {
  world.http()->hold();
  std::vector<std::future<Result<CredentialsPtr>>> answers;
  for (int i = 0; i < 20; ++i) {
    auto promise = std::make_shared<std::promise<Result<CredentialsPtr>>>();
    answers.push_back(promise->get_future());
    provider->get([promise](Result<CredentialsPtr> result) { promise->set_value(result); });
  }
  world.http()->wait_for_requests(1);
  world.http()->release();
  for (auto& answer : answers) EXPECT_EQ((*answer.get())->access_key_id, "K1");
  EXPECT_EQ(world.requests(), 1u);
}

TEST_F(CredentialProviderTest, RenewsInTheBackgroundWithoutAStall) {
  EXPECT_EQ(get(), "K1");
  world.http()->hold();
  world.advance(minutes(51));
  // The old ones are handed out at once, however long the new ones take, and one fetch is enough.
  for (int i = 0; i < 5; ++i) EXPECT_EQ(get_at_once(), "K1");
  world.http()->wait_for_requests(2);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(get_at_once(), "K1");
  EXPECT_EQ(world.requests(), 2u);
  world.http()->release();
  wait_for("K2");
  EXPECT_EQ(world.requests(), 2u);
}

TEST_F(CredentialProviderTest, ShortLivesAreRenewedInTheirLastQuarter) {
  life = minutes(8);
  EXPECT_EQ(get(), "K1");
  world.advance(minutes(5));
  EXPECT_EQ(get(), "K1");
  EXPECT_EQ(world.requests(), 1u);
  world.advance(minutes(1));
  wait_for("K2");
  EXPECT_EQ(world.requests(), 2u);
}

TEST_F(CredentialProviderTest, TheSameKeysAgainAreNotAskedForAtEveryCall) {
  EXPECT_EQ(get(), "K1");
  same_keys = true;
  TimePoint end = world.now() + hours(1);
  world.serve([&](const HttpRequest&) { return reply_of(200, key_document("K1", as_text(end))); });
  world.advance(minutes(51));
  get();
  world.http()->wait_for_requests(2);
  // Nine minutes are left; the next fetch is due in their last quarter.
  world.advance(minutes(1));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(get(), "K1");
  EXPECT_EQ(world.requests(), 2u);
}

TEST_F(CredentialProviderTest, AFailedRenewalKeepsTheOldOnesAndBacksOff) {
  EXPECT_EQ(get(), "K1");
  int reads = world.reads_by_others();
  broken = true;
  world.advance(minutes(51));
  std::size_t requests = 1;
  // Each pause is longer than the one before, up to half a minute.
  for (int pause : {1, 2, 4, 8, 16, 30, 30}) {
    while (world.requests() == requests) EXPECT_EQ(get(), "K1");
    ++requests;
    // The provider reads the clock before and after a fetch; the pause begins with the latter.
    reads += 2;
    world.wait_for_reads_by_others(reads);
    world.advance(seconds(pause) - Millis(1));
    for (int i = 0; i < 10; ++i) EXPECT_EQ(get(), "K1");
    EXPECT_EQ(world.requests(), requests);
    world.advance(Millis(1));
  }
  broken = false;
  wait_for("K2");
}

TEST_F(CredentialProviderTest, ExpiredOnesAreNotHandedOut) {
  EXPECT_EQ(get(), "K1");
  world.advance(hours(1));
  world.http()->hold();
  EXPECT_EQ(get_at_once(), "");
  world.http()->release();
  EXPECT_EQ(get(), "K2");
  broken = true;
  world.advance(hours(1));
  EXPECT_NE(get().find("container endpoint: http://169.254.170.2 answered with status 404"),
            std::string::npos);
}

TEST_F(CredentialProviderTest, AFailedFetchIsTheAnswerForAWhile) {
  broken = true;
  std::string reason = get();
  EXPECT_NE(reason.find("no credentials: "), std::string::npos);
  broken = false;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(get(), reason);
  EXPECT_EQ(world.requests(), 1u);
  world.advance(seconds(1));
  EXPECT_EQ(get(), "K1");
  // A clock that is put back ends the pause, too.
  broken = true;
  world.advance(hours(1));
  get();
  broken = false;
  world.advance(-minutes(1));
  EXPECT_EQ(get(), "K1");  // Valid again by that clock.
}

TEST_F(CredentialProviderTest, RefusedOnesAreFetchedAnew) {
  CredentialsPtr first = *CredentialWorld::get(*provider);
  provider->refused(first);
  EXPECT_EQ(get(), "K2");
  // They are replaced already: the others that were refused with them change nothing.
  provider->refused(first);
  EXPECT_EQ(get_at_once(), "K2");
  EXPECT_EQ(world.requests(), 2u);
  provider->refused(nullptr);
  EXPECT_EQ(get_at_once(), "K2");
}

TEST_F(CredentialProviderTest, RefusedOnesThatComeAgainAreNotFetchedAtEveryCall) {
  CredentialsPtr credentials = *CredentialWorld::get(*provider);
  same_keys = true;
  provider->refused(credentials);
  credentials = *CredentialWorld::get(*provider);
  EXPECT_EQ(credentials->access_key_id, "K1");
  for (int i = 0; i < 20; ++i) {
    provider->refused(credentials);
    EXPECT_EQ(get_at_once(), "K1");
  }
  EXPECT_EQ(world.requests(), 2u);
  world.advance(seconds(1));
  same_keys = false;
  provider->refused(credentials);
  EXPECT_EQ(get(), "K2");
}

TEST_F(CredentialProviderTest, EndsWithAFetchUnderWay) {
  world.http()->hold();
  std::promise<std::string> answer;
  provider->get([&answer](Result<CredentialsPtr> result) {
    answer.set_value(result ? "keys" : result.error().reason());
  });
  world.http()->wait_for_requests(1);
  provider.reset();
  EXPECT_NE(answer.get_future().get().find("this client is being closed"), std::string::npos);
  world.http()->release();  // The reply comes to nobody.
}

TEST_F(CredentialProviderTest, EndsWithAProgramRunning) {
  world.set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "");
  world.write_config("[default]\ncredential_process = sleep 1000\n");
  std::promise<bool> answer;
  provider->get([&answer](Result<CredentialsPtr> result) { answer.set_value(result.ok()); });
  provider.reset();
  EXPECT_FALSE(answer.get_future().get());
}

TEST_F(CredentialProviderTest, TheLastOwnerMayGoInTheAnswer) {
  auto gone = std::make_shared<std::promise<void>>();
  auto owner = std::make_shared<std::shared_ptr<CredentialProvider>>(std::move(provider));
  (*owner)->get([owner, gone](Result<CredentialsPtr> result) {
    EXPECT_TRUE(result.ok());
    owner->reset();
    gone->set_value();
  });
  gone->get_future().get();
  EXPECT_EQ(*owner, nullptr);
}

TEST_F(CredentialProviderTest, ManyThreadsAskAndRefuse) {
  life = minutes(4);
  std::atomic<bool> done{false};
  std::atomic<int> bad{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      Random random(test::seed() + static_cast<std::uint32_t>(i));
      while (!done) {
        Result<CredentialsPtr> result = CredentialWorld::get(*provider);
        if (!result || (*result)->access_key_id.empty()) {
          ++bad;
        } else if (random.below(50) == 0) {
          provider->refused(*result);
        }
      }
    });
  }
  Random random(test::seed());
  for (int i = 0; i < 300; ++i) {
    world.advance(seconds(random.below(120)));
    get();
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(bad, 0);
  EXPECT_GT(given, 1);
}

// --- secrets

/// All that a server knows of a request: some tell it to whoever asks.
std::string echo(const HttpRequest& request) {
  std::string text = request.method + " " + request.url + " ";
  for (const HttpHeader& header : request.headers) text += header.name + ":" + header.value + " ";
  return text + request.body;
}

// Every source is filled with secrets that begin with HUSH, and made to fail in all ways that this
// file knows.
TEST(CredentialSecrets, NoMessageHoldsOne) {
  struct Answer {
    const char* name;
    HttpReply reply;  ///< "ECHO" in it is what was asked.
  };
  const std::string keys =
      "\"AccessKeyId\":\"AKID\",\"SecretAccessKey\":\"HUSHreplySecret1234\","
      "\"Token\":\"HUSHreplyToken12345\"";
  const std::string role_keys =
      "<AccessKeyId>AKID</AccessKeyId><SecretAccessKey>HUSHreplySecret1234</SecretAccessKey>"
      "<SessionToken>HUSHreplyToken12345</SessionToken>";
  const std::string role_error =
      "<ErrorResponse><Error><Code>ECHO</Code><Message>"
      "ECHO</Message></Error></ErrorResponse>";
  std::vector<Answer> answers = {
      {"nobody", no_reply("ECHO")},
      {"refused", reply_of(403, "ECHO")},
      {"refused by the token service", reply_of(403, role_error)},
      {"trouble", reply_of(500, "ECHO")},
      {"garbage", reply_of(200, "ECHO")},
      {"empty", reply_of(200, "")},
      {"expired", reply_of(200, "{" + keys + ",\"Expiration\":\"2020-01-01T00:00:00Z\"}")},
      {"no time", reply_of(200, "{" + keys + ",\"Expiration\":\"HUSHreplySecret1234\"}")},
      {"wrong type", reply_of(200, "{" + keys + ",\"Expiration\":5}")},
      {"code", reply_of(200, "{" + keys + ",\"Code\":\"HUSHreplySecret1234\"}")},
      {"half", reply_of(200, "{\"AccessKeyId\":\"\"," + keys.substr(21) + "}")},
      {"blank", reply_of(200, "{\"AccessKeyId\":\"A B\"," + keys.substr(21) + "}")},
  };
  for (const char* action : {"AssumeRole", "AssumeRoleWithWebIdentity"}) {
    std::string name = action;
    std::string start = "<" + name + "Response><" + name + "Result><Credentials>" + role_keys;
    std::string end = "</Credentials></" + name + "Result></" + name + "Response>";
    answers.push_back({action, reply_of(200, start + end)});
    answers.push_back(
        {action, reply_of(200, start + "<Expiration>2020-01-01T00:00:00Z</Expiration>" + end)});
    answers.push_back({action, reply_of(200, start)});
  }

  struct Place {
    const char* name;
    std::function<void(CredentialWorld&)> fill;
  };
  auto config = [](const std::string& text) {
    return [text](CredentialWorld& world) { world.write_config(text); };
  };
  const std::string base =
      "[profile base]\naws_access_key_id = AKID\naws_secret_access_key = HUSHfileSecret12345\n"
      "aws_session_token = HUSHfileToken123456\n";
  const std::string role =
      "[default]\nrole_arn = arn:aws:iam::1:role/r\n"
      "external_id = HUSHexternal-id-12\n";
  const std::vector<Place> places = {
      {"half an environment",
       [](CredentialWorld& world) {
         world.set("AWS_SECRET_ACCESS_KEY", "HUSHkey/env+1234567");
         world.set("AWS_SESSION_TOKEN", "HUSHtokenEnv1234567");
       }},
      {"environment with a line break",
       [](CredentialWorld& world) {
         world.set("AWS_ACCESS_KEY_ID", "AKID");
         world.set("AWS_SECRET_ACCESS_KEY", "HUSHkey/env+1234567\n");
         world.set("AWS_SESSION_TOKEN", "HUSHtokenEnv1234567");
       }},
      {"web identity",
       [](CredentialWorld& world) {
         world.set("AWS_ROLE_ARN", "arn:aws:iam::1:role/r");
         world.set("AWS_WEB_IDENTITY_TOKEN_FILE", world.write("token", "HUSHweb.identity.1"));
       }},
      {"web identity of two lines",
       [](CredentialWorld& world) {
         world.set("AWS_ROLE_ARN", "arn:aws:iam::1:role/r");
         world.set("AWS_WEB_IDENTITY_TOKEN_FILE", world.write("token", "HUSHweb.identity.1\nx"));
       }},
      {"file with a stray secret", config("[default]\nHUSHfileSecret12345\n")},
      {"file with a secret as a section", config("[HUSHfileSecret12345\n")},
      {"file with a secret before sections", config("x = HUSHfileSecret12345\n")},
      {"half keys", config("[default]\naws_secret_access_key = HUSHfileSecret12345\n")},
      {"keys with a blank",
       config("[default]\naws_access_key_id = A\naws_secret_access_key = HUSHfileSecret12345 x\n")},
      {"program that is missing",
       config("[default]\ncredential_process = /none --password HUSHcommandPassword\n")},
      {"program with an open quote",
       config("[default]\ncredential_process = /none 'HUSHcommandPassword\n")},
      {"program that fails",
       config("[default]\ncredential_process = sh -c 'echo HUSHoutputSecret123 "
              "HUSHcommandPassword; echo HUSHoutputSecret123 >&2; exit 1'\n")},
      {"program that talks", config("[default]\ncredential_process = echo HUSHoutputSecret123\n")},
      {"program that gives half",
       config("[default]\ncredential_process = echo '{\"Version\":1,\"AccessKeyId\":7,"
              "\"SecretAccessKey\":\"HUSHoutputSecret123\"}'\n")},
      {"role", config(base + role + "source_profile = base\n")},
      {"role by environment",
       [config, role](CredentialWorld& world) {
         // The other profile, so that the environment itself is not the source.
         config("[profile r]" + role.substr(9) + "credential_source = Environment\n")(world);
         world.set("AWS_SECRET_ACCESS_KEY", "HUSHkey/env+1234567");
       }},
      {"container with a token",
       [](CredentialWorld& world) {
         world.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1/x?HUSHcontainerQuery1");
         world.set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "HUSHcontainerToken");
       }},
      {"container at an address with a password",
       [](CredentialWorld& world) {
         world.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://x:HUSHcontainerQuery1@127.0.0.1/");
       }},
      {"container with a token of two lines",
       [](CredentialWorld& world) {
         world.set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x?HUSHcontainerQuery1");
         world.set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
                   world.write("token", "HUSHcontainerToken\nx"));
       }},
      {"instance", [](CredentialWorld&) {}},
  };

  for (const Place& place : places) {
    for (const Answer& answer : answers) {
      for (bool metadata_token_works : {false, true}) {
        CredentialWorld world;
        world.serve([&](const HttpRequest& request) {
          if (request.method == "PUT" && metadata_token_works) {
            return reply_of(200, "HUSHmetadataToken12");
          }
          if (request.url.ends_with("/security-credentials/")) return reply_of(200, "role");
          HttpReply reply = answer.reply;
          for (std::string* text : {&reply.body, &reply.message}) {
            std::size_t at = text->find("ECHO");
            if (at != std::string::npos) text->replace(at, 4, echo(request));
          }
          return reply;
        });
        place.fill(world);
        CredentialOptions options;
        if (std::string(place.name) == "role by environment") options.profile = "r";
        Result<CredentialsPtr> result = world.fetch(options);
        ASSERT_FALSE(result.ok()) << place.name << ", " << answer.name;
        std::string message = result.error().message();
        EXPECT_EQ(message.find("HUSH"), std::string::npos)
            << place.name << ", " << answer.name << ": " << message;
        Result<Location> location = standard_location(world.surroundings(), "");
        if (!location) {
          EXPECT_EQ(location.error().message().find("HUSH"), std::string::npos)
              << location.error().message();
        }
        // Where nobody was asked, all answers are the same.
        if (world.requests() == 0) goto next_place;
      }
    }
  next_place:;
  }
}

TEST(CredentialSecrets, SourcesAreNamedWithoutThem) {
  CredentialWorld world;
  world.set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1:1/x?HUSHcontainerQuery1");
  world.serve([](const HttpRequest&) {
    return reply_of(200, key_document("BOX", "2026-12-01T18:00:00Z"));
  });
  Result<CredentialsPtr> result = world.fetch();
  ASSERT_TRUE(result.ok());
  EXPECT_EQ((*result)->source, "container endpoint http://127.0.0.1:1");
}

TEST_F(CredentialProviderTest, NothingIsFetchedAfterItWasClosed) {
  world.set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/keys");
  world.serve([](const HttpRequest&) {
    return reply_of(200, key_document("BOX", "2099-01-01T00:00:00Z"));
  });
  std::shared_ptr<CredentialProvider> never_asked = world.provider();
  never_asked->close();
  Result<CredentialsPtr> refused = CredentialWorld::get(*never_asked);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(world.requests(), 0u);

  provider = world.provider();
  ASSERT_TRUE(CredentialWorld::get(*provider).ok());
  provider->close();
  provider->close();
  // What is at hand may be used for what is on its way.
  EXPECT_TRUE(CredentialWorld::get(*provider).ok());
  EXPECT_EQ(world.requests(), 1u);
}

}  // namespace
}  // namespace stint::store::dynamodb
