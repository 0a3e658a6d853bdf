#include "cli/demo-print.h"

#include <jansson.h>

#include "base/alloc.h"
#include "cli/columns.h"

enum demo_paint { PLAIN, BOLD, DIM, GREEN, CYAN, RED };

static const char *paint(FILE *to, enum demo_paint p)
{
	static const char *const codes[] = { "\033[0m", "\033[1m", "\033[2m", "\033[32m", "\033[36m", "\033[31m" };
	return style_of(fileno(to)).colour ? codes[p] : "";
}

static const char *on(enum demo_paint p)
{
	return paint(stdout, p);
}

/* Prints each line of the text, indented and marked. */
static void print_block(enum demo_paint p, const char *mark, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		if (n > 0)
			printf("      %s%s%s %s%.*s%s\n", on(DIM), mark, on(PLAIN), on(p), (int)n, text, on(PLAIN));
		text += n + (text[n] == '\n');
	}
}

void demo_print_title(void)
{
	printf("\n  %sHusk%s %s: a tour through the real server\n", on(BOLD), on(PLAIN), HUSK_VERSION);
	fflush(stdout);
}

void demo_print_step(size_t number, size_t of, const char *say, const char *tool, const char *text)
{
	printf("\n  %s%zu/%zu%s %s%s%s  %s%s%s\n", on(DIM), number, of, on(PLAIN), on(BOLD), say, on(PLAIN), on(DIM),
	       tool ? tool : "server/discover", on(PLAIN));
	if (text)
		print_block(CYAN, "│", text);
	fflush(stdout);
}

void demo_print_time(uint64_t ms)
{
	printf("      %s✓%s %s%llu ms%s\n", on(GREEN), on(PLAIN), on(DIM), (unsigned long long)ms, on(PLAIN));
}

void demo_print_answer(const char *text)
{
	print_block(PLAIN, "→", text);
	fflush(stdout);
}

void demo_print_picture(const char *path, size_t bytes)
{
	printf("      %s→%s picture saved: %s%s%s (%zu bytes)\n", on(DIM), on(PLAIN), on(BOLD), path, on(PLAIN), bytes);
	fflush(stdout);
}

void demo_print_failure(const char *what, const char *next)
{
	fflush(stdout);
	fprintf(stderr, "\n  %s✗%s ", paint(stderr, RED), paint(stderr, PLAIN));
	for (const char *p = what && *what ? what : "it failed"; *p;) {
		size_t n = strcspn(p, "\n");
		fprintf(stderr, "%s%.*s\n", p == what ? "" : "    ", (int)n, p);
		p += n + (p[n] == '\n');
	}
	if (next)
		fprintf(stderr, "    %s\n", next);
	fputc('\n', stderr);
}

void demo_print_end(uint64_t ms, const char *self)
{
	json_auto_t *config = json_pack("{s:{s:{s:s, s:[s]}}}", "mcpServers", "husk", "command", self, "args", "mcp");
	AUTO(freep) char *text = json_dumps(config, JSON_INDENT(2));
	printf("\n  %sDone%s in %llu ms, and nothing is left behind. Now connect your agent to Husk.\n\n", on(BOLD),
	       on(PLAIN), (unsigned long long)ms);
	printf("  %sClaude Desktop%s (claude_desktop_config.json) and %sCursor%s (~/.cursor/mcp.json):\n\n", on(BOLD),
	       on(PLAIN), on(BOLD), on(PLAIN));
	printf("%s\n\n", text);
	printf("  %sClaude Code%s:\n\n", on(BOLD), on(PLAIN));
	/* The path is quoted if it has characters that are special to the shell. */
	bool plain = self[strspn(self, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+")] == '\0';
	const char *quote = plain ? "" : "'";
	printf("claude mcp add husk -- %s%s%s mcp\n\n", quote, self, quote);
	fflush(stdout);
}
