import pytest
from made_records import records_of

from rankad.reproduce import paper
from rankad.reproduce.experiments import FIG_2, FIG_3, TABLE_2
from rankad.reproduce.records import Key


@pytest.fixture(scope="session")
def table_2_records():
    return records_of(TABLE_2)


@pytest.fixture(scope="session")
def fig_2_records():
    return records_of(FIG_2)


@pytest.fixture(scope="session")
def fig_3_records():
    return records_of(FIG_3)


@pytest.fixture
def key():
    return Key("table2", paper.SETS[0], "raw", "RankAD", 0)
