/* The command line of husk-client: one table for --help, husk-client(1) and the parser. */
#ifndef HUSK_KERNELS_CLIENT_HELP_H
#define HUSK_KERNELS_CLIENT_HELP_H

#include "base/help.h"

enum client_verb { CLIENT_INIT, CLIENT_ATTACH, CLIENT_WAIT, N_CLIENT_VERBS };

/* The options of init, in the order of its table. */
enum init_option {
	INIT_LEASE,
	INIT_FIRST_LEASE,
	INIT_LIFETIME,
	INIT_HOME_SIZE,
	INIT_DISK_FLOOR,
	INIT_PIDS,
	INIT_FILE_SIZE,
	INIT_GRACE,
	INIT_START,
	INIT_CHECKPOINTS,
	INIT_CHECKPOINTS_IDLE,
	INIT_INSTALL,
	INIT_MANIFEST,
	INIT_CGROUP,
	INIT_HELP,
	N_INIT_OPTIONS,
};

enum attach_option { ATTACH_BESIDE, ATTACH_HELP, N_ATTACH_OPTIONS };

/* Its verbs are indexed by enum client_verb. */
extern const struct help_program client_help;

#endif
