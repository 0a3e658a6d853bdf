/* Cells typed at earlier prompts, in a file of the state folder that only its user can read. */
#ifndef HUSK_CLI_REPL_HISTORY_H
#define HUSK_CLI_REPL_HISTORY_H

#include "base/defs.h"

#define HISTORY_ENTRIES_MAX 1000
#define HISTORY_ENTRY_BYTES_MAX (16u << 10)
#define HISTORY_BYTES_MAX (1u << 20)

/* state_dir/repl/NAME.history, owned by the caller. Creates the folder. NULL and errno on failure. */
char *history_path(const char *state_dir, const char *name);
/* Oldest first, at most HISTORY_ENTRIES_MAX; several lines are one entry. */
void history_read(const char *path, void (*fn)(void *ctx, const char *entry), void *ctx);
/* An entry that is too long is not kept. 0 or -errno. */
int history_add(const char *path, const char *entry);

#endif
