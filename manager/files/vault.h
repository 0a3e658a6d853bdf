/* The content-addressed folder below STORAGE_DIR: exports/ab/abcdef…/NAME, in a folder named by the hash of what the file holds, never
 * changed. Older ones are exports/ab/cdef….ext. Everything here blocks: for base/work only. */
#ifndef HUSK_MANAGER_FILES_VAULT_H
#define HUSK_MANAGER_FILES_VAULT_H

#include "base/fail.h"
#include "manager/files/digest.h"

#define EXPORT_UNREADABLE_HINT                                                                                         \
	"Export it again. If STORAGE_DIR was changed since it was exported, set it to what it was."

/* All of these are the caller's. */
char *vault_folder(const char *storage_dir);
/* Where content of this hash is, in a file of this name. What is not a hash, or not the name of a file, names nothing. */
char *vault_path(const char *storage_dir, const char *hash, const char *file);
/* Where an older Husk has put it; extension is ".csv" or "". */
char *vault_old_path(const char *storage_dir, const char *hash, const char *extension);

/* A file that is being filled. If its server dies it goes away with the next one that is made. */
struct vault_file;
struct vault_file *vault_new(const char *storage_dir, struct fail *f);
/* Removes it unless it was kept. Accepts NULL, returns NULL. */
struct vault_file *vault_free(struct vault_file *v);
int vault_fd(const struct vault_file *v);
/* Synced, in its place, and its place synced. 0, or -1 with f filled. */
int vault_keep(struct vault_file *v, const char *hash, const char *file, struct fail *f);

#endif
