/* Copies files into a session, out of it, and to a session of another language.
 * cc files.c $(pkg-config --cflags --libs libhusk) && ./a.out */
#include <husk.h>
#include <stdio.h>
#include <string.h>

static struct husk_error *pass(struct husk_conversation *c, struct husk_session **from, struct husk_session **to)
{
	static const char table[] = "name,value\na,1\nb,2\n";
	struct husk_import in = {
		.size = sizeof(in), .content = table, .n = sizeof(table) - 1, .destination = "table.csv"
	};
	struct husk_create node = { .size = sizeof(node), .language = "node" };
	struct husk_files *files = NULL;
	struct husk_result *r = NULL;
	struct husk_error *e = husk_create(c, NULL, NULL, from);
	if (!e)
		e = husk_import(c, (*from)->id, (const struct husk_import *[]){ &in }, 1, NULL, NULL, &files);
	if (e)
		return e;
	printf("imported: %s, %llu bytes\n", files->v[0]->path, (unsigned long long)files->v[0]->bytes);
	husk_files_free(files);

	e = husk_terminal(c, (*from)->id, "tail -n +2 table.csv | sort -r >sorted.csv", NULL, NULL, &r);
	husk_result_free(r);
	r = NULL;
	if (!e)
		e = husk_export(c, (*from)->id, (const char *[]){ "sorted.csv", "missing" }, 2, NULL, NULL, &files);
	if (e)
		return e;
	printf("exported: %s; missing: %s\n", files->v[0]->path, files->v[1]->error->kind);
	struct husk_import across = { .size = sizeof(across), .session = (*from)->id, .path = files->v[0]->path };

	struct husk_files *arrived = NULL;
	e = husk_create(c, &node, NULL, to);
	if (!e)
		e = husk_import(c, (*to)->id, (const struct husk_import *[]){ &across }, 1, NULL, NULL, &arrived);
	husk_files_free(files);
	husk_files_free(arrived);
	if (e)
		return e;
	e = husk_execute(c, (*to)->id, "require('fs').readFileSync('sorted.csv', 'utf8').split('\\n')[0]", NULL, NULL,
			 &r);
	if (!e)
		printf("node reads: %s\n", husk_text(r));
	husk_result_free(r);
	return e;
}

int main(void)
{
	struct husk *h = NULL;
	struct husk_conversation *c = NULL;
	struct husk_session *from = NULL, *to = NULL;
	struct husk_error *e = husk_open(NULL, &h);
	if (!e)
		e = husk_conversation_open(h, NULL, &c);
	if (!e)
		e = pass(c, &from, &to);
	int failed = e != NULL;
	if (e)
		fprintf(stderr, "%s: %s\n%s\n", e->cause, e->message, e->hint);
	husk_error_free(e);
	husk_session_free(from);
	husk_session_free(to);
	husk_error_free(h ? husk_close(h) : NULL);
	return failed;
}
