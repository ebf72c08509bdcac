# SPDX-License-Identifier: Apache-2.0
"""The engine's log in Python's: loggers are called dlcore.SOURCE."""

from __future__ import annotations

import logging
import threading
from typing import Any

from . import _dlcore as raw


def follow(engine: Any) -> None:
    """Hands on what the engine says until it is closed, on a thread of its own. The levels of both have the same
    numbers."""
    threading.Thread(target=_hand_on, args=(engine._rebind(None),), name="dlcore.log", daemon=True).start()


def _hand_on(engine: Any) -> None:
    record = raw.dlcore_log_record()
    while raw.dlcore_engine_next_log(engine, record, -1):
        logger = logging.getLogger(f"dlcore.{record.source}")
        if record.lost:
            logger.warning("%d records before this one were lost", record.lost)
        logger.log(record.level, "%s", record.message)
    engine.release()
