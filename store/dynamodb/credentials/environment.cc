#include <utility>

#include "store/dynamodb/credentials/sources.h"
#include "store/dynamodb/credentials/token_service.h"

namespace stint::store::dynamodb {

Fetched fetch_from_environment(FetchContext& cx) {
  Credentials credentials;
  credentials.access_key_id = cx.surroundings.variable("AWS_ACCESS_KEY_ID");
  credentials.secret_access_key = cx.surroundings.variable("AWS_SECRET_ACCESS_KEY");
  credentials.session_token = cx.surroundings.variable("AWS_SESSION_TOKEN");
  cx.secrets.add(credentials.secret_access_key);
  cx.secrets.add(credentials.session_token);
  if (credentials.access_key_id.empty() && credentials.secret_access_key.empty()) {
    return Absent{"AWS_ACCESS_KEY_ID is not set"};
  }
  if (credentials.access_key_id.empty()) {
    return Broken{"AWS_SECRET_ACCESS_KEY is set, and AWS_ACCESS_KEY_ID is not"};
  }
  if (credentials.secret_access_key.empty()) {
    return Broken{"AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not"};
  }
  if (Status usable = check_credentials(credentials, cx.surroundings.now()); !usable) {
    return Broken{"its variables hold " + usable.error().reason()};
  }
  credentials.source = "environment";
  return credentials;
}

Fetched fetch_from_web_identity(FetchContext& cx) {
  std::string token_file = cx.surroundings.variable("AWS_WEB_IDENTITY_TOKEN_FILE");
  RoleRequest role;
  role.role_arn = cx.surroundings.variable("AWS_ROLE_ARN");
  role.session_name = cx.surroundings.variable("AWS_ROLE_SESSION_NAME");
  // Other settings use the name of a role, too; the file is what makes it this source.
  if (token_file.empty()) return Absent{"AWS_WEB_IDENTITY_TOKEN_FILE is not set"};
  if (role.role_arn.empty()) {
    return Broken{"AWS_WEB_IDENTITY_TOKEN_FILE is set, and AWS_ROLE_ARN is not"};
  }
  Result<ProfileFiles> files = ProfileFiles::load(cx.surroundings);
  if (!files) return broken("", files.error());
  const ProfileSection* profile = files->profile(profile_name(cx.surroundings, cx.options.profile));
  Result<TokenService> service = token_service(cx, *files, profile);
  if (!service) return broken("", service.error());
  Result<Credentials> credentials = assume_role_with_web_identity(cx, *service, role, token_file);
  if (credentials) credentials->source = "web identity for role " + role.role_arn;
  return fetched(std::move(credentials));
}

}  // namespace stint::store::dynamodb
