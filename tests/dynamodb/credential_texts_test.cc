// The readers below the sources of credentials: files, documents, addresses, commands.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "store/dynamodb/credentials/process.h"
#include "store/dynamodb/credentials/profile_files.h"
#include "store/dynamodb/credentials/secrets.h"
#include "store/dynamodb/credentials/text_file.h"
#include "store/dynamodb/credentials/xml.h"
#include "store/dynamodb/text.h"
#include "store/dynamodb/url.h"
#include "tests/dynamodb/credential_world.h"
#include "tests/support/seed.h"

namespace stint::store::dynamodb {
namespace {

using test::CredentialWorld;

ProfileSections parsed(std::string_view text, ProfileFileKind kind = ProfileFileKind::kConfig) {
  Result<ProfileSections> sections = parse_profile_file(text, kind, "file");
  EXPECT_TRUE(sections.ok()) << (sections ? "" : sections.error().reason());
  return sections ? *sections : ProfileSections();
}

std::string trouble(std::string_view text, ProfileFileKind kind = ProfileFileKind::kConfig) {
  Result<ProfileSections> sections = parse_profile_file(text, kind, "file");
  return sections ? "none" : sections.error().reason();
}

TEST(ProfileFile, ReadsSectionsOfBothKinds) {
  ProfileSections config = parsed(
      "\xef\xbb\xbf# comment\r\n"
      "[default]\r\nregion = eu-west-1\r\n"
      "[profile dev]\n  ; comment\nREGION=us-east-1 # comment\noutput = a#b;c\n\n"
      "[ profile \"with blank\" ] ; comment\nregion = x\n"
      "[plugins]\nwhat ever\n");
  EXPECT_EQ(config.profiles["default"].value("region"), "eu-west-1");
  EXPECT_EQ(config.profiles["dev"].value("region"), "us-east-1");
  EXPECT_EQ(config.profiles["dev"].value("output"), "a#b;c");
  EXPECT_EQ(config.profiles["with blank"].value("region"), "x");
  EXPECT_EQ(config.profiles.size(), 3u);

  ProfileSections keys = parsed("[dev]\naws_access_key_id=A\n[profile odd]\nregion=x\n",
                                ProfileFileKind::kCredentials);
  EXPECT_EQ(keys.profiles["dev"].value("aws_access_key_id"), "A");
  EXPECT_EQ(keys.profiles.count("odd"), 0u);
  EXPECT_EQ(keys.misnamed, std::vector<std::string>{"odd"});
}

TEST(ProfileFile, IndentedLinesGoOnWithTheirProperty) {
  ProfileSections config = parsed(
      "[services local]\n"
      "dynamodb =\n"
      "  endpoint_url = http://localhost:8000  # comment\n"
      "  other = 1\n"
      "sts =\n"
      "\tendpoint_url = http://localhost:8001\n"
      "[profile dev]\n"
      "services = local\n"
      "credential_process = one\n"
      "  two\n");
  const ProfileSection& services = config.services["local"];
  EXPECT_EQ(services.find("dynamodb")->nested.at("endpoint_url"), "http://localhost:8000");
  EXPECT_EQ(services.find("dynamodb")->nested.at("other"), "1");
  EXPECT_EQ(services.find("sts")->nested.at("endpoint_url"), "http://localhost:8001");
  EXPECT_EQ(config.profiles["dev"].value("credential_process"), "one\ntwo");
}

TEST(ProfileFile, SectionsAndPropertiesMayComeTwice) {
  ProfileSections config =
      parsed("[profile a]\nregion = one\noutput = json\n[profile b]\n[profile a]\nregion = two\n");
  EXPECT_EQ(config.profiles["a"].value("region"), "two");
  EXPECT_EQ(config.profiles["a"].value("output"), "json");
  // The longer name of the default is the one that counts, wherever it stands.
  config = parsed("[profile default]\nregion = long\n[default]\nregion = short\noutput = x\n");
  EXPECT_EQ(config.profiles["default"].value("region"), "long");
  EXPECT_EQ(config.profiles["default"].value("output"), "");
}

TEST(ProfileFile, SaysTheLineThatIsWrongAndShowsNothingOfIt) {
  EXPECT_EQ(trouble("[profile a]\nregion = x\nHUSH\n"),
            "line 3 of file is neither [section] nor name = value");
  EXPECT_EQ(trouble("\nregion = x\n"), "line 2 of file stands before the first [section]");
  EXPECT_EQ(trouble("[profile a\n"), "line 1 of file has a \"[\" without \"]\"");
  EXPECT_EQ(trouble("[profile a] HUSH\n"), "line 1 of file goes on after the \"]\"");
  EXPECT_EQ(trouble("[profile a]\n= HUSH\n"),
            "line 2 of file is neither [section] nor name = value");
  EXPECT_EQ(trouble("[profile a]\ns3 =\n  HUSH\n"),
            "line 3 of file is neither [section] nor name = value");
}

TEST(ProfileFile, CredentialsGoBeforeConfigAndKeysStayTogether) {
  CredentialWorld world;
  world.write_config(
      "[profile dev]\naws_access_key_id = OLD\naws_secret_access_key = old\n"
      "aws_session_token = old-token\nregion = eu-west-1\n");
  world.write_credentials("[dev]\naws_access_key_id = NEW\naws_secret_access_key = new\n");
  Result<ProfileFiles> files = ProfileFiles::load(world.surroundings());
  ASSERT_TRUE(files.ok());
  const ProfileSection* dev = files->profile("dev");
  ASSERT_NE(dev, nullptr);
  EXPECT_EQ(dev->value("aws_access_key_id"), "NEW");
  EXPECT_EQ(dev->value("aws_session_token"), "");
  EXPECT_EQ(dev->value("region"), "eu-west-1");
  EXPECT_EQ(files->profile("other"), nullptr);
}

TEST(ProfileFile, FilesAreWhereTheVariablesSay) {
  CredentialWorld world;
  world.set("AWS_CONFIG_FILE", "~/elsewhere/config");
  world.set("AWS_SHARED_CREDENTIALS_FILE", world.write("keys", "[a]\naws_access_key_id=A\n"));
  world.write("elsewhere/config", "[profile a]\nregion = eu-north-1\n");
  Result<ProfileFiles> files = ProfileFiles::load(world.surroundings());
  ASSERT_TRUE(files.ok());
  ASSERT_NE(files->profile("a"), nullptr);
  EXPECT_EQ(files->profile("a")->value("region"), "eu-north-1");
  EXPECT_EQ(files->profile("a")->value("aws_access_key_id"), "A");
}

TEST(ProfileFile, UnreadableFilesAreErrors) {
  CredentialWorld world;
  world.set("AWS_CONFIG_FILE", world.home());
  Result<ProfileFiles> files = ProfileFiles::load(world.surroundings());
  ASSERT_FALSE(files.ok());
  EXPECT_EQ(files.error().reason(), world.home() + " is not a file");

  // A pipe could keep the fetch waiting for ever.
  std::string pipe = world.home() + "/pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  world.set("AWS_CONFIG_FILE", pipe);
  files = ProfileFiles::load(world.surroundings());
  ASSERT_FALSE(files.ok());
  EXPECT_EQ(files.error().reason(), pipe + " is not a file");

  world.set("AWS_CONFIG_FILE", "/dev/null");
  EXPECT_TRUE(ProfileFiles::load(world.surroundings()).ok());

  world.set("AWS_CONFIG_FILE", world.write("long", std::string((1 << 20) + 1, '#')));
  files = ProfileFiles::load(world.surroundings());
  ASSERT_FALSE(files.ok());
  EXPECT_NE(files.error().reason().find("is longer than"), std::string::npos);
}

/// While it lives, this process can open no file.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    rlimit none = before_;
    none.rlim_cur = 0;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoMoreFiles() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoMoreFiles(const NoMoreFiles&) = delete;
  NoMoreFiles& operator=(const NoMoreFiles&) = delete;

