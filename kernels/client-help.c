#include "kernels/client-help.h"

#include "kernels/protocol.h"
#include "kernels/system/limits.h"

static const struct help_option init_options[] = {
	[INIT_LEASE] = { "lease", "S",
			 "End after S seconds without a frame from a controller (300). A claim sets a new value." },
	[INIT_FIRST_LEASE] = { "first-lease", "S",
			       "Until the first frame from a controller, the lease is at least S seconds (0)." },
	[INIT_LIFETIME] = { "lifetime", "S",
			    "End S seconds after the start; 0 = never (0). A claim sets a new value." },
	[INIT_HOME_SIZE] = { "home-size", "N",
			     "Bytes that the home directory may use on disk; 0 = it is in memory and has no limit (0)." },
	[INIT_DISK_FLOOR] = { "disk-floor", "N", "Bytes that must stay free on the disk of the home directory (0)." },
	[INIT_PIDS] = { "pids", "N",
			"Processes and threads that the container's user may have; 0 = only the cgroup limits them (0). "
			"For engines that cannot set this limit. With it or --file-size, a process may also have only "
			"4096 open files, and no core dump." },
	[INIT_FILE_SIZE] = { "file-size", "N", "Bytes that a file may have; 0 = no limit (0)." },
	[INIT_GRACE] = { "grace-ms", "N",
			 "Kill the kernel this long after an interrupt that did not end the cell (5000)." },
	[INIT_START] = { "start-ms", "N", "Time that a kernel has to start and say hello (60000)." },
	[INIT_CHECKPOINTS] = { "checkpoints", "WHEN",
			       "Copies of the interpreter are made: auto = also without a request, request, off, gvisor = off, since it "
			       "cannot copy a process (auto)." },
	[INIT_CHECKPOINTS_IDLE] = { "checkpoints-idle-ms", "N",
				    "Drop the automatic ones when the session has been idle this long (60000)." },
	[INIT_INSTALL] = { "install", NULL,
			   "Only install packages into " DEPENDENCIES_PATH ": start no kernel, run no commands." },
	[INIT_MANIFEST] = { "manifest", "FILE", "The runtime's manifest (" RUNTIME_MANIFEST_PATH ")." },
	[INIT_CGROUP] = { "cgroup", "DIR", "Where the container's cgroup is mounted (" CGROUP_ROOT ")." },
	[INIT_HELP] = { "help", NULL, NULL }, /* shown with the program's own options */
	[N_INIT_OPTIONS] = { 0 },
};

static const struct help_option attach_options[] = {
	[ATTACH_BESIDE] = { "beside", NULL,
			    "PID 1 is in another container of the same pod: accept only a listener outside of this pid "
			    "namespace." },
	[ATTACH_HELP] = { "help", NULL, NULL },
	[N_ATTACH_OPTIONS] = { 0 },
};

static const struct help_pair init_codes[] = {
	{ "0", "A controller ended it, or the lease or the lifetime ended." },
	{ "70", "No kernel could be started." },
	{ "100", "Wrong usage." },
	{ "111", "The system failed." },
	{ "128+N", "Signal N from outside the container ended it." },
	{ 0 },
};

static const struct help_pair attach_codes[] = {
	{ "0", "The connection ended." },
	{ "1", "PID 1 is missing, is another program, or refused the connection; a message says which." },
	{ 0 },
};

static const struct help_pair wait_codes[] = {
	{ "0", "PID 1 has ended, or SIGTERM or SIGINT came." },
	{ "1", "There was no sign of PID 1 for 120 seconds." },
	{ 0 },
};

static const char *const init_usage[] = { "[OPTION]...", NULL };
static const char *const init_text[] = {
	"It starts the kernel and the shell, captures their output, keeps the order of runs, interrupts and kills "
	"them, and reaps orphans. It obeys signals from outside the container, and none from inside.",
	NULL,
};
static const char *const attach_usage[] = { "[--beside]", NULL };
static const char *const attach_text[] = {
	"Only user 65531 may connect, and code in a session cannot become it. There is one controller at a time.",
	NULL,
};

static const char *const wait_usage[] = { "[--help]", NULL };
static const char *const wait_text[] = {
	"It is the first process of the second container of a pod, where attach --beside runs. So the pod ends when the "
	"session ends.",
	NULL,
};

static const struct help_verb verbs[N_CLIENT_VERBS] = {
	[CLIENT_INIT] = {
		.name = "init",
		.summary = "Run as PID 1 of a container: kernel, shell and lease",
		.usage = init_usage,
		.text = init_text,
		.options = init_options,
		.codes = init_codes,
	},
	[CLIENT_ATTACH] = {
		.name = "attach",
		.summary = "Copy frames between PID 1 and standard input and output",
		.usage = attach_usage,
		.text = attach_text,
		.options = attach_options,
		.codes = attach_codes,
	},
	[CLIENT_WAIT] = {
		.name = "wait",
		.summary = "Wait in another container of the same pod until PID 1 has ended",
		.usage = wait_usage,
		.text = wait_text,
		.codes = wait_codes,
	},
};

static const struct help_option common_options[] = {
	{ "help", NULL, "Print this help and exit." },
	{ "version", NULL, "Print name, version and protocol version and exit." },
	{ 0 },
};
static const char *const text[] = {
	"husk-client is in every image of Husk. husk starts it, so there is no need to run it by hand.",
	NULL,
};
static const char *const groups[] = { "Verbs", NULL };

const struct help_program client_help = {
	.name = "husk-client",
	.summary = "PID 1 of every Husk container, and the bridge to it",
	.text = text,
	.groups = groups,
	.verbs = verbs,
	.n_verbs = N_CLIENT_VERBS,
	.options = common_options,
};
