"""How settings are kept and changed safely (host.md §2.6, §2.7)."""

from dsh_mnemon_host.settings.facade import FileSettings
from dsh_mnemon_host.settings.file import settings_path
from dsh_mnemon_host.settings.legacy import canonicalize_display_mode
from dsh_mnemon_host.settings.mutable import MAX_OPERATIONS, MUTABLE_KEYS, require_mutable
from dsh_mnemon_host.settings.operations import (
    MISSING,
    Operation,
    OperationLike,
    Place,
    read_operations,
)
from dsh_mnemon_host.settings.service import (
    NAMESPACES,
    Admission,
    Listener,
    NamespaceDescription,
    SettingsService,
)

__all__ = (
    "MAX_OPERATIONS",
    "MISSING",
    "MUTABLE_KEYS",
    "NAMESPACES",
    "Admission",
    "FileSettings",
    "Listener",
    "NamespaceDescription",
    "Operation",
    "OperationLike",
    "Place",
    "SettingsService",
    "canonicalize_display_mode",
    "read_operations",
    "require_mutable",
    "settings_path",
)
