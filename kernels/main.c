/* husk-client: PID 1 of every container, and the bridge to it. */
#include "base/parse.h"
#include "kernels/client-help.h"
#include "kernels/control/attach.h"
#include "kernels/control/wait.h"
#include "kernels/init/init.h"
#include "kernels/protocol.h"
#include "kernels/system/limits.h"

#ifndef HUSK_VERSION
#define HUSK_VERSION "0"
#endif

#define FIRST_OPTION 256

#define NUMBER_MAX 1000000000ull
#define SIZE_LIMIT (1ull << 50)

/* Parses a number from min to 10^9 and multiplies it by scale. A size in bytes (scale 0) may be larger. */
static bool take_number(const char *name, const char *text, uint64_t min, uint64_t scale, uint64_t *ret)
{
	uint64_t value;
	if (parse_u64(text, &value) < 0 || value < min || value > (scale ? NUMBER_MAX : SIZE_LIMIT)) {
		fprintf(stderr, "husk-client: --%s: '%s' is not a number, or is out of range\n", name, text);
		return false;
	}
	*ret = scale ? value * scale : value;
	return true;
}

static bool take_mode(const char *text, enum checkpoints_mode *ret)
{
	static const char *const names[] = {
		[CHECKPOINTS_AUTO] = "auto",
		[CHECKPOINTS_REQUEST] = "request",
		[CHECKPOINTS_OFF] = "off",
		[CHECKPOINTS_GVISOR] = "gvisor",
	};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (streq(text, names[i])) {
			*ret = (enum checkpoints_mode)i;
			return true;
		}
	fprintf(stderr, "husk-client: --checkpoints: '%s' is not auto, request, off or gvisor\n", text);
	return false;
}

static bool take_option(struct init_options *o, int option)
{
	switch (option - FIRST_OPTION) {
	case INIT_LEASE:
		return take_number("lease", optarg, 1, 1000, &o->lease_ms);
	case INIT_FIRST_LEASE:
		return take_number("first-lease", optarg, 0, 1000, &o->first_lease_ms);
	case INIT_LIFETIME:
		return take_number("lifetime", optarg, 0, 1000, &o->lifetime_ms);
	case INIT_GRACE:
		return take_number("grace-ms", optarg, 1, 1, &o->grace_ms);
	case INIT_START:
		return take_number("start-ms", optarg, 1, 1, &o->start_ms);
	case INIT_CHECKPOINTS:
		return take_mode(optarg, &o->checkpoints);
	case INIT_CHECKPOINTS_IDLE:
		return take_number("checkpoints-idle-ms", optarg, 1, 1, &o->checkpoints_idle_ms);
	case INIT_HOME_SIZE:
		return take_number("home-size", optarg, 0, 0, &o->home_size);
	case INIT_DISK_FLOOR:
		return take_number("disk-floor", optarg, 0, 0, &o->disk_floor);
	case INIT_PIDS:
		return take_number("pids", optarg, 0, 1, &o->pids);
	case INIT_FILE_SIZE:
		return take_number("file-size", optarg, 0, 0, &o->file_size);
	case INIT_INSTALL:
		o->install = true;
		return true;
	case INIT_MANIFEST:
		o->manifest = optarg;
		return true;
	case INIT_CGROUP:
		o->cgroup = optarg;
		return true;
	default:
		return false;
	}
}

/* Also counts what getopt_long() has not seen, if it was not called. */
static bool takes_no_more(const char *verb, int argc, char **argv)
{
	if (optind < argc)
		fprintf(stderr, "husk-client: %s takes no argument '%s'\n", verb, argv[optind]);
	return optind >= argc;
}

static int run_init(int argc, char **argv)
{
	struct init_options o = {
		.lease_ms = 300000,
		.grace_ms = 5000,
		.start_ms = 60000,
		.checkpoints_idle_ms = 60000,
		.manifest = RUNTIME_MANIFEST_PATH,
		.cgroup = CGROUP_ROOT,
	};
	const struct help_verb *verb = &client_help.verbs[CLIENT_INIT];
	struct option long_options[N_INIT_OPTIONS + 1];
	help_long_options(verb->options, FIRST_OPTION, long_options);
	for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
		if (option == FIRST_OPTION + INIT_HELP) {
			help_print_verb(stdout, &client_help, verb);
			return 0;
		}
		if (!take_option(&o, option))
			return INIT_EXIT_USAGE;
	}
	return takes_no_more("init", argc, argv) ? init_run(&o) : INIT_EXIT_USAGE;
}

static int run_attach(int argc, char **argv)
{
	bool beside = false;
	const struct help_verb *verb = &client_help.verbs[CLIENT_ATTACH];
	struct option long_options[N_ATTACH_OPTIONS + 1];
	help_long_options(verb->options, FIRST_OPTION, long_options);
	for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
		if (option == FIRST_OPTION + ATTACH_HELP) {
			help_print_verb(stdout, &client_help, verb);
			return 0;
		}
		if (option != FIRST_OPTION + ATTACH_BESIDE)
			return INIT_EXIT_USAGE;
		beside = true;
	}
	return takes_no_more("attach", argc, argv) ? attach_run(beside) : INIT_EXIT_USAGE;
}

static int run_wait(int argc, char **argv)
{
	if (argc == 2 && streq(argv[1], "--help")) {
		help_print_verb(stdout, &client_help, &client_help.verbs[CLIENT_WAIT]);
		return 0;
	}
	return takes_no_more("wait", argc, argv) ? wait_run() : INIT_EXIT_USAGE;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	if (streq(verb, "init"))
		return run_init(argc - 1, argv + 1);
	if (streq(verb, "attach"))
		return run_attach(argc - 1, argv + 1);
	if (streq(verb, "wait"))
		return run_wait(argc - 1, argv + 1);
	if (streq(verb, "--version")) {
		printf("husk-client " HUSK_VERSION " (protocol %d)\n", PROTOCOL_VERSION);
		return 0;
	}
	if (streq(verb, "--help")) {
		help_print(stdout, &client_help);
		return 0;
	}
	help_print(stderr, &client_help);
	return INIT_EXIT_USAGE;
}
