"""Exports as files and folders of this machine. What comes out of a session is hostile: no name and no link leads out of the folder."""

from __future__ import annotations

import os
import pathlib
import shutil
import tarfile
from typing import Optional


def _safe(member: tarfile.TarInfo, folder: str) -> Optional[tarfile.TarInfo]:
    """What tarfile's own data filter does, for Pythons that have none. None leaves the member out."""
    parts = pathlib.PurePosixPath(member.name).parts
    if member.name.startswith("/") or ".." in parts:
        raise tarfile.TarError(f"{member.name!r} leads out of the folder")
    if member.issym():
        target = os.path.normpath(os.path.join(folder, os.path.dirname(member.name), member.linkname))
        if os.path.isabs(member.linkname) or os.path.commonpath([folder, target]) != folder:
            return None
    elif not (member.isfile() or member.isdir()):
        return None
    member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
    return member


def bring(host_path: str, name: str, is_folder: bool, to: str) -> str:
    """Copies an export into the folder `to`, under its name; returns where it is now. A folder is merged into one that is there."""
    folder = os.path.realpath(to)
    os.makedirs(folder, exist_ok=True)
    place = os.path.join(folder, name)
    if not is_folder:
        if os.path.islink(place):
            os.unlink(place)  # it is replaced, not followed
        shutil.copyfile(host_path, place)
        return place
    with tarfile.open(host_path) as archive:
        for member in archive:
            safe = _safe(member, folder)
            if safe is None:
                continue
            parent = os.path.realpath(os.path.join(folder, os.path.dirname(safe.name)))
            if os.path.commonpath([folder, parent]) != folder:
                raise tarfile.TarError(f"{safe.name!r} leads out of the folder")
            if hasattr(tarfile, "data_filter"):
                archive.extract(safe, folder, filter="data")
            else:
                archive.extract(safe, folder)
    return place
