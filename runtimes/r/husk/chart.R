# The values of a ggplot as data, in the form of E2B's code interpreter. chart_data.py of the Python kernel describes it.

CHART <- "application/vnd.husk.chart+json"
CHART_POINTS_MAX <- 1000L
CHART_ROWS_MAX <- 10000L # of the data: a plot is built once more to read it
CHART_TEXT_MAX <- 100L
CHART_KINDS <- c(GeomPoint = "scatter", GeomLine = "line", GeomPath = "line", GeomBar = "bar", GeomCol = "bar")

# The bundle's entry, or NULL for a plot that is NULL, large or of another kind.
chart_part <- function(plot) {
  if (is.null(plot) || NROW(plot$data) > CHART_ROWS_MAX) return(NULL)
  chart <- tryCatch(suppressWarnings(suppressMessages(chart_of(plot))), error = function(e) NULL)
  if (!is.null(chart)) `names<-`(list(jsonlite::toJSON(chart, auto_unbox = TRUE, null = "null", na = "null", digits = NA)), CHART)
}

chart_of <- function(plot) {
  kinds <- CHART_KINDS[vapply(plot$layers, function(layer) class(layer$geom)[1L], "")]
  built <- ggplot2::ggplot_build(plot)
  if (anyNA(kinds) || length(kinds) == 0L || nrow(built$layout$layout) != 1L) return(NULL)
  kind <- if (all(kinds == kinds[1L])) kinds[[1L]] else if (!"bar" %in% kinds) "scatter" else return(NULL)
  labels <- c(list(type = kind, title = chart_text(built$plot$labels$title)), axis_labels("x", built), axis_labels("y", built))
  series <- unlist(lapply(built$data, function(layer) split(layer, layer$group)), recursive = FALSE, use.names = FALSE)
  limit <- max(1L, CHART_POINTS_MAX %/% length(series))
  names <- built$layout$panel_params[[1L]]$x$get_labels()
  elements <- lapply(seq_along(series), function(i) {
    layer <- series[[i]]
    if (kind == "bar") return(bar_elements(utils::head(layer, limit), i, names))
    list(list(label = paste("Series", i), points = point_pairs(layer, limit)))
  })
  if (kind != "bar") labels <- c(labels, axis_ticks("x", built), axis_ticks("y", built))
  c(labels, list(elements = utils::head(unlist(elements, recursive = FALSE), CHART_POINTS_MAX)))
}

chart_text <- function(text) if (is.character(text) && length(text) == 1L) substr(valid_text(text), 1L, CHART_TEXT_MAX)

axis_labels <- function(axis, built) {
  label <- chart_text(built$plot$labels[[axis]])
  unit <- if (!is.null(label)) regmatches(label, regexec("\\s\\(([^()]+)\\)|\\[([^][]+)\\]", label))[[1L]][-1L]
  unit <- unit[nzchar(unit)]
  `names<-`(list(label, if (length(unit) > 0L) unit[1L]), paste0(axis, c("_label", "_unit")))
}

axis_ticks <- function(axis, built) {
  scale <- built$layout$panel_params[[1L]][[axis]]
  breaks <- scale$get_breaks()
  kept <- !is.na(breaks)
  ticks <- if (is.numeric(breaks)) as.numeric(breaks) else seq_along(breaks)
  list(ticks = I(ticks[kept]), tick_labels = I(as.character(scale$get_labels())[kept]),
       scale = if (isTRUE(scale$is_discrete())) "categorical" else "linear") |>
    (\(parts) `names<-`(parts, paste0(axis, "_", names(parts))))()
}

# Evenly chosen, with the first and the last.
point_pairs <- function(layer, limit) {
  rows <- unique(round(seq(1, nrow(layer), length.out = min(limit, nrow(layer)))))
  lapply(rows, function(row) list(as.numeric(layer$x[row]), as.numeric(layer$y[row])))
}

bar_elements <- function(layer, group, names) {
  lapply(seq_len(nrow(layer)), function(row) {
    place <- as.numeric(layer$x[row])
    name <- if (inherits(layer$x, "mapped_discrete") && place == round(place)) names[place]
    list(label = if (length(name) == 1L && !is.na(name)) name else format(place), group = paste("Group", group),
         value = as.numeric(layer$y[row]) - as.numeric(if (is.null(layer$ymin)) 0 else layer$ymin[row]))
  })
}
