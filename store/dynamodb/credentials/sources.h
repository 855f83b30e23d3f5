// The places that credentials come from. Each function asks one of them, and blocks.
#ifndef STINT_STORE_DYNAMODB_CREDENTIALS_SOURCES_H_
#define STINT_STORE_DYNAMODB_CREDENTIALS_SOURCES_H_

#include <cstdint>

#include "stint/result.h"
#include "store/dynamodb/credentials/fetch.h"

namespace stint::store::dynamodb {

/// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN. No request.
Fetched fetch_from_environment(FetchContext& cx);

/// AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_SESSION_NAME: a role by the token that a
/// cluster gives to a program. One request to the token service.
Fetched fetch_from_web_identity(FetchContext& cx);

/// The profile of `cx.options`, AWS_PROFILE or "default": its keys, its program, or the role it
/// names, with the keys of another profile or source. One request for each role.
///
/// A profile with a role is asked for the role first, with web identity before a source profile; as
/// a source of another it gives its own keys first, so that it may name itself as its source.
Fetched fetch_from_profile(FetchContext& cx);

/// AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI, with AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE
/// or AWS_CONTAINER_AUTHORIZATION_TOKEN. One request.
Fetched fetch_from_container(FetchContext& cx);

/// Whether somebody set the metadata service up as a source, or it is what is left to try.
enum class MetadataUse : std::uint8_t { kLastResort, kNamed };

/// The metadata service of an instance, version 2 only. Three requests, with short deadlines, as on
/// most machines nobody answers. That is `Absent` and lasts: such a machine has no such service. It
/// may pass where the service is `kNamed` or a variable says where it is, and where it has answered
/// before, which is noted in `cx`.
Fetched fetch_from_metadata(FetchContext& cx, MetadataUse use);

/// All of them in the order of `standard_credentials`, up to the first that has credentials or is
/// broken. Names every source that was asked, and why it gave nothing. Errors: `kUnavailable` when
/// the lack of one may pass; otherwise `kAccessDenied`.
Result<Credentials> fetch_credentials(FetchContext& cx);

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_CREDENTIALS_SOURCES_H_
