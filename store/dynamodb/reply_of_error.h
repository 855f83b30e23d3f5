// What the service's errors mean for the request that met them.
#ifndef STINT_STORE_DYNAMODB_REPLY_OF_ERROR_H_
#define STINT_STORE_DYNAMODB_REPLY_OF_ERROR_H_

#include <string>
#include <string_view>

#include "store/dynamodb/wire.h"
#include "store/request.h"

namespace stint::store::dynamodb {

/// Whether a write that was answered so may be in the table nevertheless.
bool may_have_applied(const ServiceError& error);

/// One sentence for people: what it means, the service's code and text. `place` tells
/// which table, "table limits in eu-central-1", where the trouble is with that.
std::string in_words(const ServiceError& error, std::string_view place);

/// Gives the call the reply that belongs to its request: an outcome, the old image of a failed
/// condition, and of a cancelled transaction a reason for each member, where `outcome` is that of
/// the first that failed. A transaction whose token is in progress is `kUnknown`: that is an
/// earlier attempt of our own.
///
/// The service does not say what a failed condition costs. It is counted as the embedded engines
/// count it, by the old item as far as that is told.
void answer_with(const ServiceError& error, std::string_view place, Call& call);

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_REPLY_OF_ERROR_H_
