from __future__ import annotations

from remora.gateway.compression.formats.outline import block, code, config, narrow, parents, snapshot

CODE = [
    "import x",
    "class A:",
    '    """What it is."""',
    "    def f(self):",
    "        raise ValueError",
    "    def g(self):",
    "        pass",
    "",
    "LIMIT = 5",
]


def test_lines_belong_to_the_line_above_that_is_indented_less() -> None:
    assert parents(["a", "  b", "    c", "", "  d", "e {", "  f", "}"]) == [-1, 0, 1, 2, 0, -1, 5, 6]


def test_signatures_documentation_and_errors_matter() -> None:
    prior = code(CODE, True).prior
    assert prior[1] == prior[3] == 2.0
    assert prior[2] == prior[4] == 1.2
    assert prior[8] > prior[0] > prior[7]


def test_a_definition_with_its_body() -> None:
    assert block(CODE, 3) == [3, 4]
    assert block(CODE, 1) == [1, 2, 3, 4, 5, 6]
    assert block(["func f() {", "  x", "}", "y"], 0) == [0, 1, 2]


def test_settings_belong_to_their_section_and_records_have_a_name() -> None:
    assert config(["[a]", "x = 1", "[b]", "y = 2"], True).up == [-1, 0, -1, 2]
    made = config(["- kind: a", "  name: one", "- kind: b", "  name: two"], True)
    assert (made.up, made.title, made.siblings) == ([-1, 0, -1, 2], {0: 1, 2: 3}, True)


def test_what_can_be_acted_upon_matters_in_a_snapshot() -> None:
    prior = snapshot(["- main:", '  - button "Go"', "  - generic:", '  - alert "Stop"']).prior
    assert prior[3] > prior[1] > 0 > prior[2]


def test_indentation_is_narrowed_only_where_it_is_even() -> None:
    assert narrow(["a", "    b", "        c"]) == ["a", " b", "  c"]
    assert narrow(["a", "  b", "   c"]) == ["a", "  b", "   c"]


def test_a_cell_that_says_what_its_row_says_is_worth_little() -> None:
    lines = ['- row "Ann 3" [ref=e1]:', '  - cell "Ann 3" [ref=e2]', '  - cell "3" [ref=e3]']
    prior = snapshot(lines).prior
    assert prior[1] < -1
    assert 2 not in prior
