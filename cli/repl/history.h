/* Cells typed at earlier prompts, in a file of the state folder that only its user can read. */
#ifndef HUSK_CLI_REPL_HISTORY_H
#define HUSK_CLI_REPL_HISTORY_H

#include "base/defs.h"

#define HISTORY_ENTRIES_MAX 1000
#define HISTORY_ENTRY_BYTES_MAX (16u << 10)
#define HISTORY_BYTES_MAX (1u << 20)

/* state_dir/repl/NAME.history, owned by the caller. Creates the folder. NULL and errno on failure. */
char *history_path(const char *state_dir, const char *name);
/* Calls fn for the latest HISTORY_ENTRIES_MAX entries, oldest first. An entry may have several lines. */
void history_read(const char *path, void (*fn)(void *ctx, const char *entry), void *ctx);
/* Adds an entry, unless it is too long. Returns 0 or -errno. */
int history_add(const char *path, const char *entry);

#endif
