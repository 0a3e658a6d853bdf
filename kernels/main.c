/* husk-client: PID 1 of every container, and the bridge to it. */
#include "base/parse.h"
#include "kernels/client-help.h"
#include "kernels/control/attach.h"
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

static bool take_option(struct init_options *o, int option)
{
	switch (option - FIRST_OPTION) {
	case INIT_LEASE:
		return take_number("lease", optarg, 1, 1000, &o->lease_ms);
	case INIT_LIFETIME:
		return take_number("lifetime", optarg, 0, 1000, &o->lifetime_ms);
	case INIT_GRACE:
		return take_number("grace-ms", optarg, 1, 1, &o->grace_ms);
	case INIT_START:
		return take_number("start-ms", optarg, 1, 1, &o->start_ms);
	case INIT_HOME_SIZE:
		return take_number("home-size", optarg, 0, 0, &o->home_size);
	case INIT_DISK_FLOOR:
		return take_number("disk-floor", optarg, 0, 0, &o->disk_floor);
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

static int run_init(int argc, char **argv)
{
	struct init_options o = {
		.lease_ms = 300000,
		.grace_ms = 5000,
		.start_ms = 60000,
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
	if (optind < argc) {
		fprintf(stderr, "husk-client: init takes no argument '%s'\n", argv[optind]);
		return INIT_EXIT_USAGE;
	}
	return init_run(&o);
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	if (streq(verb, "init"))
		return run_init(argc - 1, argv + 1);
	if (streq(verb, "attach") && argc == 3 && streq(argv[2], "--help")) {
		help_print_verb(stdout, &client_help, &client_help.verbs[CLIENT_ATTACH]);
		return 0;
	}
	if (streq(verb, "attach"))
		return attach_run();
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