 private:
  rlimit before_{};
};

// The same files can be read when the machine has what it takes.
TEST(SystemErrors, AShortageMayPass) {
  CredentialWorld world;
  const std::string token = world.write("token", "abc");
  world.write_config("[default]\nregion = eu-west-1\n");
  Interruption interruption;
  {
    NoMoreFiles shortage;
    for (const Error& error :
         {read_token_file(token).error(), ProfileFiles::load(world.surroundings()).error(),
          run_process({"true"}, ProcessLimits(), interruption).error(),
          standard_location(world.surroundings(), "").error()}) {
      EXPECT_EQ(error.code(), ErrorCode::kUnavailable) << error.reason();
      EXPECT_NE(error.reason().find("(Too many open files)"), std::string::npos) << error.reason();
    }
    EXPECT_EQ(world.fetch().error().code(), ErrorCode::kUnavailable);
  }
  EXPECT_TRUE(read_token_file(token).ok());
  EXPECT_TRUE(run_process({"true"}, ProcessLimits(), interruption).ok());
}

TEST(SystemErrors, ANameOrARightHasToBeMended) {
  CredentialWorld world;
  Interruption interruption;
  const std::string file = world.write("file", "abc");
  // A name of 300 letters is too long for a file.
  for (const Error& error :
       {read_token_file(world.home() + "/" + std::string(300, 'x')).error(),
        run_process({world.home() + "/" + std::string(300, 'x')}, ProcessLimits(), interruption)
            .error(),
        run_process({file}, ProcessLimits(), interruption).error()}) {
    EXPECT_EQ(error.code(), ErrorCode::kAccessDenied) << error.reason();
  }
}

TEST(TokenFile, HoldsOneToken) {
  CredentialWorld world;
  EXPECT_EQ(*read_token_file(world.write("good", "a.b-c\n")), "a.b-c");
  EXPECT_FALSE(read_token_file(world.write("empty", "\n")).ok());
  EXPECT_FALSE(read_token_file(world.write("two", "a\nb\n")).ok());
  Result<std::string> missing = read_token_file(world.home() + "/none");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().reason(), world.home() + "/none does not exist");
}

