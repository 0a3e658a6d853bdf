"""The stock IRkernel's column: R's, except where that kernel differs."""

from .. import absent
from ..r import COLUMN as R
from . import ENVIRONMENT, VARIABLES, none_of

COLUMN = {
    **R,
    **none_of("IRkernel ends each message with an empty line.", "unicode streams redirected_streams"),
    **none_of("IRkernel sends values in five forms and takes more than a minute for so much.", "long_source big_value"),
    **none_of("IRkernel's errors all have the type ERROR, and their message is R's own with its call.", "error syntax_error"),
    "broken_value": absent("IRkernel reports on stderr that a value could not be shown, and the cell succeeds."),
    "recursion": dict(code="f <- function(n) f(n + 1)\nf(0)", words="infinite recursion"),
    "keyboard": dict(code='readline("name? ")', words="stdin is closed"),
    "exit_call": absent("IRkernel asks its frontend to end it, and continues."),
    "order": dict(code="cat('one\\n'); IRdisplay::display_html('<b>x</b>'); cat('two\\n'); 42"),
    "updated_display": absent("IRkernel's displays cannot be updated."),
    "image": dict(code='png("one.png", 30, 20); par(mar = rep(0, 4)); plot(1); invisible(dev.off())\nIRdisplay::display_png(file = "one.png")'),
    "html": dict(code='IRdisplay::display_html("<b>bold</b>")'),
    "json": absent("IRdisplay shows JSON as a text of its own type."),
    "display_before_an_error": dict(code='IRdisplay::display_html("<b>bold</b>")\nstop("x")'),
    "big_html": dict(code='IRdisplay::display_html(strrep("h", 3e6))'),
    **none_of("IRkernel does not capture the output of programs; it reaches the cell's output in another order.",
              "child_output late_child closed_streams"),
    "order_of_figures": absent("IRkernel sends a plot when the next one begins or the cell ends."),
    **none_of("A forked copy of IRkernel shares its sockets and temporary files, and removes the files when it ends.", "forked_child workers"),
    "environment": ENVIRONMENT,
    "variables": VARIABLES,
}
