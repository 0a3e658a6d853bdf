#include "tools/pages/pages.h"

const struct page pages[] = {
	{ "husk.1", pages_husk },
	{ "husk-client.1", pages_client },
	{ "husk-jupyter-face.1", pages_jupyter_face },
	{ "settings.md", pages_settings },
	{ "http.md", pages_routes, .part = true },
};
const size_t n_pages = ARRAY_LEN(pages);

void pages_make(const struct page *page, const char *existing, struct buf *out)
{
	if (!page->part) {
		page->write(out);
		return;
	}
	const char *begin = strstr(existing, PAGES_PART_BEGIN);
	const char *end = begin ? strstr(begin, PAGES_PART_END) : NULL;
	if (!end) {
		buf_add_str(out, existing);
		return;
	}
	buf_add(out, existing, (size_t)(begin - existing) + strlen(PAGES_PART_BEGIN));
	page->write(out);
	buf_add_str(out, end);
}
