// Blocks of memory that a thread uses again: for sizes that come and go all the time and that the
// general allocator is slow at.
#ifndef STINT_BASE_RECYCLED_MEMORY_H_
#define STINT_BASE_RECYCLED_MEMORY_H_

#include <cstddef>
#include <new>
#include <utility>

namespace stint {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define STINT_ADDRESS_SANITIZER 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define STINT_ADDRESS_SANITIZER 1
#endif
#ifdef STINT_ADDRESS_SANITIZER
/// A block that is used again would hide from the sanitizer that it was released.
inline constexpr bool kRecyclesMemory = false;
#else
inline constexpr bool kRecyclesMemory = true;
#endif

/// A thread's free blocks by size, in steps of `kStep` bytes below `kSlots` steps; larger ones go
/// to the general allocator. A thread keeps at most `kKeptBytes` of each size, so that one that
/// only releases what others allocated does not hoard; they go back when the thread ends. `Use`
/// tells pools apart.
template <typename Use, std::size_t kStep, std::size_t kSlots, std::size_t kKeptBytes>
class RecycledMemory {
 public:
  static void* allocate(std::size_t size) {
    std::size_t slot = slot_of(size);
    if (slot >= kSlots || !kRecyclesMemory) return ::operator new(size);
    if (!closed()) {
      List& list = lists().of[slot];
      if (Block* block = list.head) {
        list.head = block->next;
        --list.count;
        return block;
      }
    }
    return ::operator new((slot + 1) * kStep);
  }

  /// `size` as it was allocated, possibly by another thread.
  static void release(void* memory, std::size_t size) noexcept {
    std::size_t slot = slot_of(size);
    if (slot < kSlots && kRecyclesMemory && !closed()) {
      List& list = lists().of[slot];
      if ((list.count + 1) * (slot + 1) * kStep <= kKeptBytes) {
        list.head = new (memory) Block{list.head};
        ++list.count;
        return;
      }
    }
    ::operator delete(memory);
  }

 private:
  static std::size_t slot_of(std::size_t size) { return (size - 1) / kStep; }

  struct Block {
    Block* next;
  };
  static_assert(sizeof(Block) <= kStep);
  struct List {
    Block* head = nullptr;
    std::size_t count = 0;
  };
  struct Lists {
    List of[kSlots];
    ~Lists() {
      closed() = true;
      for (List& list : of) {
        while (list.head != nullptr) ::operator delete(std::exchange(list.head, list.head->next));
      }
    }
  };
  /// True once the thread's lists are gone: objects of static storage may still end after that.
  static bool& closed() {
    static thread_local bool is_closed = false;
    return is_closed;
  }
  static Lists& lists() {
    static thread_local Lists lists;
    return lists;
  }
};

}  // namespace stint

#endif  // STINT_BASE_RECYCLED_MEMORY_H_
