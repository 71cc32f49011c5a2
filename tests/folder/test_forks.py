"""A fork of the process that opened a memory: servers that load a program before they fork, pools of processes."""

import copy
import os
import pickle
import sys
import traceback
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from conftest import Opener
from hippocampe import AsyncHippocampe, Hippocampe, InvalidInput, Scope, StoreError

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no forks")
FACT = "Zoé keeps the boat in Concarneau"


def succeeds_in_a_fork(call: Callable[[], object]) -> bool:
    if (child := os.fork()) == 0:
        try:
            call()
        except BaseException:  # noqa: BLE001 (a failure must not go on as the test)
            traceback.print_exc(file=sys.__stderr__)
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def refused(hippo: Hippocampe, scope: Scope) -> None:
    for verb in (hippo.recall, hippo.remember, hippo.before_turn):
        with pytest.raises(StoreError, match="before this process was forked"):
            verb(FACT, scope=scope)
    with pytest.raises(StoreError, match="before this process was forked"):
        hippo.remember_many([FACT], scope=scope)
    with pytest.raises(StoreError, match="before this process was forked"):
        hippo.flush()
    hippo.close()


def test_a_fork_is_told_to_open_the_folder_again(
    hashed: None, open_hippo: Opener, scope: Scope
) -> None:
    hippo = open_hippo(embedder="hashed:64")
    hippo.remember(FACT, scope=scope)
    assert succeeds_in_a_fork(lambda: refused(hippo, scope))
    hippo.remember("Omar repairs the boat", scope=scope)
    assert [each.content for each in hippo.recall(FACT, scope=scope, limit=1)] == [FACT]
    assert hippo.verify().ok


def test_a_fork_that_opens_the_folder_again_shares_it(
    hashed: None, open_hippo: Opener, scope: Scope
) -> None:
    hippo = open_hippo(embedder="hashed:64")
    folder = hippo.config.folder

    def child() -> None:
        with closing(Hippocampe.open(folder)) as joined:
            assert not joined.owns
            joined.remember(FACT, scope=scope)
            assert not succeeds_in_a_fork(lambda: joined.recall(FACT, scope=scope))

    assert succeeds_in_a_fork(child)
    assert hippo.recall(FACT, scope=scope)[0].content == FACT


def test_a_memory_is_no_value(hashed: None, open_hippo: Opener) -> None:
    hippo = open_hippo(embedder="hashed:64")
    for each in (hippo, AsyncHippocampe(hippo)):
        for copied in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="cannot be pickled or copied: pass the path"):
                copied(each)


def test_a_memory_is_opened_by_open(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"use Hippocampe\.open"):
        Hippocampe(str(tmp_path))  # pyright: ignore[reportArgumentType]
