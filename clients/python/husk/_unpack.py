"""Copies exports to files and folders of this machine. An export may be hostile: no name and no link in it may lead out of the folder."""

from __future__ import annotations

import os
import pathlib
import shutil
import tarfile
from typing import Optional


def _safe(member: tarfile.TarInfo, folder: str) -> Optional[tarfile.TarInfo]:
    """Does the same as tarfile's data filter, which older Pythons do not have. Returns None for a member to leave out."""
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
    """Copies an export into the folder `to` under its name, and returns the new path. A folder is merged into an existing one."""
    folder = os.path.realpath(to)
    os.makedirs(folder, exist_ok=True)
    place = os.path.join(folder, name)
    if not is_folder:
        if os.path.islink(place):
            os.unlink(place)  # replace the link instead of following it
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
