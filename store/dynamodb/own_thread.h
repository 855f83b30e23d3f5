// Threads of the library's own.
#ifndef STINT_STORE_DYNAMODB_OWN_THREAD_H_
#define STINT_STORE_DYNAMODB_OWN_THREAD_H_

#include <functional>
#include <thread>

namespace stint::store::dynamodb {

/// Starts a thread on which no signal is handled: those are for the program's own threads. Tools
/// show it under `name`, which has at most 15 characters. Throws `std::system_error` when there can
/// be no further thread.
std::thread start_own_thread(const char* name, std::function<void()> run);

}  // namespace stint::store::dynamodb

#endif  // STINT_STORE_DYNAMODB_OWN_THREAD_H_
