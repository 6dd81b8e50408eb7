"""What each PySpark can do: Python data sources since 4.0; before, one sentence says what to use.

spec: R5.3
"""

from __future__ import annotations

import pytest

from spark.session import HAS_SOURCES


def test_without_data_sources_the_import_says_what_works() -> None:
    if HAS_SOURCES:
        from kafkastore.spark import KafkastoreDataSource

        assert KafkastoreDataSource.name() == "kafkastore_py"
        return
    with pytest.raises(
        ImportError, match=r"needs PySpark 4\.0 or newer; in 3\.5 use segments\(\) and scan_segments\(\)"
    ):
        from kafkastore.spark import KafkastoreDataSource
