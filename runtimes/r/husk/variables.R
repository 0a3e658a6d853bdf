# Lists the variables of the workspace, without running user code.

VARIABLES_SHOWN <- 100L
NAME_WIDTH <- 200L
VARIABLES_SECONDS <- 0.1

# Returns list(total, variables): the name, type, shape ("" if there is none) and bytes of each; the largest first.
list_variables <- function(limit = VARIABLES_SHOWN) {
  names <- ls(husk_workspace)
  until <- proc.time()[["elapsed"]] + VARIABLES_SECONDS
  variables <- list()
  for (name in names) {
    if (proc.time()[["elapsed"]] > until) break
    variables[[length(variables) + 1L]] <- describe_variable(name)
  }
  sizes <- vapply(variables, function(variable) variable$bytes, 0)
  largest <- order(-sizes, names[seq_along(variables)])
  list(total = length(names), variables = variables[largest[seq_len(min(limit, length(largest)))]])
}

describe_variable <- function(name) {
  shown <- substr(valid_text(name), 1L, NAME_WIDTH)
  if (bindingIsActive(as.name(name), husk_workspace)) return(list(name = shown, type = "active binding", shape = "", bytes = 0))
  if (is_promise(name)) return(list(name = shown, type = "promise", shape = "", bytes = 0))
  value <- get(name, envir = husk_workspace)
  list(name = shown, type = type_of(value), shape = shape_of(value), bytes = as.numeric(utils::object.size(value)))
}

# TRUE for a variable of delayedAssign(): reading it would run its code.
is_promise <- function(name) .Call(link$is_promise, husk_workspace, name)

type_of <- function(value) {
  classes <- attr(value, "class")
  if (!is.null(classes)) return(valid_text(classes[1L]))
  if (is.function(value)) "function" else if (!is.null(attr(value, "dim"))) class(value)[1L] else class(value)
}

# The shape, from attributes only, since dim() and length() may call methods of the user.
shape_of <- function(value) {
  if (inherits(value, "data.frame")) {
    return(sprintf("%d x %d", .row_names_info(value, 2L), length(attr(value, "names"))))
  }
  dim <- attr(value, "dim")
  if (!is.null(dim)) return(paste(dim, collapse = " x "))
  if (is.object(value) && !inherits(value, c("factor", "Date", "POSIXct", "difftime"))) return("")
  if (is.vector(value) || is.object(value) || is.list(value)) format(length(value), scientific = FALSE) else ""
}
