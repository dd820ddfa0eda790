# SPDX-License-Identifier: GPL-2.0-or-later
"""Rules of findings. Each module has what the audit knows about a rule, or about rules that share a kind of evidence.

All modules of this directory are imported, and register their rules (`registry.py`). They have the names of the modules in
`crates/findings/src`.
"""

import importlib
import pkgutil

for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name):
    importlib.import_module(f"{__name__}.{module.name}")
