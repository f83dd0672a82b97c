"""People in blocks: everybody is counted once, whatever the blocks."""

import numpy as np
import pytest
from design_cases import random_prior

from cloakgp.design.bayes import blocks
from cloakgp.design.bayes.blocks import (
    block_spans,
    columns_of,
    longest_sum,
    squared_norms,
    sum_blocks,
)
from cloakgp.design.bayes.problem import DenseProblem

PRIOR = random_prior(0, count=23)
EVERYBODY = DenseProblem(PRIOR.C, PRIOR.diagonal, PRIOR.factor, PRIOR.sigma, PRIOR.floor)


@pytest.mark.parametrize("block", [1, 7, 23, 100])
def test_sums_do_not_depend_on_the_blocks(monkeypatch, block):
    monkeypatch.setattr(blocks, "BLOCK_PEOPLE", block)
    assert [n for span in block_spans(23) for n in range(23)[span]] == list(range(23))
    found = sum_blocks(EVERYBODY.blocks(), 3, 2)
    V, a, L = EVERYBODY.V, EVERYBODY.a, EVERYBODY.L
    np.testing.assert_allclose(found.VL, V @ L)
    np.testing.assert_allclose(found.shared, L.T @ L)
    np.testing.assert_allclose(found.covariance, V @ (np.diag(a) + L @ L.T) @ V.T)
    assert found.scale == pytest.approx(np.trace(found.covariance))
    assert found.variance == pytest.approx(a.sum())
    lengths = np.linalg.norm(V, axis=0) * np.linalg.norm(L, axis=1)
    assert found.sizes == pytest.approx(lengths.sum())


@pytest.mark.parametrize("count", [1, 10, 11, 1000])
def test_no_term_goes_through_more_additions_than_said(monkeypatch, count):
    monkeypatch.setattr(blocks, "BLOCK_PEOPLE", 10)
    spans = list(block_spans(count))
    most = max(span.stop - span.start for span in spans) - 1 + len(spans)
    assert most <= longest_sum(count)


def test_a_matrix_hands_out_the_columns_of_a_block():
    T = np.random.default_rng(1).normal(size=(2, 23))
    columns = columns_of(T)
    found = np.hstack([columns(block) for block in EVERYBODY.blocks()])
    np.testing.assert_array_equal(found, T)
    np.testing.assert_allclose(squared_norms(T), np.linalg.norm(T, axis=0) ** 2)
