// The security token service: keys of roles.
#ifndef STINT_STORE_DYNAMODB_CREDENTIALS_TOKEN_SERVICE_H_
#define STINT_STORE_DYNAMODB_CREDENTIALS_TOKEN_SERVICE_H_

#include <string>

#include "stint/result.h"
#include "store/dynamodb/credentials/fetch.h"
#include "store/dynamodb/credentials/profile_files.h"

namespace stint::store::dynamodb {

/// Where the service is asked.
struct TokenService {
  std::string endpoint;
  std::string region;  ///< That signatures are for.
};

/// The region's own endpoint, or another one that is configured. Without a region, and for old
/// regions where AWS_STS_REGIONAL_ENDPOINTS or `sts_regional_endpoints` is "legacy", the one
/// endpoint for all. `profile` may be null. Errors: `kInvalidArgument`.
Result<TokenService> token_service(const FetchContext& cx, const ProfileFiles& files,
                                   const ProfileSection* profile);

/// The role that is wanted.
struct RoleRequest {
  std::string role_arn;
  std::string session_name;  ///< Empty: one of our own.
  std::string external_id;   ///< Empty: none.
  std::string duration_s;    ///< 900 to 43200; empty: the service's default, an hour.
};

/// Asks for keys of a role, signing with those of `source`. Up to three requests. Errors,
/// with a clause that names the service and says what it answered: `kUnavailable` when it did not
/// answer or was in trouble, otherwise `kAccessDenied`.
Result<Credentials> assume_role(FetchContext& cx, const TokenService& service,
                                const RoleRequest& role, const Credentials& source);

/// The same by the token in `token_file`, which is read each time. No keys are needed.
Result<Credentials> assume_role_with_web_identity(FetchContext& cx, const TokenService& service,
                                                  const RoleRequest& role,
                                                  const std::string& token_file);

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_CREDENTIALS_TOKEN_SERVICE_H_
