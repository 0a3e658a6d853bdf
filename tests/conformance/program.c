/* husk-conformance: Husk with the fixtures that the conformance suite needs. Never installed.
 *
 *	husk-conformance          like `husk mcp`
 *	husk-conformance serve    like `husk serve` on a free port of 127.0.0.1
 */
#include "base/log.h"
#include "cli/mcp.h"
#include "cli/serve.h"
#include "tests/conformance/fixtures.h"

int main(int argc, char **argv)
{
	log_init();
	if (argc > 1 && streq(argv[1], "serve"))
		return serve_run(&(struct options){ .verb = VERB_SERVE, .listen = (char *)"127.0.0.1:0" },
				 fixtures_extension());
	return mcp_run(&(struct options){ .verb = VERB_MCP }, fixtures_extension());
}
