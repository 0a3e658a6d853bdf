/* husk-client: PID 1 of every container, and the bridge to it. */
#include <getopt.h>

#include "base/parse.h"
#include "kernels/control/attach.h"
#include "kernels/init/init.h"
#include "kernels/protocol.h"
#include "kernels/system/limits.h"

#ifndef HUSK_VERSION
#define HUSK_VERSION "0"
#endif

static const char help[] =
	"Usage: husk-client init [OPTION]...   run as PID 1 of a container: kernel, terminal, lease\n"
	"       husk-client attach             copy frames between stdio and PID 1 (for the manager's user)\n"
	"       husk-client --version | --help\n"
	"\n"
	"Options of init:\n"
	"  --lease S        end after S seconds without a frame from a controller (300)\n"
	"  --lifetime S     end S seconds after the start, whatever happens; 0 = never (0)\n"
	"  --grace-ms N     an interrupted cell has this long before its kernel is killed (5000)\n"
	"  --start-ms N     a kernel has this long to say hello (60000)\n"
	"  --home-size N    bytes that the home directory may take on disk; 0 = not watched (0)\n"
	"  --disk-floor N   bytes that must stay free on the host's disk (0)\n"
	"  --install        run no kernel and no commands: install packages into " DEPENDENCIES_PATH "\n"
	"  --manifest FILE  what to run (" RUNTIME_MANIFEST_PATH ")\n"
	"  --cgroup DIR     where the container's cgroup is mounted (" CGROUP_ROOT ")\n";

enum {
	OPT_LEASE = 256,
	OPT_LIFETIME,
	OPT_GRACE,
	OPT_START,
	OPT_HOME,
	OPT_FLOOR,
	OPT_INSTALL,
	OPT_MANIFEST,
	OPT_CGROUP
};

static const struct option long_options[] = {
	{ "lease", required_argument, NULL, OPT_LEASE },      { "lifetime", required_argument, NULL, OPT_LIFETIME },
	{ "grace-ms", required_argument, NULL, OPT_GRACE },   { "start-ms", required_argument, NULL, OPT_START },
	{ "install", no_argument, NULL, OPT_INSTALL },	      { "manifest", required_argument, NULL, OPT_MANIFEST },
	{ "cgroup", required_argument, NULL, OPT_CGROUP },    { "home-size", required_argument, NULL, OPT_HOME },
	{ "disk-floor", required_argument, NULL, OPT_FLOOR }, { 0 },
};

#define NUMBER_MAX 1000000000ull
#define SIZE_LIMIT (1ull << 50)

/* A number in [min, 10^9] times scale; bytes (scale 0) may be larger. */
static bool take_number(const char *name, const char *text, uint64_t min, uint64_t scale, uint64_t *ret)
{
	uint64_t value;
	if (parse_u64(text, &value) < 0 || value < min || value > (scale ? NUMBER_MAX : SIZE_LIMIT)) {
		fprintf(stderr, "husk-client: --%s: '%s' is not a number in its range\n", name, text);
		return false;
	}
	*ret = scale ? value * scale : value;
	return true;
}

static bool take_option(struct init_options *o, int option)
{
	switch (option) {
	case OPT_LEASE:
		return take_number("lease", optarg, 1, 1000, &o->lease_ms);
	case OPT_LIFETIME:
		return take_number("lifetime", optarg, 0, 1000, &o->lifetime_ms);
	case OPT_GRACE:
		return take_number("grace-ms", optarg, 1, 1, &o->grace_ms);
	case OPT_START:
		return take_number("start-ms", optarg, 1, 1, &o->start_ms);
	case OPT_HOME:
		return take_number("home-size", optarg, 0, 0, &o->home_size);
	case OPT_FLOOR:
		return take_number("disk-floor", optarg, 0, 0, &o->disk_floor);
	case OPT_INSTALL:
		o->install = true;
		return true;
	case OPT_MANIFEST:
		o->manifest = optarg;
		return true;
	case OPT_CGROUP:
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
	for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;)
		if (!take_option(&o, option))
			return INIT_EXIT_USAGE;
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
	if (streq(verb, "attach"))
		return attach_run();
	if (streq(verb, "--version")) {
		printf("husk-client " HUSK_VERSION " (protocol %d)\n", PROTOCOL_VERSION);
		return 0;
	}
	if (streq(verb, "--help")) {
		fputs(help, stdout);
		return 0;
	}
	fputs(help, stderr);
	return INIT_EXIT_USAGE;
}
