// Small helpers for filling replies, for whoever answers calls.
#ifndef STINT_STORE_REPLY_H_
#define STINT_STORE_REPLY_H_

#include <string>
#include <utility>
#include <variant>

#include "store/request.h"

namespace stint::store {

/// A fresh reply of the wanted type inside the call.
template <typename T>
T& start_reply(Call& call) {
  return call.reply.emplace<T>();
}

inline void set_trouble(ReplyBase& reply, Outcome outcome, std::string message) {
  reply.outcome = outcome;
  reply.message = std::move(message);
}

/// Gives the call the reply type that belongs to its request, and answers its common part.
inline ReplyBase& start_matching_reply(Call& call) {
  struct Visitor {
    Call& call;
    ReplyBase& operator()(const GetRequest*) const { return start_reply<GetReply>(call); }
    ReplyBase& operator()(const BatchGetRequest*) const { return start_reply<BatchGetReply>(call); }
    ReplyBase& operator()(const PutRequest*) const { return start_reply<WriteReply>(call); }
    ReplyBase& operator()(const UpdateRequest*) const { return start_reply<WriteReply>(call); }
    ReplyBase& operator()(const DeleteRequest*) const { return start_reply<WriteReply>(call); }
    ReplyBase& operator()(const TransactRequest*) const { return start_reply<TransactReply>(call); }
    ReplyBase& operator()(const QueryRequest*) const { return start_reply<QueryReply>(call); }
    ReplyBase& operator()(const ScanRequest*) const { return start_reply<ScanReply>(call); }
  };
  return std::visit(Visitor{call}, call.request);
}

}  // namespace stint::store

#endif  // STINT_STORE_REPLY_H_
