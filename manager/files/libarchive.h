#ifndef HUSK_MANAGER_FILES_LIBARCHIVE_H
#define HUSK_MANAGER_FILES_LIBARCHIVE_H

#include <archive.h>
#include <archive_entry.h>

#include "base/fail.h"
#include "base/library.h"

/* libarchive, loaded when a directory is first exported, or imported from an export. */
#define LIBARCHIVE_FUNCTIONS(X)                                                                                        \
	X(archive_entry_copy_hardlink)                                                                                 \
	X(archive_entry_copy_pathname)                                                                                 \
	X(archive_entry_copy_symlink)                                                                                  \
	X(archive_entry_filetype)                                                                                      \
	X(archive_entry_free)                                                                                          \
	X(archive_entry_hardlink)                                                                                      \
	X(archive_entry_mtime)                                                                                         \
	X(archive_entry_mtime_nsec)                                                                                    \
	X(archive_entry_new)                                                                                           \
	X(archive_entry_pathname)                                                                                      \
	X(archive_entry_perm)                                                                                          \
	X(archive_entry_set_filetype)                                                                                  \
	X(archive_entry_set_gid)                                                                                       \
	X(archive_entry_set_mtime)                                                                                     \
	X(archive_entry_set_perm)                                                                                      \
	X(archive_entry_set_size)                                                                                      \
	X(archive_entry_set_uid)                                                                                       \
	X(archive_entry_size)                                                                                          \
	X(archive_entry_sparse_add_entry)                                                                              \
	X(archive_entry_sparse_next)                                                                                   \
	X(archive_entry_sparse_reset)                                                                                  \
	X(archive_entry_symlink)                                                                                       \
	X(archive_error_string)                                                                                        \
	X(archive_read_data_block)                                                                                     \
	X(archive_read_free)                                                                                           \
	X(archive_read_new)                                                                                            \
	X(archive_read_next_header)                                                                                    \
	X(archive_read_open_fd)                                                                                        \
	X(archive_read_support_format_tar)                                                                             \
	X(archive_write_close)                                                                                         \
	X(archive_write_data)                                                                                          \
	X(archive_write_free)                                                                                          \
	X(archive_write_header)                                                                                        \
	X(archive_write_new)                                                                                           \
	X(archive_write_open)                                                                                          \
	X(archive_write_set_bytes_in_last_block)                                                                       \
	X(archive_write_set_bytes_per_block)                                                                           \
	X(archive_write_set_format_pax)                                                                                \
	X(archive_write_set_options)

extern struct libarchive {
	LIBARCHIVE_FUNCTIONS(LIBRARY_POINTER)
} libarchive;

/* Call it before any of the functions, from any thread. */
int libarchive_load(struct fail *f);

#endif
