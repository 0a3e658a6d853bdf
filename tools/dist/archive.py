"""Archives that are identical for the same content: names are sorted, all files have one time, and modes are 0755 or
0644.
"""

import gzip
import io
import os
import tarfile
import time
import zipfile

# The time of all files comes from SOURCE_DATE_EPOCH, which dist.py sets, within what both formats can store.
EARLIEST = 315532800  # 1980, the earliest time in a zip


def epoch():
    return max(EARLIEST, int(os.environ["SOURCE_DATE_EPOCH"]))


def tree_files(folder, below=""):
    """(name in the archive, file) of everything in a folder; links are the files that they point to."""
    return sorted((f"{below}{path.relative_to(folder)}", path) for path in folder.rglob("*") if path.is_file())


def is_executable(entry):
    return not isinstance(entry, bytes) and os.access(entry, os.X_OK)


def read(entry):
    return entry if isinstance(entry, bytes) else entry.read_bytes()


def write_zip(path, entries, level):
    """Makes an archive of (name, file or bytes[, executable])."""
    date = time.gmtime(epoch())[:6]
    with zipfile.ZipFile(path, "w", compresslevel=level) as archive:
        for name, entry, *executable in entries:
            info = zipfile.ZipInfo(name, date)
            info.compress_type = zipfile.ZIP_DEFLATED if level else zipfile.ZIP_STORED
            info.create_system = 3  # Unix, so that the modes below are used
            info.external_attr = (0o100755 if is_executable(entry) or any(executable) else 0o100644) << 16
            archive.writestr(info, read(entry), compresslevel=level)
    return path


def write_tgz(path, entries, level):
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", level, raw, epoch()) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, entry in entries:
            data = read(entry)
            info = tarfile.TarInfo(name)
            info.size, info.mtime, info.mode = len(data), epoch(), 0o755 if is_executable(entry) else 0o644
            archive.addfile(info, io.BytesIO(data))
    return path
