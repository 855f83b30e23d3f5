#include "store/dynamodb/dynamodb_engine.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "store/dynamodb/reply_of_error.h"
#include "store/dynamodb/retry.h"
#include "store/dynamodb/wire.h"
#include "store/item_rules.h"
#include "store/reply.h"

namespace stint::store::dynamodb {
namespace {

/// For callers that name no deadline: tools that look at a whole store.
constexpr std::chrono::seconds kPatience{60};

/// Counts the answers to the calls that were handed over together.
class Group {
 public:
  Group(std::size_t calls, Completion& completion) : left_(calls), completion_(completion) {}
  void answered() noexcept {
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) completion_.answered();
  }

 private:
  std::atomic<std::size_t> left_;
  Completion& completion_;
};

/// Blocks a thread until an answer is there.
class Waiter final : public Completion {
 public:
  void answered() noexcept override {
    std::lock_guard lock(mutex_);
    answered_ = true;
    // Under the lock: the waiting thread destroys this.
    changed_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return answered_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool answered_ = false;
};

class Table final : public TableEngine {
 public:
  Table(std::shared_ptr<HttpClient> http, std::shared_ptr<Client> client, std::string table,
        std::string location)
      : http_(std::move(http)),
        client_(std::move(client)),
        table_(std::move(table)),
        location_(std::move(location)) {
    capabilities_.partition_write_ceiling = 1000;
    capabilities_.shared_writers = true;
    capabilities_.burst_tolerance_divisor = 16;
    capabilities_.index_layout = IndexLayout::kCompatible;
  }

  const Capabilities& capabilities() const noexcept override { return capabilities_; }
  void set_layout(IndexLayout layout) override { capabilities_.index_layout = layout; }

  void execute(std::span<Call> calls) noexcept override {
    execute_until(calls, Steady::now() + kPatience);
  }

  bool may_block() const noexcept override { return !client_->is_needed_thread(); }

  void execute_until(std::span<Call> calls, Steady::time_point deadline) noexcept override {
    if (!may_block()) {
      for (Call& call : calls) {
        set_trouble(start_matching_reply(call), Outcome::kInvalid,
                    "a callback must not wait for the store; use the asynchronous calls");
      }
      return;
    }
    Waiter waiter;
    start(calls, deadline, waiter);
    waiter.wait();
  }

  void start(std::span<Call> calls, Steady::time_point deadline,
             Completion& completion) noexcept override;

  Result<EngineState> state() override {
    EngineState state;
    state.kind = "dynamodb";
    state.location = location_;
    state.durability = "the service's: kept in several places before a write is acknowledged";
    return state;
  }

  std::optional<TransportStats> transport_stats() const override {
    TransportStats stats = client_->stats();
    stats.unknown += unread_writes_.load(std::memory_order_relaxed);
    return stats;
  }
  /// Notes a write whose reply is there and cannot be read.
  void count_unread_write() { unread_writes_.fetch_add(1, std::memory_order_relaxed); }

  Client& client() { return *client_; }
  HttpClient& http() { return *http_; }
  const std::string& name() const { return table_; }
  const std::string& location() const { return location_; }
  /// Whether the index holds keys only, while a query of it is to answer whole items.
  bool lacks_items(Index index) const {
    return capabilities_.index_layout == IndexLayout::kKeysOnly &&
           (index == Index::kGsi1 || index == Index::kGsi2);
  }
  Jitter& jitter() { return jitter_; }

 private:
  std::shared_ptr<HttpClient> http_;
  std::shared_ptr<Client> client_;
  std::string table_;
  std::string location_;
  Capabilities capabilities_;
  Jitter jitter_;
  std::atomic<std::uint64_t> unread_writes_{0};
};

/// One call on its way. Kept alive by whatever is to go on with it.
class Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(Table& table, Call& call, Steady::time_point deadline, std::shared_ptr<Group> group)
      : table_(table), call_(call), deadline_(deadline), group_(std::move(group)) {}

  void begin() {
    start_matching_reply(call_);
    send();
  }
  /// Has `later` wait until this has ended. Before either begins.
  void precede(const std::shared_ptr<Exchange>& later) {
    later->waits_for_.fetch_add(1, std::memory_order_relaxed);
    followers_.push_back(later);
  }
  /// One of those that it waited for has ended; the last one begins it.
  void one_less() {
    if (waits_for_.fetch_sub(1, std::memory_order_acq_rel) == 1) begin();
  }

