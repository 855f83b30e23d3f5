// Where services are, as far as environment and files say it.
#ifndef STINT_STORE_DYNAMODB_CREDENTIALS_LOCATION_H_
#define STINT_STORE_DYNAMODB_CREDENTIALS_LOCATION_H_

#include <string>
#include <string_view>

#include "stint/result.h"
#include "store/dynamodb/credentials.h"
#include "store/dynamodb/credentials/profile_files.h"

namespace stint::store::dynamodb {

/// AWS_REGION, AWS_DEFAULT_REGION, the profile's `region`; empty if none of them says it.
/// `profile` may be null. Errors: `kInvalidArgument` for what cannot be a region.
Result<std::string> configured_region(const Surroundings& surroundings,
                                      const ProfileSection* profile);

/// The endpoint of one service ("dynamodb", "sts"): AWS_ENDPOINT_URL_<SERVICE>, AWS_ENDPOINT_URL,
/// the profile's section of services, its `endpoint_url`; empty if none of them says it, or if
/// AWS_IGNORE_CONFIGURED_ENDPOINT_URLS or `ignore_configured_endpoint_urls` is true. Without "/" at
/// its end. Errors: `kInvalidArgument` for what is no address, saying where it stands.
Result<std::string> configured_endpoint(const Surroundings& surroundings, const ProfileFiles& files,
                                        const ProfileSection* profile, std::string_view service);

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_CREDENTIALS_LOCATION_H_
