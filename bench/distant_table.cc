#include "bench/distant_table.h"

#include <utility>
#include <variant>

namespace stint::bench {

Alarm::Alarm() : thread_([this] { run(); }) {}

Alarm::~Alarm() {
  {
    std::lock_guard lock(mutex_);
    ended_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Alarm::call_at(Steady::time_point at, std::function<void()> function) {
  bool is_first = false;
  {
    std::lock_guard lock(mutex_);
    const auto added = due_.emplace(at, std::move(function));
    is_first = added == due_.begin();
  }
  if (is_first) changed_.notify_one();
}

void Alarm::run() {
  std::unique_lock lock(mutex_);
  while (!ended_) {
    if (due_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const Steady::time_point first = due_.begin()->first;
    if (first > Steady::now()) {
      changed_.wait_until(lock, first);
      continue;
    }
    const std::function<void()> function = std::move(due_.begin()->second);
    due_.erase(due_.begin());
    lock.unlock();
    function();
    lock.lock();
  }
}

/// Some calls on their way there and back. Owns itself.
class DistantTable::Journey final : public store::Completion {
 public:
  Journey(DistantTable& table, std::span<store::Call> calls, Steady::time_point deadline,
          store::Completion& completion)
      : table_(table), calls_(calls), deadline_(deadline), completion_(completion) {}

  void set_out() {
    table_.alarm_.call_at(table_.arrival(),
                          [this] { table_.table_->start(calls_, deadline_, *this); });
  }

  void answered() noexcept override {
    for (const store::Call& call : calls_) table_.count(call);
    if (table_.distance_.longest.count() == 0) return arrive();
    table_.alarm_.call_at(table_.arrival(), [this] { arrive(); });
  }

 private:
  void arrive() {
    store::Completion& completion = completion_;
    delete this;
    completion.answered();
  }

  DistantTable& table_;
  const std::span<store::Call> calls_;
  const Steady::time_point deadline_;
  store::Completion& completion_;
};

DistantTable::DistantTable(std::shared_ptr<store::Engine> table, Distance distance,
                           std::uint64_t seed)
    : table_(std::move(table)), distance_(distance), random_(seed) {}

TableCounts DistantTable::counts() const {
  return {requests_.load(), failed_conditions_.load(), troubles_.load()};
}

const store::Capabilities& DistantTable::capabilities() const noexcept {
  return table_->capabilities();
}

void DistantTable::execute(std::span<store::Call> calls) noexcept {
  constexpr std::chrono::seconds kPatience{60};
  execute_until(calls, Steady::now() + kPatience);
}

void DistantTable::execute_until(std::span<store::Call> calls,
                                 Steady::time_point deadline) noexcept {
  const bool delays = distance_.longest.count() > 0;
  if (delays) std::this_thread::sleep_until(arrival());
  table_->execute_until(calls, deadline);
  for (const store::Call& call : calls) count(call);
  if (delays) std::this_thread::sleep_until(arrival());
}

void DistantTable::start(std::span<store::Call> calls, Steady::time_point deadline,
                         store::Completion& completion) noexcept {
  auto* journey = new Journey(*this, calls, deadline, completion);
  if (distance_.longest.count() == 0) return table_->start(calls, deadline, *journey);
  journey->set_out();
}

Steady::time_point DistantTable::arrival() {
  const auto spread = static_cast<std::uint64_t>((distance_.longest - distance_.shortest).count());
  std::lock_guard lock(random_mutex_);
  return Steady::now() + distance_.shortest + std::chrono::microseconds(random_.below(spread + 1));
}

void DistantTable::count(const store::Call& call) {
  requests_.fetch_add(1, std::memory_order_relaxed);
  const store::Outcome outcome =
      std::visit([](const auto& reply) { return reply.outcome; }, call.reply);
  if (outcome == store::Outcome::kConditionFailed) {
    failed_conditions_.fetch_add(1, std::memory_order_relaxed);
  } else if (outcome != store::Outcome::kOk) {
    troubles_.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace stint::bench
