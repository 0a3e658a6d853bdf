/* The files of the page. The program that serves them has them (page/embed.py makes the table), so that other programs
 * with this API need not. */
#ifndef HUSK_API_PAGE_H
#define HUSK_API_PAGE_H

#include <stddef.h>

struct page_file {
	const char *path; /* below /ui/; those below a/ have a hash of their content in their name */
	const char *type, *etag;
	const char *data; /* compressed with gzip */
	size_t n;
};
/* Ends with an entry without a path. */
extern const struct page_file page_files[];
/* The document of MCP Apps (mcp/apps.h): one self-contained HTML text. */
extern const char page_app[];

#endif
