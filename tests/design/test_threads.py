"""Solvers use one thread."""

from threadpoolctl import threadpool_info, threadpool_limits

from cloakgp.design.threads import single_threaded


def test_solvers_use_one_thread_and_give_the_others_back():
    def threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    with threadpool_limits(2, user_api="blas"):
        before = threads()
        inside = single_threaded(threads)()
        after = threads()
    assert before
    assert set(inside) == {1}
    assert after == before
