# The values of a ggplot as data, in the form of E2B's code interpreter. chart_data.py of the Python kernel describes it.

CHART <- "application/vnd.husk.chart+json"
CHART_POINTS_MAX <- 1000L
CHART_ROWS_MAX <- 10000L # of the data: a plot is built again to read it
CHART_TEXT_MAX <- 100L
CHART_KINDS <- c(GeomPoint = "scatter", GeomLine = "line", GeomPath = "line", GeomBar = "bar", GeomCol = "bar",
                 GeomBoxplot = "box_and_whisker")
CHART_PANELS_MAX <- 12L

# The bundle's entry, or NULL for a plot that is NULL, large or of another kind.
chart_part <- function(plot) {
  if (is.null(plot) || NROW(plot$data) > CHART_ROWS_MAX) return(NULL)
  chart <- tryCatch(suppressWarnings(suppressMessages(chart_of(plot))), error = function(e) NULL)
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

# One panel. Panels of facets have the value of their variables as a title.
panel_chart <- function(built, kind, panel, points) {
  facets <- setdiff(names(panel), c("PANEL", "ROW", "COL", "SCALE_X", "SCALE_Y", "COORD"))
  title <- if (length(facets) > 0L) paste(vapply(panel[facets], as.character, ""), collapse = ", ") else built$plot$labels$title
  params <- built$layout$panel_params[[panel$PANEL]]
  layers <- lapply(built$data, function(layer) layer[layer$PANEL == panel$PANEL, , drop = FALSE])
  series <- unlist(lapply(layers, function(layer) split(layer, layer$group)), recursive = FALSE, use.names = FALSE)
  limit <- max(1L, points %/% max(1L, length(series)))
  chart <- list(type = kind, title = chart_text(title))
  if (kind == "pie") return(c(chart, list(elements = pie_elements(built, layers[[1L]], points))))
  chart <- c(chart, axis_labels("x", built), axis_labels("y", built))
  places <- params$x$get_labels()
  elements <- lapply(seq_along(series), function(i) {
    layer <- series[[i]]
    switch(kind,
      bar = bar_elements(utils::head(layer, limit), i, places),
      box_and_whisker = box_elements(utils::head(layer, limit), places),
      list(list(label = paste("Series", i), points = point_pairs(layer, limit)))
    )
  })
  if (kind %in% c("line", "scatter")) chart <- c(chart, axis_ticks("x", params), axis_ticks("y", params))
  c(chart, list(elements = utils::head(unlist(elements, recursive = FALSE), points)))
}

chart_text <- function(text) if (is.character(text) && length(text) == 1L) substr(valid_text(text), 1L, CHART_TEXT_MAX)

axis_labels <- function(axis, built) {
  label <- chart_text(built$plot$labels[[axis]])
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

# Evenly spaced, with the first and the last.
point_pairs <- function(layer, limit) {
  rows <- unique(round(seq(1, nrow(layer), length.out = min(limit, nrow(layer)))))
  lapply(rows, function(row) list(as.numeric(layer$x[row]), as.numeric(layer$y[row])))
}

# The name of a position on a discrete axis, else its number.
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

# Bars in polar coordinates. A slice is named by its fill.
pie_elements <- function(built, layer, points) {
  fills <- built$plot$scales$get_scales("fill")
  values <- as.numeric(layer$ymax) - as.numeric(layer$ymin)
  lapply(utils::head(order(layer$group), points), function(row) {
    name <- if (!is.null(fills) && fills$is_discrete()) fills$get_limits()[layer$group[row]]
    list(label = if (length(name) == 1L && !is.na(name)) name else paste("Slice", row),
         angle = round(360 * values[row] / sum(values), 3), radius = 1)
  })
}