 private:
  void send() {
    WireRequest request = write_request(call_.request, table_.name(), open_keys_);
    may_have_written_ = request.writes;
    // The service recognises a transaction that it has carried out by its token.
    const auto* const* transaction = std::get_if<const TransactRequest*>(&call_.request);
    Effect effect = !request.writes                                   ? Effect::kRead
                    : transaction && !(*transaction)->token().empty() ? Effect::kTokenWrite
                                                                      : Effect::kWrite;
    table_.client().start(
        request.operation, std::move(request.body), effect, deadline_,
        [self = shared_from_this()](CallResult result) { self->take(std::move(result)); });
  }

  void take(CallResult result) {
    if (const auto* trouble = std::get_if<CallTrouble>(&result)) {
      take_trouble(*trouble);
      return end();
    }
    Status read = read_reply(call_.request, std::get<std::string>(result), call_.reply, open_keys_);
    if (!read) {
      // The service did what was asked; what it said of it cannot be read.
      if (may_have_written_) table_.count_unread_write();
      ReplyBase& reply = start_matching_reply(call_);
      set_trouble(reply, may_have_written_ ? Outcome::kUnknown : Outcome::kUnavailable,
                  "the answer of the service cannot be read: " + read.error().reason());
      return end();
    }
    if (auto* batch = std::get_if<BatchGetReply>(&call_.reply)) {
      if (!batch->unprocessed.empty()) return ask_again(*batch);
    }
    if (const auto* const* query = std::get_if<const QueryRequest*>(&call_.request)) {
      if (table_.lacks_items((*query)->index())) return fetch_items();
    }
    end();
  }

  void take_trouble(const CallTrouble& trouble) {
    auto* batch = std::get_if<BatchGetReply>(&call_.reply);
    BatchGetReply before = batch ? std::move(*batch) : BatchGetReply();
    answer_trouble(trouble);
    if (!batch) return;
    // What a batch has read before stays read, and paid for.
    auto& reply = std::get<BatchGetReply>(call_.reply);
    reply.cost += before.cost;
    reply.images = std::move(before.images);
  }

  void answer_trouble(const CallTrouble& trouble) {
    // An earlier attempt may have been applied, whatever the last one was told.
    bool unknown = may_have_written_ && trouble.maybe_applied;
    if (trouble.service && !unknown) return answer_with(*trouble.service, table_.location(), call_);
    set_trouble(start_matching_reply(call_),
                unknown                  ? Outcome::kUnknown
                : trouble.no_credentials ? Outcome::kDenied
                                         : Outcome::kUnavailable,
                trouble.message);
  }

  /// A part of a batch was left out by the service, to be asked for after a pause.
  void ask_again(BatchGetReply& reply) {
    open_keys_ = reply.unprocessed;
    Steady::time_point at =
        Steady::now() + table_.jitter().draw(longest_pause(kThrottledPause, ++repeats_));
    if (at >= deadline_) {
      set_trouble(reply, Outcome::kThrottled,
                  "the service left " + std::to_string(open_keys_.size()) +
                      " keys of a batch unread until the deadline");
      return end();
    }
    reply.unprocessed.clear();
    table_.http().call_at(at, [self = shared_from_this()] { self->send(); });
  }

  void fetch_items();

  void end() {
    // Afterwards the calls may be gone, but not those of followers, which are not answered yet.
    std::vector<std::shared_ptr<Exchange>> followers = std::move(followers_);
    group_->answered();
    for (const std::shared_ptr<Exchange>& follower : followers) follower->one_less();
  }

  Table& table_;
  Call& call_;
  Steady::time_point deadline_;
  std::shared_ptr<Group> group_;
  bool may_have_written_ = false;
  std::vector<std::size_t> open_keys_;  // of a batch: what is still to be asked for; empty: all
  int repeats_ = 0;                     // of a batch
  std::vector<std::shared_ptr<Exchange>> followers_;
  std::atomic<int> waits_for_{1};  // itself, until all are known
};

/// The items of the keys that a query answered, in their place. Deletes itself.
class ItemFetch final : public Completion {
 public:
  ItemFetch(QueryReply& reply, std::function<void()> done) : reply_(reply), done_(std::move(done)) {
    keys_.reserve(reply.images.size());
    for (const ImagePtr& image : reply.images) keys_.push_back(image->key());
    std::span<const Key> all = keys_;
    for (std::size_t at = 0; at < all.size(); at += kMaxItemsPerRequest) {
      requests_.emplace_back(all.subspan(at, std::min(kMaxItemsPerRequest, all.size() - at)),
                             Consistency::kEventual);
    }
    calls_.resize(requests_.size());
    for (std::size_t i = 0; i < calls_.size(); ++i) calls_[i].request = &requests_[i];
  }

