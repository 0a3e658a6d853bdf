# The values of base graphics as data, in the form that chart.R sends.
#
# R keeps the operations of a page in its display list, with the values of lines and points, the titles and the axes.
# Bars, boxes and slices are only shapes there. Their values are in variables of the function that draws them, and are
# read when that function calls plot.new(). Nothing here calls methods of the user's classes.

OPERATIONS_MAX <- 10000L
TITLE_ARGUMENTS <- c(main = 2L, x = 4L, y = 5L) # positions in the operation, whose own name is the first element
LINE_TYPES <- c("l", "b", "c", "o", "h", "s", "S")

# A hook of plot.new(): records the plot that begins.
note_base_plot <- function(...) {
  device <- current_device()
  if (is.null(device) || is_forked()) return(invisible())
  page <- device$shown + 1L
  before <- if (identical(device$drawn$page, page)) device$drawn$shapes
  shapes <- tryCatch(shapes_begun(), error = function(e) NULL)
  for (i in seq_along(figures$devices)) {
    if (!identical(figures$devices[[i]]$files, device$files)) next
    figures$devices[[i]]$drawn <- list(page = page, operations = .Call(console$operations), shapes = c(before, list(shapes)))
  }
  invisible()
}

# The bars, boxes or slices that the caller of plot.new() draws, or NULL.
shapes_begun <- function() {
  package <- asNamespace("graphics")
  readers <- list(list(package$pie, pie_shapes), list(package$bxp, box_shapes), list(package$barplot.default, bar_shapes),
                  list(package$plot.histogram, histogram_shapes))
  for (i in rev(seq_len(sys.nframe()))) {
    for (reader in readers) {
      if (identical(sys.function(i), reader[[1L]])) return(reader[[2L]](sys.frame(i)))
    }
  }
}

# The values without attributes, so that no method is called; NULL if they are not a vector.
bare <- function(values) {
  if (!is.atomic(values)) return(NULL)
  if (is.factor(values)) values <- levels(values)[unclass(values)]
  as.vector(unclass(values))
}

name_at <- function(names, i) {
  name <- if (i <= length(names)) chart_text(as.character(names[[i]]))
  if (is.null(name) || is.na(name)) format(i) else name
}

pie_shapes <- function(frame) {
  labels <- bare(frame$labels)
  elements <- lapply(seq_len(min(length(frame$dx), CHART_POINTS_MAX)), function(i) {
    list(label = name_at(labels, i), angle = round(360 * frame$dx[[i]], 3), radius = 1)
  })
  list(type = "pie", elements = elements)
}

box_shapes <- function(frame) {
  z <- unclass(frame$z)
  stats <- unclass(z$stats)
  names <- bare(z$names)
  groups <- bare(z$group)
  outliers <- bare(z$out)
  elements <- lapply(seq_len(min(ncol(stats), CHART_POINTS_MAX)), function(i) {
    five <- `names<-`(as.list(as.numeric(stats[, i])), c("min", "first_quartile", "median", "third_quartile", "max"))
    c(list(label = name_at(names, i)), five, list(outliers = I(utils::head(as.numeric(outliers[groups == i]), 100L))))
  })
  list(type = "box_and_whisker", horizontal = isTRUE(frame$horizontal), elements = elements)
}

histogram_shapes <- function(frame) {
  breaks <- bare(unclass(frame$x)$breaks)
  y <- bare(frame$y)
  elements <- lapply(seq_len(min(length(y), CHART_POINTS_MAX)), function(i) {
    list(label = format((breaks[i] + breaks[i + 1L]) / 2), group = "Group 1", value = y[i])
  })
  list(type = "bar", elements = elements)
}

# When plot.new() is called, `height` is a matrix with a column for each name. For stacked bars its values are
# cumulative, and its first row is the base.
bar_shapes <- function(frame) {
  height <- unclass(frame$height)
  stacked <- !frame$beside
  groups <- bare(frame$legend.text)
  if (length(groups) != frame$NR) groups <- if (!frame$vectorInput) rownames(height)[if (stacked) -1L else TRUE]
  names <- bare(frame$names.arg)
  count <- min(frame$NR * frame$NC, CHART_POINTS_MAX)
  elements <- lapply(seq_len(count) - 1L, function(n) {
    row <- if (frame$vectorInput) 1L else n %% frame$NR + 1L
    place <- if (frame$vectorInput || length(names) == frame$NR * frame$NC) n + 1L else n %/% frame$NR + 1L
    value <- if (stacked) diff(height[row + 0:1, n %/% frame$NR + 1L]) else height[[n + 1L]]
    group <- if (length(groups) > 0L) name_at(groups, row) else paste("Group", row)
    list(label = name_at(names, place), group = group, value = as.numeric(value))
  })
  list(type = "bar", horizontal = isTRUE(frame$horiz), elements = elements)
}

# The chart of a page; `drawn` has the operations of the page and the shapes of each of its plots.
base_chart <- function(drawn) {
  if (is.null(drawn$operations) || length(drawn$operations) > OPERATIONS_MAX) return(NULL)
  operations <- lapply(as.list(drawn$operations), function(one) as.list(one[[2L]]))
  names <- vapply(operations, function(one) if (is.list(one[[1L]])) one[[1L]]$name else "", "")
  plots <- cumsum(names == "C_plot_new")
  count <- min(max(plots), CHART_PANELS_MAX)
  charts <- lapply(seq_len(count), function(n) {
    shapes <- if (n <= length(drawn$shapes)) drawn$shapes[[n]]
    base_plot_chart(operations[plots == n], names[plots == n], shapes, CHART_POINTS_MAX %/% count)
  })
  if (length(charts) > 1L) list(type = "superchart", title = NULL, elements = charts) else if (length(charts) == 1L) charts[[1L]]
}

