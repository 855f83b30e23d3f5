// Credentials by a profile.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "store/dynamodb/credentials/process.h"
#include "store/dynamodb/credentials/profile_files.h"
#include "store/dynamodb/credentials/sources.h"
#include "store/dynamodb/credentials/token_service.h"

namespace stint::store::dynamodb {
namespace {

std::string quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

/// Follows the profile that was asked for to whatever gives its keys.
class ProfileResolver {
 public:
  ProfileResolver(FetchContext& cx, const ProfileFiles& files) : cx_(cx), files_(files) {}

  Fetched resolve(const std::string& name, const ProfileSection& profile) {
    note_secrets(profile);
    asked_for_ = &profile;
    if (profile.find("role_arn") != nullptr) return role(name, profile);
    return own_keys(name, profile);
  }

 private:
  void note_secrets(const ProfileSection& profile) {
    for (const char* secret : {"aws_secret_access_key", "aws_session_token", "external_id"}) {
      cx_.secrets.add(profile.value(secret));
    }
  }

  static bool has_static_keys(const ProfileSection& profile) {
    return profile.find("aws_access_key_id") != nullptr ||
           profile.find("aws_secret_access_key") != nullptr;
  }

  /// Keys or program of the profile itself.
  Fetched own_keys(const std::string& name, const ProfileSection& profile) {
    if (has_static_keys(profile)) return static_keys(name, profile);
    if (const ProfileProperty* command = profile.find("credential_process")) {
      return process(name, *command);
    }
    for (const char* sign_in : {"sso_session", "sso_start_url", "login_session"}) {
      if (profile.find(sign_in) == nullptr) continue;
      return Broken{"it has " + std::string(sign_in) +
                    ", a sign-in in a browser that stint does not do; let another tool do it, by "
                    "credential_process = aws configure export-credentials --profile NAME"};
    }
    return Absent{"it holds neither keys nor credential_process nor role_arn"};
  }

  Fetched static_keys(const std::string& name, const ProfileSection& profile) {
    Credentials credentials;
    credentials.access_key_id = profile.value("aws_access_key_id");
    credentials.secret_access_key = profile.value("aws_secret_access_key");
    credentials.session_token = profile.value("aws_session_token");
    if (credentials.access_key_id.empty()) {
      return Broken{"it has aws_secret_access_key without aws_access_key_id"};
    }
    if (credentials.secret_access_key.empty()) {
      return Broken{"it has aws_access_key_id without aws_secret_access_key"};
    }
    if (Status usable = check_credentials(credentials, cx_.surroundings.now()); !usable) {
      return Broken{"it holds " + usable.error().reason()};
    }
    credentials.source = "profile " + name + " of " + profile.find("aws_access_key_id")->file;
    return credentials;
  }

  Fetched process(const std::string& name, const ProfileProperty& command) {
    const std::string subject = "its credential_process ";
    Result<std::vector<std::string>> words = split_command(command.value);
    if (!words) return broken(subject + "cannot be read: ", words.error());
    Result<std::string> output = run_process(*words, ProcessLimits(), *cx_.interruption);
    if (!output) return broken(subject, output.error());
    Result<Credentials> credentials =
        read_credential_document(cx_, *output, DocumentKind::kProcess);
    if (!credentials) return broken(subject, credentials.error());
    credentials->source = "credential_process of profile " + name;
    return fetched(std::move(credentials));
  }

  Fetched role(const std::string& name, const ProfileSection& profile) {
    RoleRequest request;
    request.role_arn = profile.value("role_arn");
    request.session_name = profile.value("role_session_name");
    request.external_id = profile.value("external_id");
    request.duration_s = profile.value("duration_seconds");
    if (request.role_arn.empty()) return Broken{"its role_arn is empty"};
    Result<TokenService> service = token_service(cx_, files_, asked_for_);
    if (!service) return broken("", service.error());

    std::string token_file = profile.value("web_identity_token_file");
    Result<Credentials> credentials = Error(ErrorCode::kUnavailable, "");
    if (!token_file.empty()) {
      credentials = assume_role_with_web_identity(cx_, *service, request, token_file);
    } else {
      if (profile.find("mfa_serial") != nullptr) {
        return Broken{
            "its role asks for a code of a device (mfa_serial), which nobody can enter "
            "here; let another tool do it, by credential_process"};
      }
      Fetched source = source_keys(name, profile);
      if (!std::holds_alternative<Credentials>(source)) return source;
      credentials = assume_role(cx_, *service, request, std::get<Credentials>(source));
    }
    if (!credentials) {
      return broken("role " + request.role_arn + " was not given: ", credentials.error());
    }
    credentials->source = "role " + request.role_arn + " of profile " + name;
    return fetched(std::move(credentials));
  }

  /// The keys that the request for a role is signed with. Never `Absent`.
  Fetched source_keys(const std::string& name, const ProfileSection& profile) {
    std::string source = profile.value("source_profile");
    std::string kind = profile.value("credential_source");
    if (source.empty() == kind.empty()) {
      return Broken{source.empty() ? "it has role_arn without source_profile, credential_source or "
                                     "web_identity_token_file"
                                   : "it has both source_profile and credential_source"};
    }
    std::string subject;
    Fetched keys;
    if (!source.empty()) {
      subject = "its source_profile " + quoted(source);
      keys = keys_of_source(name, source);
    } else {
      subject = "its credential_source " + quoted(kind);
      if (kind == "Environment") {
        keys = fetch_from_environment(cx_);
      } else if (kind == "EcsContainer") {
        keys = fetch_from_container(cx_);
      } else if (kind == "Ec2InstanceMetadata") {
        keys = fetch_from_metadata(cx_, MetadataUse::kNamed);
      } else {
        return Broken{
            "its credential_source is neither Environment nor EcsContainer nor "
            "Ec2InstanceMetadata"};
      }
    }
    if (const Absent* absent = std::get_if<Absent>(&keys)) {
      return Broken{subject + " gives no keys: " + absent->reason, absent->lack};
    }
    if (const Broken* broken = std::get_if<Broken>(&keys)) {
      return Broken{subject + " gives no keys: " + broken->reason, broken->lack};
    }
    return keys;
  }

  Fetched keys_of_source(const std::string& name, const std::string& source) {
    visited_.push_back(name);
    const ProfileSection* profile = files_.profile(source);
    if (profile == nullptr) return Broken{files_.why_missing(source)};
    note_secrets(*profile);
    bool again = std::find(visited_.begin(), visited_.end(), source) != visited_.end();
    // A profile may name itself, for the keys that stand beside its role.
    if (again && (source != name || !has_static_keys(*profile))) {
      return Broken{"the profiles name each other in a circle"};
    }
    if (has_static_keys(*profile)) return static_keys(source, *profile);
    if (profile->find("role_arn") != nullptr) return role(source, *profile);
    return own_keys(source, *profile);
  }

  FetchContext& cx_;
  const ProfileFiles& files_;
  const ProfileSection* asked_for_ = nullptr;
  std::vector<std::string> visited_;
};

}  // namespace

Fetched fetch_from_profile(FetchContext& cx) {
  Result<ProfileFiles> files = ProfileFiles::load(cx.surroundings);
  if (!files) return broken("", files.error());
  std::string name = profile_name(cx.surroundings, cx.options.profile);
  const ProfileSection* profile = files->profile(name);
  if (profile == nullptr) {
    std::string reason = files->why_missing(name);
    if (is_profile_asked_for(cx.surroundings, cx.options.profile)) return Broken{reason};
    return Absent{reason};
  }
  return ProfileResolver(cx, *files).resolve(name, *profile);
}

}  // namespace stint::store::dynamodb