  std::span<Call> calls() { return calls_; }

  void answered() noexcept override {
    std::unique_ptr<ItemFetch> self(this);
    reply_.images.clear();
    for (Call& call : calls_) {
      auto& part = std::get<BatchGetReply>(call.reply);
      reply_.cost += part.cost;
      if (part.outcome != Outcome::kOk && reply_.outcome == Outcome::kOk) {
        set_trouble(reply_, part.outcome, part.message);
      }
      // What was deleted since the index was read is left out.
      for (ImagePtr& image : part.images) {
        if (image) reply_.images.push_back(std::move(image));
      }
    }
    done_();
  }

 private:
  QueryReply& reply_;
  std::function<void()> done_;
  std::vector<Key> keys_;
  std::vector<BatchGetRequest> requests_;
  std::vector<Call> calls_;
};

void Exchange::fetch_items() {
  auto& reply = std::get<QueryReply>(call_.reply);
  if (reply.images.empty()) return end();
  auto* fetch = new ItemFetch(reply, [self = shared_from_this()] { self->end(); });
  table_.start(fetch->calls(), deadline_, *fetch);
}

/// The one item that a request is about; null where it is about several.
const Key* only_key(const RequestRef& request, std::optional<Key>& memory) {
  struct Visitor {
    std::optional<Key>& memory;
    const Key* operator()(const GetRequest* get) const { return &get->key(); }
    const Key* operator()(const UpdateRequest* update) const { return &update->key(); }
    const Key* operator()(const DeleteRequest* remove) const { return &remove->key(); }
    const Key* operator()(const PutRequest* put) const {
      return &memory.emplace(put->item()->key());
    }
    const Key* operator()(const BatchGetRequest*) const { return nullptr; }
    const Key* operator()(const TransactRequest*) const { return nullptr; }
    const Key* operator()(const QueryRequest*) const { return nullptr; }
    const Key* operator()(const ScanRequest*) const { return nullptr; }
  };
  return std::visit(Visitor{memory}, request);
}

/// Whether the second call has to wait for the first: perhaps both are about one item, and one of
/// them changes it.
bool must_follow(const Call& first, const Call& second) {
  std::optional<Key> first_memory;
  std::optional<Key> second_memory;
  if (!is_write(first.request) && !is_write(second.request)) return false;
  const Key* first_key = only_key(first.request, first_memory);
  const Key* second_key = only_key(second.request, second_memory);
  return first_key == nullptr || second_key == nullptr || *first_key == *second_key;
}

void Table::start(std::span<Call> calls, Steady::time_point deadline,
                  Completion& completion) noexcept {
  if (calls.empty()) return completion.answered();
  auto group = std::make_shared<Group>(calls.size(), completion);
  if (calls.size() == 1) {
    return std::make_shared<Exchange>(*this, calls.front(), deadline, std::move(group))->begin();
  }
  std::vector<std::shared_ptr<Exchange>> exchanges;
  exchanges.reserve(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    exchanges.push_back(std::make_shared<Exchange>(*this, calls[i], deadline, group));
    for (std::size_t earlier = 0; earlier < i; ++earlier) {
      if (must_follow(calls[earlier], calls[i])) exchanges[earlier]->precede(exchanges[i]);
    }
  }
  for (const std::shared_ptr<Exchange>& exchange : exchanges) exchange->one_less();
}

}  // namespace

std::shared_ptr<TableEngine> make_table_engine(std::shared_ptr<HttpClient> http,
                                               std::shared_ptr<Client> client, std::string table,
                                               std::string location) {
  return std::make_shared<Table>(std::move(http), std::move(client), std::move(table),
                                 std::move(location));
}

}  // namespace stint::store::dynamodb
