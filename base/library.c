#include "base/library.h"

#include <dlfcn.h>
#include <pthread.h>

static bool find_functions(const struct library *l, void *handle)
{
	for (size_t i = 0; i < l->n; i++) {
		*l->functions[i].pointer = dlsym(handle, l->functions[i].name);
		if (!*l->functions[i].pointer)
			return false;
	}
	return true;
}

bool library_load(struct library *l)
{
	/* Serialized, because worker jobs of several managers may load at once. */
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; l->names[i] && !l->loaded; i++) {
		void *handle = dlopen(l->names[i], RTLD_NOW | RTLD_LOCAL);
		l->loaded = handle && find_functions(l, handle) && (!l->start || l->start());
	}
	bool loaded = l->loaded;
	pthread_mutex_unlock(&lock);
	return loaded;
}
