/* The operations that drew a page, for husk/base_chart.R. Built by prepare.sh. */
#define R_NO_REMAP
#include <Rinternals.h>

#include <R_ext/GraphicsEngine.h> /* needs Rinternals.h */

SEXP plots_operations(void);

/* Returns the current device's own display list, which grows until the page is complete. A copy, as recordPlot() makes,
 * would take as much memory as the data. */
SEXP plots_operations(void)
{
	return Rf_NoDevices() ? R_NilValue : GEcurrentDevice()->displayList;
}
