/* The content-addressed folder below STORAGE_DIR: exports/ab/abcdef…/NAME, where the folder's name is the hash of
 * the file's content. Files never change. An older Husk stored them as exports/ab/cdef….ext. Everything here blocks:
 * call it only in worker jobs. */
#ifndef HUSK_MANAGER_FILES_VAULT_H
#define HUSK_MANAGER_FILES_VAULT_H

#include "base/fail.h"
#include "manager/files/digest.h"

#define EXPORT_UNREADABLE_HINT                                                                                         \
	"Export it again. If STORAGE_DIR was changed since it was exported, set it to what it was."

/* The caller owns the results of these functions. */
char *vault_folder(const char *storage_dir);
/* The path of content with this hash, in a file of this name. An invalid hash or name gives a path that does not exist. */
char *vault_path(const char *storage_dir, const char *hash, const char *file);
/* The path that an older Husk used; extension: for example ".csv", or "". */
char *vault_old_path(const char *storage_dir, const char *hash, const char *extension);

/* A file that is being written. If its server dies, the next vault_new() removes it. */
struct vault_file;
struct vault_file *vault_new(const char *storage_dir, struct fail *f);
/* Removes the file unless it was kept. Accepts NULL, returns NULL. */
struct vault_file *vault_free(struct vault_file *v);
int vault_fd(const struct vault_file *v);
/* -1 with f if less than `floor` bytes of the disk would stay free after n more were written; floor 0 = no limit. */
int vault_check_floor(const struct vault_file *v, uint64_t floor, uint64_t n, struct fail *f);
#define VAULT_FULL_HINT                                                                                                \
	"Exports must be deleted first: the user lists them with `husk exports` and deletes one with `husk exports --delete ID`."
/* Syncs the file, moves it to its place, and syncs the folders. Returns 0, or -1 with f. */
int vault_keep(struct vault_file *v, const char *hash, const char *file, struct fail *f);

#endif
