// Where recorded traffic comes from: a file, standard input, or text in memory.
#ifndef STINT_CLI_REPLAY_BYTE_SOURCE_H_
#define STINT_CLI_REPLAY_BYTE_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "stint/result.h"

namespace stint::cli {

/// Bytes in order, read once.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills at most `into.size()` bytes and returns how many; 0 at the end.
  /// Errors: `kInvalidArgument` when the input cannot be read.
  virtual Result<std::size_t> read(std::span<char> into) = 0;
  /// The total, where it is known before the end.
  virtual std::optional<std::uint64_t> size() const { return std::nullopt; }
};

/// Opens a file, or standard input for `-`.
/// Errors: `kInvalidArgument` when it cannot be opened; a directory fails at its first read.
Result<std::unique_ptr<ByteSource>> open_input(const std::string& path);

/// Text that is already in memory.
class TextSource final : public ByteSource {
 public:
  /// `piece` is the most that one read returns.
  explicit TextSource(std::string text, std::size_t piece = SIZE_MAX)
      : text_(std::move(text)), piece_(piece) {}
  Result<std::size_t> read(std::span<char> into) override;
  std::optional<std::uint64_t> size() const override { return text_.size(); }

 private:
  std::string text_;
  std::size_t piece_;
  std::size_t position_ = 0;
};

}  // namespace stint::cli

#endif  // STINT_CLI_REPLAY_BYTE_SOURCE_H_
