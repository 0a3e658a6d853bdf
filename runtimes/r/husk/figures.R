# Pictures: plots are drawn into numbered files, one per page, and shown when the page is finished. A device that was
# only opened to query its size has no file, so nothing is shown.

PLOT_WIDTH <- 8 # inches
PLOT_HEIGHT <- 6
PLOT_RESOLUTION <- 100 # pixels per inch
PIXELS_MAX <- 2000 # each side
BYTES_MAX <- 700000

figures <- new.env(parent = emptyenv())
# Each is list(files = pattern, number = device, shown = number of pages, begun = page that has a place, settings,
# wanted = size given to dev.new()).
figures$devices <- list()
figures$count <- 0L
figures$owner <- 0L # the process that owns these devices

plot_option <- function(name, default) {
  value <- getOption(paste0("husk.plot.", name), getOption(paste0("repr.plot.", name), default))
  if (is.numeric(value) && length(value) == 1L && is.finite(value) && value > 0) value else default
}

# Settings from the current options; `wanted` is the size given to dev.new().
plot_settings <- function(wanted = list()) {
  list(width = if (is.numeric(wanted$width)) wanted$width else plot_option("width", PLOT_WIDTH),
       height = if (is.numeric(wanted$height)) wanted$height else plot_option("height", PLOT_HEIGHT),
       resolution = plot_option("res", PLOT_RESOLUTION),
       format = if (identical(getOption("husk.plot.format"), "svg")) "svg" else "png")
}

# The function of options(device=): R calls it when something is drawn and no device is open; dev.new() calls it with a
# size.
open_device <- function(width = NULL, height = NULL, ...) {
  wanted <- list(width = width, height = height)
  settings <- plot_settings(wanted)
  folder <- file.path(tempdir(check = TRUE), "husk-plots")
  dir.create(folder, showWarnings = FALSE)
  figures$count <- figures$count + 1L
  files <- file.path(folder, sprintf("%d-%d-%%05d.%s", Sys.getpid(), figures$count, settings$format))
  suspendInterrupts({
    start_device(files, settings)
    grDevices::dev.control("enable") # makes dev.copy() and recordPlot() work, as on a screen
    device <- list(files = files, number = grDevices::dev.cur(), shown = 0L, begun = 0L, settings = settings, wanted = wanted)
    figures$devices[[length(figures$devices) + 1L]] <- device
    figures$owner <- Sys.getpid()
  })
  invisible()
}

start_device <- function(files, settings) {
  size <- c(settings$width, settings$height)
  if (settings$format == "svg") return(grDevices::svg(files, size[1L], size[2L], onefile = FALSE, bg = "white"))
  resolution <- settings$resolution * min(1, PIXELS_MAX / (size * settings$resolution))
  grDevices::png(files, size[1L], size[2L], units = "in", res = resolution, type = "cairo", bg = "white")
}

# Called before a new page: keeps a forked child from drawing on its parent's page, which the parent would show.
leave_parents_device <- function(...) {
  if (length(figures$devices) == 0L || figures$owner == Sys.getpid()) return(invisible())
  inherited <- vapply(figures$devices, function(device) device$files, "")
  current <- current_file()
  figures$devices <- list()
  if (!is.null(current) && current %in% inherited) open_device()
  invisible()
}

current_file <- function() attr(get(".Device", envir = baseenv()), "filepath")

# The current device if the kernel opened it, else NULL.
current_device <- function() {
  file <- current_file()
  for (device in figures$devices) if (identical(device$files, file)) return(device)
}

is_outdated <- function(device) !is.null(device) && !identical(device$settings, plot_settings(device$wanted))

# Called before a new page: gives it the size of the current options. A device has a fixed size, so another size needs a
# new device.
follow_options <- function(...) {
  device <- current_device()
  if (!is_outdated(device)) return(invisible())
  grDevices::dev.off(device$number)
  do.call(open_device, device$wanted)
  invisible()
}

# Does the same for base graphics. A page may have several plots there, and par() still applies to later plots.
follow_options_with_par <- function(...) {
  if (!is_outdated(current_device()) || !graphics::par("page")) return(invisible())
  old <- graphics::par(no.readonly = TRUE)
  follow_options()
  graphics::par(old[setdiff(names(old), OF_THE_SIZE)])
  invisible()
}

OF_THE_SIZE <- c("fin", "pin", "plt", "fig", "mai", "omi", "omd", "usr", "mfg", "new", "cxy", "din", "cin", "cra", "csi")

device_is_open <- function(device) {
  number <- device$number
  all <- get(".Devices", envir = baseenv())
  number <= length(all) && identical(attr(all[[number]], "filepath"), device$files)
}

# Shows complete pages: the device has begun the next page or is closed. Called at every new page and between
# expressions.
show_finished_pages <- function(...) {
  if (length(figures$devices) == 0L || is_forked()) return(invisible())
  suspendInterrupts({
    open <- vapply(figures$devices, device_is_open, NA)
    for (i in seq_along(open)) figures$devices[[i]]$shown <- show_pages(figures$devices[[i]], open[i])
    figures$devices <- lapply(figures$devices[open], note_page)
  })
  invisible()
}

show_pages <- function(device, open) {
  page <- device$shown
  file <- sprintf(device$files, page + 1L)
  while (file.exists(file)) {
    following <- sprintf(device$files, page + 2L)
    if (open && !file.exists(following)) break
    size <- file.size(file)
    plot <- if (identical(device$plotted, page + 1L)) device$plot
    drawn <- if (identical(device$drawn$page, page + 1L)) device$drawn
    if (size > 0) show_page_file(readBin(file, "raw", size), device$settings$format, place_of(device, page + 1L), plot, drawn)
    unlink(file)
    page <- page + 1L
    file <- following
  }
  page
}

