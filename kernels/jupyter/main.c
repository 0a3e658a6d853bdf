/* husk-jupyter: PID 1 starts it in place of one of Husk's own kernels; see docs/runtimes.md. */
#include <getopt.h>

#include "base/parse.h"
#include "kernels/jupyter/adapter.h"

#define EXIT_USAGE 100
#define EXIT_SETUP 111
#define BEAT_MS 5000

static void print_usage(FILE *to)
{
	fputs("usage: husk-jupyter [OPTION]… KERNELSPEC\n"
	      "Runs a stock Jupyter kernel as the kernel of a Husk session. PID 1 of the container starts it.\n"
	      "KERNELSPEC is a folder with a kernel.json, as in /usr/share/jupyter/kernels/.\n\n"
	      "  --transport ipc|tcp  transport to the kernel (default: ipc; tcp is 127.0.0.1, for kernels that need it)\n"
	      "  --show-raw           show output of the kernel's process itself, which notebooks do not show\n"
	      "  --values-displayed   the kernel displays values and sends no results: the last display is the result\n"
	      "  --folder PATH        folder for the connection file (default: /tmp)\n"
	      "  --heartbeat MS       time between two heartbeats (default: 5000)\n"
	      "  --help               this text\n",
	      to);
}

static int parse_option(int option, const char *value, struct adapter_options *o)
{
	switch (option) {
	case 't':
		o->tcp = streq(value, "tcp");
		return o->tcp || streq(value, "ipc") ? 0 : -1;
	case 'r':
		o->shows_raw = true;
		return 0;
	case 'd':
		o->displays_values = true;
		return 0;
	case 'f':
		o->folder = value;
		return 0;
	case 'b':
		return parse_u64(value, &o->beat_ms) == 0 && o->beat_ms >= 10 && o->beat_ms <= 600000 ? 0 : -1;
	default:
		return -1;
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "transport", required_argument, NULL, 't' },
		{ "folder", required_argument, NULL, 'f' },
		{ "heartbeat", required_argument, NULL, 'b' },
		{ "help", no_argument, NULL, 'h' },
		{ "values-displayed", no_argument, NULL, 'd' },
		{ "show-raw", no_argument, NULL, 'r' },
		{ 0 },
	};
	struct adapter_options o = { .folder = "/tmp", .beat_ms = BEAT_MS };
	struct fail f AUTO(fail_release) = { 0 };
	int option;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'h')
			return print_usage(stdout), EXIT_SUCCESS;
		if (parse_option(option, optarg, &o) < 0)
			return print_usage(stderr), EXIT_USAGE;
	}
	if (optind != argc - 1)
		return print_usage(stderr), EXIT_USAGE;
	o.spec = argv[optind];
	(void)adapter_run(&o, &f);
	fprintf(stderr, "husk-jupyter: %s\n", f.message);
	return EXIT_SETUP;
}