base_plot_chart <- function(operations, names, shapes, points) {
  titles <- list()
  for (one in operations[names == "C_title"]) {
    given <- Filter(Negate(is.null), `names<-`(one[TITLE_ARGUMENTS], names(TITLE_ARGUMENTS)))
    titles[names(given)] <- given
  }
  chart <- function(type) list(type = type, title = chart_text(titles$main))
  if (identical(shapes$type, "pie")) return(c(chart("pie"), list(elements = utils::head(shapes$elements, points))))
  if (isTRUE(shapes$horizontal)) titles[c("x", "y")] <- titles[c("y", "x")] # x is the axis with the names
  labels <- c(axis_labels("x", titles$x), axis_labels("y", titles$y))
  if (!is.null(shapes)) return(c(chart(shapes$type), labels, list(elements = utils::head(shapes$elements, points))))
  series <- base_series(operations, names)
  if (length(series$types) == 0L) return(c(chart("unknown"), list(elements = list())))
  axes <- list(base_axis(operations, names, 1L), base_axis(operations, names, 2L))
  limit <- max(1L, points %/% length(series$types))
  elements <- lapply(seq_along(series$types), function(i) {
    name <- if (length(series$names) == length(series$types)) chart_text(series$names[i])
    name <- if (is.null(name)) paste("Series", i) else name
    point_series(name, series$x[[i]], series$y[[i]], limit, axes[[1L]]$convert, axes[[2L]]$convert)
  })
  type <- if (all(series$types == "line")) "line" else "scatter"
  c(chart(type), labels, base_ticks("x", axes[[1L]]), base_ticks("y", axes[[2L]]), list(elements = utils::head(elements, points)))
}

# The lines and points of a plot, without those of its legend. The texts of the legend are the names of the series.
base_series <- function(operations, names) {
  found <- list(types = character(), x = list(), y = list(), names = NULL)
  texts <- which(names == "C_text")
  legend_until <- 0L
  for (i in seq_along(operations)) {
    if (names[i] == "C_strHeight" && any(texts > i)) {
      legend_until <- min(texts[texts > i])
      found$names <- bare(operations[[legend_until]][[3L]])
    }
    if (names[i] != "C_plotXY" || i < legend_until || length(found$types) == CHART_POINTS_MAX) next
    xy <- operations[[i]][[2L]]
    type <- operations[[i]][[3L]]
    if (!is.list(xy) || !is.character(type) || type[1L] == "n") next
    xy <- unclass(xy)
    x <- bare(xy$x)
    y <- bare(xy$y)
    if (!is.numeric(x) || !is.numeric(y) || length(x) != length(y) || length(x) == 0L) next
    found$types <- c(found$types, if (type[1L] %in% LINE_TYPES) "line" else "scatter")
    found$x <- c(found$x, list(x))
    found$y <- c(found$y, list(y))
  }
  found
}

# The scale of an axis, its ticks, and a function that converts dates to text.
base_axis <- function(operations, names, side) {
  window <- Filter(function(one) length(one) >= 4L, operations[names == "C_plot_window"])
  if (length(window) == 0L) return(list(scale = "linear", ticks = numeric(), labels = character(), convert = as.numeric))
  limits <- as.numeric(window[[1L]][[side + 1L]])
  log <- is.character(window[[1L]][[4L]]) && grepl(c("x", "y")[side], window[[1L]][[4L]], fixed = TRUE)
  ticks <- if (log) 10^seq(floor(log10(min(limits))), ceiling(log10(max(limits)))) else pretty(limits)
  margin <- if (limits[1L] == limits[2L]) 0.4 * abs(limits[1L]) else 0.04 * abs(diff(limits)) # as R extends an axis
  reach <- if (log) c(0, Inf) else range(limits) + c(-margin, margin)
  axis <- list(scale = if (log) "log" else "linear", ticks = ticks[ticks >= reach[1L] & ticks <= reach[2L]], convert = as.numeric)
  for (one in operations[names == "C_axis"]) {
    at <- if (length(one) >= 4L && is.numeric(one[[2L]]) && one[[2L]] == side) one[[3L]]
    if (is.null(at)) next
    axis$ticks <- as.numeric(unclass(at))
    if (is.character(one[[4L]]) && length(one[[4L]]) == length(at)) axis$labels <- one[[4L]]
    if (!inherits(at, c("Date", "POSIXct"))) next
    axis[c("scale", "convert")] <- list("datetime", date_text(inherits(at, "Date"), attr(at, "tzone")))
  }
  if (is.null(axis$labels)) axis$labels <- format(axis$ticks, trim = TRUE)
  axis
}

date_text <- function(is_date, zone) {
  if (is_date) return(function(x) format(.Date(x), "%Y-%m-%d"))
  function(x) format(.POSIXct(x, if (is.character(zone)) zone[1L]), "%Y-%m-%dT%H:%M:%S")
}

base_ticks <- function(name, axis) {
  labels <- vapply(utils::head(axis$labels, CHART_TICKS_MAX), chart_text, "", USE.NAMES = FALSE)
  parts <- list(ticks = I(axis$convert(utils::head(axis$ticks, CHART_TICKS_MAX))), tick_labels = I(labels), scale = axis$scale)
  `names<-`(parts, paste0(name, "_", names(parts)))
}
