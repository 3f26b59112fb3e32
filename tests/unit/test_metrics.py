"""What the process counts: declared, named as Prometheus has it, and written so that it can be read."""

import re

import pytest

from memorycore import metrics
from memorycore.web import prometheus


@pytest.mark.parametrize(("name", "metric"), metrics.DECLARED.items())
def test_names_follow_the_conventions(name: str, metric: metrics.Metric) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]*", name)
    assert name.startswith(("memorycore_", "process_"))
    assert name.endswith("_total") == (metric.kind == "counter")
    assert metric.kind != "histogram" or name.endswith("_seconds")
    assert metric.help.endswith(".")
    assert "\n" not in metric.help
    assert "le" not in metric.labels


def test_only_what_is_declared_can_be_counted() -> None:
    with pytest.raises(KeyError):
        metrics.add("memorycore_of_our_invention_total")
    with pytest.raises(KeyError):
        metrics.add("memorycore_stores_total")
    with pytest.raises(KeyError):
        metrics.add("memorycore_stores_total", status="stored", text="secret")


def test_a_histogram_adds_up() -> None:
    for seconds in (0.001, 0.01, 0.3, 99):
        metrics.observe("memorycore_call_duration_seconds", seconds, call="of the test")
    found = [
        one for one in metrics.samples()["memorycore_call_duration_seconds"] if ("call", "of the test") in one.labels
    ]
    by_bound = {dict(one.labels)["le"]: one.value for one in found if one.name.endswith("_bucket")}
    assert list(by_bound.values()) == sorted(by_bound.values())
    assert (by_bound["0.005"], by_bound["0.01"], by_bound["0.5"], by_bound["10.0"], by_bound["+Inf"]) == (1, 2, 3, 3, 4)
    assert [one.value for one in found if one.name.endswith("_count")] == [4]
    assert [one.value for one in found if one.name.endswith("_sum")] == [pytest.approx(99.311)]


def test_labels_are_escaped_and_every_line_can_be_read() -> None:
    metrics.add("memorycore_stores_total", status='a "quoted"\\ one\nand more')
    page = prometheus.page()
    assert 'status="a \\"quoted\\"\\\\ one\\nand more"' in page
    line = re.compile(r'[a-z_]+(\{([a-z]+="([^"\\\n]|\\.)*",?)+\})? -?[0-9.e+-]+')
    for one in page.splitlines():
        assert one.startswith("# ") or line.fullmatch(one), one
