# The values of a plot as data, and the code that reads them from a ggplot. The form is that of E2B's code interpreter,
# which chart_data.py of the Python kernel describes.

CHART <- "application/vnd.husk.chart+json"
CHART_POINTS_MAX <- 1000L
CHART_ROWS_MAX <- 10000L # rows of the data; reading the values builds the plot a second time
CHART_TEXT_MAX <- 100L
CHART_TICKS_MAX <- 100L
CHART_KINDS <- c(GeomPoint = "scatter", GeomLine = "line", GeomPath = "line", GeomBar = "bar", GeomCol = "bar",
                 GeomBoxplot = "box_and_whisker")
CHART_PANELS_MAX <- 12L

# The bundle's entry for a page with a ggplot or with base graphics (`drawn`). NULL if the page has no values, or if the
# ggplot is too large or of an unsupported kind.
chart_part <- function(plot, drawn) {
  if (NROW(plot$data) > CHART_ROWS_MAX) return(NULL)
  read <- function() if (is.null(plot)) base_chart(drawn) else chart_of(plot)
  chart <- tryCatch(suppressWarnings(suppressMessages(read())), error = function(e) NULL)
  if (!is.null(chart)) `names<-`(list(jsonlite::toJSON(chart, auto_unbox = TRUE, null = "null", na = "null", digits = NA)), CHART)
}

chart_of <- function(plot) {
  kinds <- CHART_KINDS[vapply(plot$layers, function(layer) class(layer$geom)[1L], "")]
  built <- ggplot2::ggplot_build(plot)
  if (anyNA(kinds) || length(kinds) == 0L) return(NULL)
  kind <- if (all(kinds == kinds[1L])) kinds[[1L]] else if (all(kinds %in% c("scatter", "line"))) "scatter" else return(NULL)
  if (inherits(built$layout$coord, "CoordPolar")) kind <- if (kind == "bar") "pie" else return(NULL)
  panels <- utils::head(built$layout$layout, CHART_PANELS_MAX)
  charts <- lapply(seq_len(nrow(panels)), function(i) panel_chart(built, kind, panels[i, ], CHART_POINTS_MAX %/% nrow(panels)))
  if (length(charts) == 1L) return(charts[[1L]])
  list(type = "superchart", title = chart_text(built$plot$labels$title), elements = charts)
}

# The chart of one panel. The title of a facet's panel is the value of its variables.
panel_chart <- function(built, kind, panel, points) {
  facets <- setdiff(names(panel), c("PANEL", "ROW", "COL", "SCALE_X", "SCALE_Y", "COORD"))
  title <- if (length(facets) > 0L) paste(vapply(panel[facets], as.character, ""), collapse = ", ") else built$plot$labels$title
  params <- built$layout$panel_params[[panel$PANEL]]
  layers <- lapply(built$data, function(layer) layer[layer$PANEL == panel$PANEL, , drop = FALSE])
  series <- unlist(lapply(layers, function(layer) split(layer, layer$group)), recursive = FALSE, use.names = FALSE)
  limit <- max(1L, points %/% max(1L, length(series)))
  chart <- list(type = kind, title = chart_text(title))
  if (kind == "pie") return(c(chart, list(elements = pie_elements(built, layers[[1L]], points))))
  chart <- c(chart, axis_labels("x", built$plot$labels$x), axis_labels("y", built$plot$labels$y))
  places <- params$x$get_labels()
  elements <- lapply(seq_along(series), function(i) {
    layer <- series[[i]]
    switch(kind,
      bar = bar_elements(utils::head(layer, limit), i, places),
      box_and_whisker = box_elements(utils::head(layer, limit), places),
      list(point_series(paste("Series", i), layer$x, layer$y, limit))
    )
  })
  if (kind %in% c("line", "scatter")) chart <- c(chart, axis_ticks("x", params), axis_ticks("y", params))
  c(chart, list(elements = utils::head(unlist(elements, recursive = FALSE), points)))
}

chart_text <- function(text) if (is.character(text) && length(text) == 1L) substr(valid_text(text), 1L, CHART_TEXT_MAX)

axis_labels <- function(axis, label) {
  label <- chart_text(label)
  unit <- if (!is.null(label)) regmatches(label, regexec("\\s\\(([^()]+)\\)|\\[([^][]+)\\]", label))[[1L]][-1L]
  unit <- unit[nzchar(unit)]
  `names<-`(list(label, if (length(unit) > 0L) unit[1L]), paste0(axis, c("_label", "_unit")))
}

axis_ticks <- function(axis, params) {
  scale <- params[[axis]]
  breaks <- scale$get_breaks()
  kept <- !is.na(breaks)
  ticks <- if (is.numeric(breaks)) as.numeric(breaks) else seq_along(breaks)
  list(ticks = I(ticks[kept]), tick_labels = I(as.character(scale$get_labels())[kept]),
       scale = if (isTRUE(scale$is_discrete())) "categorical" else "linear") |>
    (\(parts) `names<-`(parts, paste0(axis, "_", names(parts))))()
}

# A series of at most `limit` evenly spaced points, including the first and the last. `total` is the original number.
point_series <- function(label, x, y, limit, x_text = as.numeric, y_text = as.numeric) {
  kept <- unique(round(seq(1, length(x), length.out = min(limit, length(x)))))
  pairs <- lapply(kept, function(i) list(x_text(x[i]), y_text(y[i])))
  c(list(label = label, points = pairs), if (length(kept) < length(x)) list(total = length(x)))
}

# The name of a position on a discrete axis, or else its number.
place_name <- function(x, names) {
  place <- as.numeric(x)
  name <- if (inherits(x, "mapped_discrete") && place == round(place)) names[place]
  if (length(name) == 1L && !is.na(name)) name else format(place)
}

bar_elements <- function(layer, group, names) {
  lapply(seq_len(nrow(layer)), function(row) {
    list(label = place_name(layer$x[row], names), group = paste("Group", group),
         value = as.numeric(layer$y[row]) - as.numeric(if (is.null(layer$ymin)) 0 else layer$ymin[row]))
  })
}

box_elements <- function(layer, names) {
  lapply(seq_len(nrow(layer)), function(row) {
    five <- lapply(c(min = "ymin", first_quartile = "lower", median = "middle", third_quartile = "upper", max = "ymax"),
                   function(name) as.numeric(layer[[name]][row]))
    outliers <- utils::head(as.numeric(layer$outliers[[row]]), 100L)
    c(list(label = place_name(layer$x[row], names)), five, list(outliers = I(outliers)))
  })
}

# The slices of a pie, which are bars in polar coordinates. A slice is named by its fill.
pie_elements <- function(built, layer, points) {
  fills <- built$plot$scales$get_scales("fill")
  values <- as.numeric(layer$ymax) - as.numeric(layer$ymin)
  lapply(utils::head(order(layer$group), points), function(row) {
    name <- if (!is.null(fills) && fills$is_discrete()) fills$get_limits()[layer$group[row]]
    list(label = if (length(name) == 1L && !is.na(name)) name else paste("Slice", row),
         angle = round(360 * values[row] / sum(values), 3), radius = 1)
  })
}
