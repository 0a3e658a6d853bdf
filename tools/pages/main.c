/* pages FOLDER: writes every page of the table into the folder. Not installed. */
#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "tools/pages/pages.h"

/* The present text; empty if there is none. */
static void read_page(const char *path, struct buf *text)
{
	FILE *file = fopen(path, "r");
	for (size_t n = 1; file && n > 0; text->len += n) {
		uint8_t *at = buf_reserve(text, 65536);
		n = fread(at, 1, 65536, file);
	}
	if (file)
		fclose(file);
}

static int write_page(const struct page *page, const char *folder)
{
	AUTO(buf_release) struct buf existing = { 0 }, text = { 0 };
	AUTO(freep) char *path = xasprintf("%s/%s", folder, page->name);
	if (page->part)
		read_page(path, &existing);
	pages_make(page, buf_str(&existing), &text);
	FILE *file = fopen(path, "w");
	bool written = file && fwrite(buf_str(&text), 1, text.len, file) == text.len;
	written = file && fclose(file) == 0 && written;
	if (!written)
		fprintf(stderr, "pages: cannot write '%s': %s\n", path, strerror(errno));
	return written ? 0 : -1;
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fputs("usage: pages FOLDER\n", stderr);
		return 64;
	}
	for (size_t i = 0; i < n_pages; i++)
		if (write_page(&pages[i], argv[1]) < 0)
			return 111;
	return 0;
}