TEST(Xml, ReadsTextsByTheirPath) {
  Result<XmlTexts> xml = XmlTexts::parse(
      "<?xml version=\"1.0\"?>\n<!-- c --><a x='1' y=\"&gt;\">\n <b>one &amp; &lt;two&gt; "
      "&#x41;&#66;&quot;&apos;</b><b>second</b><c/><d><![CDATA[<raw>]]></d >\n</a>\n");
  ASSERT_TRUE(xml.ok()) << xml.error().reason();
  EXPECT_EQ(*xml->find("a/b"), "one & <two> AB\"'");
  EXPECT_EQ(*xml->find("a/c"), "");
  EXPECT_EQ(*xml->find("a/d"), "<raw>");
  EXPECT_EQ(xml->find("a/e"), nullptr);
  EXPECT_EQ(xml->find("b"), nullptr);
}

TEST(Xml, RefusesWhatIsNotWellFormed) {
  for (const char* text : {"",
                           "text",
                           "<a>",
                           "<a></b>",
                           "</a>",
                           "<a/><b/>",
                           "<a/>text",
                           "<a",
                           "<a x></a>",
                           "<a x=1/>",
                           "<a x=\"1/>",
                           "<a x=\"<\"/>",
                           "<a>&unknown;</a>",
                           "<a>&amp</a>",
                           "<a>&#0;</a>",
                           "<a>&#xD800;</a>",
                           "<a>&#99999999999;</a>",
                           "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>",
                           "<a><!-- </a>",
                           "<a><![CDATA[</a>",
                           "< a/>",
                           "<html><br></html>"}) {
    EXPECT_FALSE(XmlTexts::parse(text).ok()) << text;
  }
  std::string deep;
  for (int i = 0; i < 33; ++i) deep += "<a>";
  for (int i = 0; i < 33; ++i) deep += "</a>";
  EXPECT_FALSE(XmlTexts::parse(deep).ok());
  std::string wide = "<a>";
  for (int i = 0; i < 1'000; ++i) wide += "<b/>";
  EXPECT_FALSE(XmlTexts::parse(wide + "</a>").ok());
}

TEST(Instant, IsReadStrictly) {
  EXPECT_EQ(read_instant("2026-12-01T12:00:00Z"), CredentialWorld::kNow);
  EXPECT_EQ(read_instant("2026-12-01T12:00:00.999Z"), CredentialWorld::kNow);
  EXPECT_EQ(read_instant("2026-12-01T13:30:00+01:30"), CredentialWorld::kNow);
  EXPECT_EQ(read_instant("2026-12-01T11:00:00-0100"), CredentialWorld::kNow);
  for (const char* text :
       {"", "2026-12-01", "2026-12-01T12:00:00", "2026-13-01T12:00:00Z", "2026-02-30T12:00:00Z",
        "2026-12-01T24:00:00Z", "2026-12-01T12:00:00Zx", "2026-12-01T12:00:00.Z", "1796126400"}) {
    EXPECT_FALSE(read_instant(text).has_value()) << text;
  }
}

TEST(Url, IsTakenApart) {
  Result<Url> url = parse_url("HTTPS://Example.com:8443/a/b?c=d");
  ASSERT_TRUE(url.ok());
  EXPECT_TRUE(url->secure);
  EXPECT_EQ(url->host, "example.com");
  EXPECT_EQ(url->authority(), "example.com:8443");
  EXPECT_EQ(url->path, "/a/b");
  EXPECT_EQ(url->query, "c=d");
  EXPECT_EQ(parse_url("http://h?x")->path, "/");
  EXPECT_EQ(parse_url("http://h:80")->authority(), "h");
  EXPECT_EQ(parse_url("https://h:80")->authority(), "h:80");
  EXPECT_EQ(parse_url("http://[::1]:8000/")->origin(), "http://[::1]:8000");
  EXPECT_EQ(parse_url("http://[::1]/")->host, "::1");
}

TEST(Url, RefusesWhatReadersCouldTakeDifferently) {
  for (const char* text :
       {"", "h", "ftp://h", "http://", "http:///x", "http://user@h", "http://127.0.0.1@evil/",
        "http://127.0.0.1\\@evil/", "http://h/ x", "http://h#@evil", "http://h:0", "http://h:65536",
        "http://h:x", "http://h:", "http://[::1", "http://[h]", "http://[::1]x", "http://a%2eb/",
        "http://h\r\n"}) {
    EXPECT_FALSE(parse_url(text).ok()) << text;
  }
}

TEST(Endpoint, HasAPathAndNoQuery) {
  EXPECT_EQ(parse_endpoint("http://H:8000")->base(), "http://h:8000");
  EXPECT_EQ(parse_endpoint("http://h:8000//")->base(), "http://h:8000");
  EXPECT_EQ(parse_endpoint("https://h/gate/way/")->base(), "https://h/gate/way");
  EXPECT_EQ(parse_endpoint("https://h/gate")->origin(), "https://h");
  for (const char* text : {"", "h", "http://h?", "http://h/?x=y", "http://h/a?b"}) {
    EXPECT_FALSE(parse_endpoint(text).ok()) << text;
  }
}

TEST(Endpoint, FollowsThePartitionOfTheRegion) {
  EXPECT_EQ(service_endpoint("dynamodb", "eu-west-1"), "https://dynamodb.eu-west-1.amazonaws.com");
  EXPECT_EQ(service_endpoint("sts", "cn-north-1"), "https://sts.cn-north-1.amazonaws.com.cn");
  EXPECT_EQ(service_endpoint("sts", "us-gov-west-1"), "https://sts.us-gov-west-1.amazonaws.com");
  EXPECT_TRUE(is_region_name("eu-west-1"));
  for (const char* name : {"", "-a", "a-", "a.b", "eu west", "eu/x", "eu_w"}) {
    EXPECT_FALSE(is_region_name(name)) << name;
  }
}

TEST(Secrets, AreTakenOutOfMessages) {
  Secrets secrets;
  secrets.add("abcdefgh");
  secrets.add("abcdefghij");
  secrets.add("test");  // Too short to be one.
  EXPECT_EQ(secrets.hidden("1 abcdefghij 2 abcdefgh 3 test"), "1 [hidden] 2 [hidden] 3 test");
  EXPECT_EQ(secrets.quotable("first abcdefghij\nsecond"), "first [hidden]");
  EXPECT_EQ(secrets.quotable("a\tb\x01\xff"), "a?b??");
  EXPECT_EQ(secrets.quotable(std::string(1'000, 'x')).size(), 300u);
  // A secret that the cut would halve.
  EXPECT_EQ(secrets.quotable(std::string(295, 'x') + "abcdefgh").find("abc"), std::string::npos);
}

using Words = std::vector<std::string>;

/// `text` with a few bytes changed, taken out, put in or doubled.
std::string mutated(std::string text, Random& random) {
  constexpr std::string_view kOften = "<>/&;#[]=\"' \n\\!?-:@%{}";
  for (std::uint64_t changes = random.below(6) + 1; changes > 0; --changes) {
    std::size_t at = random.below(text.size() + 1);
    char c = random.below(3) == 0 ? static_cast<char>(random.below(256))
                                  : kOften[random.below(kOften.size())];
    switch (random.below(4)) {
      case 0: text.insert(at, 1, c); break;
      case 1: text.erase(at, random.below(8)); break;
      case 2: text.insert(at, text.substr(random.below(text.size() + 1), random.below(40))); break;
      default:
        if (at < text.size()) text[at] = c;
    }
  }
  return text;
}

// Run with the sanitizers, this is about memory; without them, about what reasons tell.
TEST(Readers, TakeAnyText) {
  Random random(test::seed());
  const std::string xml = test::role_answer("AssumeRole", "HUSH", "2026-12-01T12:00:00Z");
  const std::string files =
      "[default]\nregion = a # c\n[profile \"b c\"]\naws_secret_access_key=HUSH\ns3 =\n  x = HUSH\n"
      "credential_process = HUSH\n  HUSH\n[services d]\n";
  const std::string address = "http://[::1]:8000/HUSH?HUSH";
  const std::string command = "a \"b 'HUSH\" 'c' \\HUSH";
  int accepted = 0;
  auto look = [&accepted](bool ok, const std::string& reason) {
    accepted += ok ? 1 : 0;
    EXPECT_EQ(reason.find("HUSH"), std::string::npos) << reason;
    EXPECT_TRUE(ok || !reason.empty());
  };
  constexpr int kRounds = 3'000;
  for (int round = 0; round < kRounds; ++round) {
    Result<XmlTexts> texts = XmlTexts::parse(mutated(xml, random));
    look(texts.ok(), texts ? "" : texts.error().reason());
    for (ProfileFileKind kind : {ProfileFileKind::kConfig, ProfileFileKind::kCredentials}) {
      Result<ProfileSections> sections = parse_profile_file(mutated(files, random), kind, "file");
      look(sections.ok(), sections ? "" : sections.error().reason());
    }
    Result<Url> url = parse_url(mutated(address, random));
    look(url.ok(), url ? "" : url.error().reason());
    Result<Words> words = split_command(mutated(command, random));
    look(words.ok(), words ? "" : words.error().reason());
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 5 * kRounds);
}

TEST(Command, IsSplitAsAShellDoes) {
  EXPECT_EQ(*split_command("  a  b\tc "), (Words{"a", "b", "c"}));
  EXPECT_EQ(*split_command("a \"b c\" 'd \"e' f\\ g"), (Words{"a", "b c", "d \"e", "f g"}));
  EXPECT_EQ(*split_command("a \"b\\\"c\\\\d\\e\" '\\' \"\""), (Words{"a", "b\"c\\d\\e", "\\", ""}));
  EXPECT_EQ(*split_command("x'y'\"z\""), (Words{"xyz"}));
  // Nothing is expanded and nothing is run twice.
  EXPECT_EQ(*split_command("a $HOME ; b | c > d `e` *"),
            (Words{"a", "$HOME", ";", "b", "|", "c", ">", "d", "`e`", "*"}));
  for (const char* command : {"", "  ", "a 'b", "a \"b", "''"}) {
    Result<Words> words = split_command(command);
    EXPECT_FALSE(words.ok()) << command;
  }
}

std::string failure(const Words& command, const ProcessLimits& limits = {}) {
  Interruption interruption;
  Result<std::string> output = run_process(command, limits, interruption);
  return output ? "none" : output.error().reason();
}

TEST(Process, GivesItsOutput) {
  Interruption interruption;
  Result<std::string> output =
      run_process({"/bin/sh", "-c", "cat; echo out; echo err >&2; printf '%s' \"$1\"", "x", "a b"},
                  ProcessLimits(), interruption);
  ASSERT_TRUE(output.ok()) << output.error().reason();
  EXPECT_EQ(*output, "out\na b");
  // Found by PATH.
  EXPECT_EQ(*run_process({"printf", "x"}, ProcessLimits(), interruption), "x");
}

TEST(Process, SaysWhyItGaveNone) {
  EXPECT_EQ(failure({"/no/such/program"}), "could not be started (No such file or directory)");
  EXPECT_EQ(failure({"/bin/sh", "-c", "echo x; exit 3"}),
            "ended with status 3; run it by hand to see what it says");
  EXPECT_EQ(failure({"/bin/sh", "-c", "kill -9 $$"}), "was killed by signal 9");
  ProcessLimits limits;
  limits.output_bytes = 1'000;
  EXPECT_EQ(failure({"/bin/sh", "-c", "yes"}, limits), "wrote more than 1000 bytes");
  limits.time = std::chrono::milliseconds(50);
  EXPECT_EQ(failure({"/bin/sh", "-c", "sleep 1000"}, limits), "did not end within 50 ms");
  // Closing the output is not the end.
  EXPECT_EQ(failure({"/bin/sh", "-c", "exec >&-; sleep 1000"}, limits), "did not end within 50 ms");
}

TEST(Process, HasNoneOfOurFiles) {
  int open_file = ::open("/dev/null", O_RDONLY);  // Without close-on-exec.
  ASSERT_GE(open_file, 0);
  Interruption interruption;
  std::string test = "test -e /proc/self/fd/" + std::to_string(open_file) + " && echo open";
  Result<std::string> output =
      run_process({"/bin/sh", "-c", test + "; true"}, ProcessLimits(), interruption);
  ::close(open_file);
  ASSERT_TRUE(output.ok()) << output.error().reason();
  EXPECT_EQ(*output, "");
}

TEST(Process, EndsWhenInterrupted) {
  CredentialWorld world;
  Interruption interruption;
  std::string started = world.home() + "/started";
  ASSERT_EQ(::mkfifo(started.c_str(), 0600), 0);
  std::string reason;
  std::thread thread([&] {
    // The child of the child must go, too.
    Result<std::string> output = run_process(
        {"/bin/sh", "-c", "sh -c 'echo > \"$1\"; sleep 1000' x \"$1\"; true", "x", started},
        ProcessLimits(), interruption);
    reason = output ? "none" : output.error().reason();
  });
  std::ifstream wait(started);  // Until the child opens it as well.
  std::string line;
  std::getline(wait, line);
  interruption.set();
  thread.join();
  EXPECT_EQ(reason, "was ended, as this client is being closed");
}

}  // namespace
}  // namespace stint::store::dynamodb
