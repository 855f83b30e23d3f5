// The commands, and what they share. To add one: write cli/commands/<name>.cc with a function
// `add_<name>_command`, declare it below and call it in run.cc. Completions and man pages are made
// from what it registers: name the type of a value FILE, DIR or STORE, or list the values, as in
// block|allow.
#ifndef STINT_CLI_COMMAND_H_
#define STINT_CLI_COMMAND_H_

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "base/timezone.h"
#include "cli/render.h"
#include "cli/store_address.h"
#include "cli/terminal.h"
#include "stint/limiter.h"
#include "stint/result.h"
#include "stint/store.h"
#include "stint/time.h"

namespace stint::cli {

/// The namespace of those who name none.
inline constexpr const char* kDefaultNamespace = "default";

/// What to do with a store that does not exist.
enum class IfMissing {
  kFail,    ///< `kNotFound`: for commands that only make sense on what is there.
  kCreate,  ///< Create it: for commands that configure.
};

/// The options that every command has, where output goes, and the command that was chosen.
///
/// A command's registration function gives its subcommand a callback that stores `action`; `run`
/// calls the action once the whole command line has been understood. Within an action the order is:
/// check every argument, then open the store. So that bad input writes nothing.
class Globals {
 public:
  Globals(std::ostream& out_stream, std::ostream& err_stream, Terminal out_terminal)
      : out(out_stream), err(err_stream), terminal(out_terminal) {}

  std::ostream& out;
  /// Errors, warnings and progress for people.
  std::ostream& err;
  /// What `out` can show.
  Terminal terminal;

  /// One JSON object on `out` instead of text.
  bool json = false;
  /// --store as it was given, and what it means.
  std::string store_name;
  StoreAddress store_address = InMemory{};
  /// What an acknowledged write to a directory survives.
  Durability durability = Durability::kProcess;
  std::string name_space = kDefaultNamespace;
  /// The instant of --now, if given: commands act as if the clock stood there.
  std::optional<TimePoint> fixed_now;
  /// Whether changes leave audit events also where they need not, and on whose behalf.
  bool audit = false;
  std::string principal;
  /// The zone of --tz or TZ, if given.
  std::optional<TimeZone> zone;

  /// Shown to people after an error: what would have been right.
  std::string hint;

  /// Runs the chosen command. The result is the exit code; an error is reported by `run`, as text
  /// or as JSON, with the exit code that belongs to it.
  std::function<Result<int>()> action;

  /// The instant at which the command happens: `fixed_now`, or the system clock when first asked.
  /// All that a command decides and shows goes by this one reading, so that what is shown is what
  /// was decided.
  TimePoint now();
  /// The store of --store. One in memory is created empty; a table is never created.
  Result<Store> open_store(IfMissing if_missing);
  /// The same with options of the command's own.
  Result<Store> open_store(const StoreOptions& options);
  /// The table of --store, for commands about tables. Errors: `kInvalidArgument`.
  Result<DynamoDbOptions> table_options() const;
  /// A limiter of --namespace over the store, with a clock that stands at `now`.
  Result<Limiter> open_limiter(IfMissing if_missing);
  /// The same for commands that only read or remove: a namespace that is not there is `kNotFound`
  /// and stays so. In a store of one process the namespace "default" counts as there from the
  /// beginning.
  Result<Limiter> open_reader();
  /// The same as `open_limiter` over an opened store.
  Limiter make_limiter(Store store, bool register_name_space = true);
  /// How to show statuses of `limiter`: in the reader's zone, else in each limit's own.
  Viewpoint view(Limiter& limiter, const std::vector<LimitStatus>& statuses);

 private:
  std::unique_ptr<Clock> clock_;
};

/// A subcommand whose global options may also follow its own. `example` is shown by --help.
CLI::App* add_subcommand(CLI::App& app, const std::string& name, const std::string& description,
                         const std::string& example);

/// Has the command, once chosen, run with what its options were given. They are filled in by then.
template <typename Arguments>
void set_action(CLI::App& command, std::shared_ptr<Arguments> arguments, Globals& globals,
                Result<int> (*run)(const Arguments&, Globals&)) {
  command.callback([arguments, &globals, run] {
    globals.action = [arguments, &globals, run] { return run(*arguments, globals); };
  });
}

/// An option that takes one text, which must not be empty.
CLI::Option* add_text_option(CLI::App& command, const std::string& name, std::string& value,
                             const std::string& type_name, const std::string& description);

/// A repeatable option of the form LIMIT=N. Several may follow one name, or stand in one argument
/// with commas between; positional arguments may follow.
CLI::Option* add_amounts_option(CLI::App& command, const std::string& name,
                                std::vector<std::string>& values, const std::string& description);

/// Reads LIMIT=N arguments. Errors: `kInvalidArgument` with `field` for a malformed one and for a
/// limit given twice.
Result<std::vector<Consume>> parse_amounts(const std::string& field,
                                           const std::vector<std::string>& values);

/// Tells on the error stream why a listing leaves records out.
void report_left_out(Globals& globals, const std::vector<std::string>& reasons);

/// The ids that most commands take. Errors: `kInvalidArgument`.
Status check_target(const std::string& entity, const std::string& resource);

void add_acquire_command(CLI::App& app, Globals& globals);
void add_audit_command(CLI::App& app, Globals& globals);
void add_available_command(CLI::App& app, Globals& globals);
void add_explain_command(CLI::App& app, Globals& globals);
void add_entity_command(CLI::App& app, Globals& globals);
void add_limits_command(CLI::App& app, Globals& globals);
void add_namespace_command(CLI::App& app, Globals& globals);
void add_table_command(CLI::App& app, Globals& globals);
void add_doctor_command(CLI::App& app, Globals& globals);

}  // namespace stint::cli

#endif  // STINT_CLI_COMMAND_H_
