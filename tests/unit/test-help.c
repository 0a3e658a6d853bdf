/* base/help: the layout of help, and which names are similar. */
#include "tests/unit/unit.h"

#include "base/alloc.h"
#include "base/help.h"

#define TEXT(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define PAIRS(...) ((const struct help_pair[]){ __VA_ARGS__, { 0 } })

static const struct help_option common[] = { { "help", NULL, "Print this help and exit.", 'h' }, { 0 } };
static const struct help_option fly_options[] = {
	{ "to", "PLACE", "Where to." },
	{ "with-a-very-long-name", "ARGUMENT",
	  "A long option has its text on the next line, and long text is broken." },
	{ "secret", NULL, NULL },
	{ 0 },
};
static const struct help_verb verbs[] = {
	{ .name = "fly",
	  .summary = "Fly",
	  .usage = TEXT("[OPTION]... PLACE", "--home"),
	  .text = TEXT("Short.",
		       "A paragraph that is so long that it has to be broken, since a terminal has eighty columns."),
	  .options = fly_options,
	  .keys = PAIRS({ "Tab", "Turn." }),
	  .examples = PAIRS({ "bird fly --home", "Fly home." }),
	  .codes = PAIRS({ "0", "Landed." }, { "128+N", "Shot." }) },
	{ .name = "swim", .group = 1, .summary = "Swim", .usage = TEXT("") },
};
static const struct help_program bird = {
	.name = "bird",
	.text = TEXT("About birds."),
	.groups = TEXT("In the air", "In the water"),
	.verbs = verbs,
	.n_verbs = ARRAY_LEN(verbs),
	.options = common,
};

static char *printed(void (*print)(FILE *, const struct help_program *, const struct help_verb *),
		     const struct help_verb *v)
{
	char *text = NULL;
	size_t n;
	FILE *file = open_memstream(&text, &n);
	if (print)
		print(file, &bird, v);
	else
		help_print(file, &bird);
	fclose(file);
	return text;
}

static void a_verb_is_explained_in_80_columns(void **state)
{
	AUTO(freep) char *text = printed(help_print_verb, &verbs[0]);
	assert_string_equal(text, "usage: bird fly [OPTION]... PLACE\n"
				  "       bird fly --home\n"
				  "\n"
				  "Fly.\n"
				  "\n"
				  "Short.\n"
				  "\n"
				  "A paragraph that is so long that it has to be broken, since a terminal has\n"
				  "eighty columns.\n"
				  "\n"
				  "Keys:\n"
				  "  Tab  Turn.\n"
				  "\n"
				  "Options:\n"
				  "  --to PLACE          Where to.\n"
				  "  --with-a-very-long-name ARGUMENT\n"
				  "                      A long option has its text on the next line, and long\n"
				  "                      text is broken.\n"
				  "  -h, --help          Print this help and exit.\n"
				  "\n"
				  "Examples:\n"
				  "  bird fly --home\n"
				  "      Fly home.\n"
				  "\n"
				  "Exit codes:\n"
				  "  0      Landed.\n"
				  "  128+N  Shot.\n");
}

static void verbs_are_listed_in_groups(void **state)
{
	AUTO(freep) char *text = printed(NULL, NULL);
	assert_string_equal(text, "usage: bird VERB [OPTION]... [ARGUMENT]...\n"
				  "       bird VERB --help\n"
				  "\n"
				  "About birds.\n"
				  "\n"
				  "In the air:\n"
				  "  fly       Fly\n"
				  "\n"
				  "In the water:\n"
				  "  swim      Swim\n"
				  "\n"
				  "Options:\n"
				  "  -h, --help          Print this help and exit.\n");
}

static void an_error_is_followed_by_the_usage(void **state)
{
	AUTO(freep) char *usage = printed(help_print_usage, &verbs[0]), *general = printed(help_print_usage, NULL);
	AUTO(freep) char *pointer = printed(help_print_pointer, &verbs[0]), *list = printed(help_print_pointer, NULL);
	assert_string_equal(usage, "usage: bird fly [OPTION]... PLACE\n       bird fly --home\n");
	assert_string_equal(general, "usage: bird VERB [OPTION]... [ARGUMENT]...\n");
	assert_string_equal(pointer, "bird fly --help explains the options.\n");
	assert_string_equal(list, "bird --help lists the verbs.\n");
}

static void edit_distances(void **state)
{
	assert_int_equal(help_distance("", "", 9), 0);
	assert_int_equal(help_distance("run", "run", 9), 0);
	assert_int_equal(help_distance("rnu", "run", 9), 1);
	assert_int_equal(help_distance("docter", "doctor", 9), 1);
	assert_int_equal(help_distance("", "abc", 9), 3);
	assert_int_equal(help_distance("kitten", "sitting", 9), 3);
	assert_int_equal(help_distance("kitten", "sitting", 2), 2);
	char word[100];
	memset(word, 'a', sizeof(word));
	word[99] = '\0';
	assert_int_equal(help_distance(word, "a", 5), 5);
	assert_int_equal(help_distance("a", word, 5), 5);
}

static void nearest_names_are_found(void **state)
{
	assert_string_equal(help_nearest_verb(&bird, "swmi"), "swim");
	assert_string_equal(help_nearest_verb(&bird, "sw"), "swim");
	assert_null(help_nearest_verb(&bird, "run"));
	assert_null(help_nearest_verb(&bird, ""));
	assert_string_equal(help_nearest_option(&bird, &verbs[1], "hepl"), "help");
	assert_string_equal(help_nearest_option(&bird, &verbs[0], "with"), "with-a-very-long-name");
	assert_null(help_nearest_option(&bird, &verbs[0], "secre"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_verb_is_explained_in_80_columns), cmocka_unit_test(verbs_are_listed_in_groups),
		cmocka_unit_test(an_error_is_followed_by_the_usage), cmocka_unit_test(edit_distances),
		cmocka_unit_test(nearest_names_are_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
