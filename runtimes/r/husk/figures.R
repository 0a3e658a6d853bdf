# Pictures: plots are drawn into numbered PNG files, one a page, and shown when the page is finished. No file, no page:
# a device that was only asked for its size shows nothing.

PLOT_WIDTH <- 8 # inches
PLOT_HEIGHT <- 6
PLOT_RESOLUTION <- 100 # pixels an inch
PIXELS_MAX <- 2000 # each side
BYTES_MAX <- 700000

figures <- new.env(parent = emptyenv())
figures$devices <- list() # of list(files = pattern, number = device, shown = pages)
figures$count <- 0L
figures$owner <- 0L # the process whose devices these are

plot_option <- function(name, default) {
  value <- getOption(paste0("husk.plot.", name), getOption(paste0("repr.plot.", name), default))
  if (is.numeric(value) && length(value) == 1L && is.finite(value) && value > 0) value else default
}

# What options(device=) names: R calls it when something is drawn and no device is open, dev.new() with a size.
open_device <- function(width = NULL, height = NULL, ...) {
  size <- c(if (is.numeric(width)) width else plot_option("width", PLOT_WIDTH),
            if (is.numeric(height)) height else plot_option("height", PLOT_HEIGHT))
  resolution <- plot_option("res", PLOT_RESOLUTION)
  resolution <- resolution * min(1, PIXELS_MAX / (size * resolution))
  folder <- file.path(tempdir(check = TRUE), "husk-plots")
  dir.create(folder, showWarnings = FALSE)
  figures$count <- figures$count + 1L
  files <- file.path(folder, sprintf("%d-%d-%%05d.png", Sys.getpid(), figures$count))
  suspendInterrupts({
    grDevices::png(files, size[1L], size[2L], units = "in", res = resolution, type = "cairo", bg = "white")
    grDevices::dev.control("enable") # as on a screen: dev.copy() and recordPlot() work
    device <- list(files = files, number = grDevices::dev.cur(), shown = 0L)
    figures$devices[[length(figures$devices) + 1L]] <- device
    figures$owner <- Sys.getpid()
  })
  invisible()
}

# Before a new page: a forked child must not draw on its parent's, which would show it as its own.
leave_parents_device <- function(...) {
  if (length(figures$devices) == 0L || figures$owner == Sys.getpid()) return(invisible())
  current <- attr(get(".Device", envir = baseenv()), "filepath")
  inherited <- vapply(figures$devices, function(device) device$files, "")
  figures$devices <- list()
  if (!is.null(current) && current %in% inherited) open_device()
  invisible()
}

device_is_open <- function(device) {
  number <- device$number
  all <- get(".Devices", envir = baseenv())
  number <= length(all) && identical(attr(all[[number]], "filepath"), device$files)
}

# Pages that are complete: the device has begun the next one or is closed. Called at every new page and between expressions.
show_finished_pages <- function(...) {
  if (length(figures$devices) == 0L || is_forked()) return(invisible())
  suspendInterrupts({
    open <- vapply(figures$devices, device_is_open, NA)
    for (i in seq_along(open)) figures$devices[[i]]$shown <- show_pages(figures$devices[[i]], open[i])
    figures$devices <- figures$devices[open]
  })
  raise_interrupt()
  invisible()
}

show_pages <- function(device, open) {
  page <- device$shown
  file <- sprintf(device$files, page + 1L)
  while (file.exists(file)) {
    following <- sprintf(device$files, page + 2L)
    if (open && !file.exists(following)) break
    size <- file.size(file)
    if (size > 0) send_display(list("image/png" = readBin(file, "raw", size)))
    unlink(file)
    page <- page + 1L
    file <- following
  }
  page
}

# At the end of a cell its pages are finished.
finish_figures <- function() {
  for (device in figures$devices) if (device_is_open(device)) grDevices::dev.off(device$number)
  show_finished_pages()
}

set_up_figures <- function() {
  options(device = open_device, bitmapType = "cairo")
  setHook("before.plot.new", leave_parents_device)
  setHook("before.grid.newpage", leave_parents_device)
  setHook("plot.new", show_finished_pages)
  setHook("grid.newpage", show_finished_pages)
}

# Within limits -----------------------------------------------------------------------------------------------------

# Pictures of a bundle that are too large become smaller; what cannot be decoded stays as it is.
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

# Lossless while that is enough; a picture full of noise, however small, is too much for PNG.
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