# Records the ggplot of the new page, because its values are sent with the picture.
note_plot <- function(...) {
  if (!isNamespaceLoaded("ggplot2") || is.null(device <- current_device())) return(invisible())
  callers <- vapply(sys.calls(), function(call) as.character(call[[1L]])[1L], "")
  is_ggplot <- any(grepl("^print\\.(ggplot|ggplot2::ggplot)$", callers))
  for (i in seq_along(figures$devices)) {
    if (!identical(figures$devices[[i]]$files, device$files)) next
    figures$devices[[i]]["plot"] <- list(if (is_ggplot) ggplot2::last_plot())
    figures$devices[[i]]$plotted <- device$shown + 1L
  }
  invisible()
}

SVG_MARKS <- "<(path|g|image|use|circle|polygon|polyline|line)\\b"

# Shows a page. `name` is the name of its place, NULL if it has none.
show_page_file <- function(bytes, format, name, plot = NULL, drawn = NULL) {
  if (format == "svg") {
    text <- raw_text(bytes)
    if (length(gregexpr(SVG_MARKS, text)[[1L]]) > 1L) {
      send_display(c(list("image/svg+xml" = text), chart_part(plot, drawn)), name, !is.null(name))
    }
  } else if (!is_blank(bytes)) {
    send_display(c(list("image/png" = bytes), chart_part(plot, drawn)), name, !is.null(name))
  }
}

# Reserves a place for the page that a device has begun.
note_page <- function(device) {
  page <- device$shown + 1L
  file <- sprintf(device$files, page)
  if (device$begun < page && !is.null(cell$id) && file.exists(file)) {
    device$begun <- page
    begin_page(basename(file))
  }
  device
}

# The name of a finished page's place; NULL if no output came after the page had begun.
place_of <- function(device, page) {
  name <- basename(sprintf(device$files, page))
  if (device$begun == page && is_placed(name)) name
}

# TRUE if nothing was drawn on the page, as after a failing ggplot: the only colour of the picture's palette is white.
is_blank <- function(png) {
  at <- 34L # position of the first chunk after the header
  while (at + 11L < length(png)) {
    size <- readBin(png[at + 0:3], "integer", 1L, size = 4L, endian = "big")
    type <- rawToChar(png[at + 4:7])
    if (type == "PLTE") return(size == 3L && all(png[at + 8:10] == 0xff))
    if (type == "IDAT") return(FALSE)
    at <- at + 12L + size
  }
  FALSE
}

# Called at the end of a cell: finishes its pages.
finish_figures <- function() {
  if (length(figures$devices) == 0L) return()
  for (device in figures$devices) if (device_is_open(device)) grDevices::dev.off(device$number)
  show_finished_pages()
}

set_up_figures <- function() {
  options(device = open_device, bitmapType = "cairo")
  setHook("before.plot.new", leave_parents_device)
  setHook("before.grid.newpage", leave_parents_device)
  setHook("before.plot.new", follow_options_with_par)
  setHook("before.grid.newpage", follow_options)
  setHook("plot.new", show_finished_pages)
  setHook("grid.newpage", show_finished_pages)
  setHook("plot.new", note_plot)
  setHook("plot.new", note_base_plot)
  setHook("grid.newpage", note_plot)
}

# Limits of pictures ------------------------------------------------------------------------------------------------

# Makes pictures of a bundle smaller that are too large. Data that cannot be decoded is left unchanged.
fit_pictures <- function(data) {
  png <- data[["image/png"]]
  if (is.null(png)) return(data)
  if (!is.raw(png)) png <- tryCatch(base64enc::base64decode(valid_text(png)), error = function(e) raw(0L))
  if (length(png) <= BYTES_MAX && max(png_size(png)) <= PIXELS_MAX) return(data)
  smaller <- tryCatch(suppressWarnings(shrink(png)), error = function(e) NULL)
  if (is.null(smaller)) return(data)
  data <- data[names(data) != "image/png"]
  c(data, smaller)
}

# Width and height from the header.
png_size <- function(bytes) {
  if (length(bytes) < 24L || !identical(bytes[1:4], as.raw(c(0x89, 0x50, 0x4e, 0x47)))) return(c(0, 0))
  readBin(bytes[17:24], "integer", 2L, size = 4L, endian = "big")
}

# Returns a PNG if it is small enough at the reduced size, otherwise a JPEG, which suits noisy pictures.
shrink <- function(bytes) {
  picture <- png::readPNG(bytes, native = TRUE)
  size <- rev(dim(picture))
  size <- size * min(1, PIXELS_MAX / size)
  if (max(png_size(bytes)) > PIXELS_MAX) {
    smaller <- draw(picture, size, grDevices::png, type = "cairo")
    if (length(smaller) <= BYTES_MAX) return(list("image/png" = smaller))
  }
  repeat {
    smaller <- draw(picture, size, grDevices::jpeg, type = "cairo", quality = 85)
    if (length(smaller) <= BYTES_MAX || max(size) < 100) return(list("image/jpeg" = smaller))
    size <- size * 0.7
  }
}

draw <- function(picture, size, device, ...) {
  file <- tempfile("husk-picture")
  current <- grDevices::dev.cur()
  device(file, round(size[1L]), round(size[2L]), bg = "white", ...)
  own <- grDevices::dev.cur()
  on.exit({
    if (own %in% grDevices::dev.list()) grDevices::dev.off(own)
    if (current > 1L) grDevices::dev.set(current)
    unlink(file)
  })
  grid::grid.draw(grid::rasterGrob(picture, width = 1, height = 1))
  grDevices::dev.off(own)
  readBin(file, "raw", file.size(file))
}
