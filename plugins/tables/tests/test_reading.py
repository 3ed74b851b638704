import json
import unittest

from tables.reading import MOST_CELLS, named, read
from tables.table import BadTable, parsed


def error_text(data, *more):
    try:
        read(data, *more)
    except BadTable as error:
        return str(error)
    raise AssertionError("it was read")


class Csv(unittest.TestCase):
    def test_quotes_hold_delimiters_lines_and_quotes(self):
        table = read('a,b\n"x, y","two\nlines"\n"say ""hi""",2\n')
        self.assertEqual(table.rows, [["x, y", "two\nlines"], ['say "hi"', 2]])

    def test_the_delimiter_is_guessed_outside_of_quotes(self):
        for delimiter in ",;\t|":
            with self.subTest(delimiter=delimiter):
                self.assertEqual(read(f'"a,;b"{delimiter}c\n1{delimiter}2\n').rows, [[1, 2]])
        self.assertEqual(read("one\n1\n").columns, ["one"])

    def test_a_mark_of_byte_order_and_line_ends_of_windows_are_nothing(self):
        table = read("\ufeffa,b\r\n1,2\r\n\r\n3,4\r\n")
        self.assertEqual((table.columns, table.rows), (["a", "b"], [[1, 2], [3, 4]]))

    def test_short_rows_are_filled_up(self):
        self.assertEqual(read("a,b,c\n1\n2,,\n4,5,6,,\n").rows, [[1, None, None], [2, None, None], [4, 5, 6]])

    def test_long_rows_are_rejected_with_their_line(self):
        said = error_text('a,b\n"1\n2",2\n3,4,five\n')
        self.assertIn("line 4 has 3 cells, but there are 2 columns", said)
        self.assertIn("'five'", said)

    def test_names_are_made_and_kept_apart(self):
        self.assertEqual(read(" a ,,a,a\n1,2,3,4").columns, ["a", "column_2", "a_2", "a_3"])
        self.assertEqual(
            named(["a", "a_3", "a", "a", "a", "a_2"]), ["a", "a_3", "a_2", "a_4", "a_5", "a_2_2"]
        )

    def test_many_columns_of_one_name_take_no_longer_than_others(self):
        self.assertEqual(named(["a"] * 100_000)[-1], "a_100000")

    def test_open_quotes_are_reported(self):
        self.assertIn("cannot be read at line", error_text('a,b\n"1,2\n3,4\n'))

    def test_emptiness_is_reported(self):
        for data in ("", "  \n", "\ufeff", '""', '""\n" "\n'):
            self.assertIn("the data is empty", error_text(data))
        self.assertEqual(read("a,b\n").rows, [])

    def test_a_delimiter_must_be_one_character(self):
        for delimiter in ('"', "\n", "ab"):
            self.assertIn("must be one character", error_text("a", "csv", delimiter))
        self.assertEqual(read("a:b\n1:2", None, ":").rows, [[1, 2]])

    def test_too_much_is_rejected(self):
        self.assertIn("is the most", error_text("a,b\n" + "1,2\n" * (MOST_CELLS // 2 + 1)))


class Cells(unittest.TestCase):
    def test_what_looks_like_a_number_is_one(self):
        for text, value in {
            "1": 1,
            " -2 ": -2,
            "+3": 3,
            "2.50": 2.5,
            ".5": 0.5,
            "1e3": 1000.0,
            "0": 0,
        }.items():
            self.assertEqual(parsed(text), value)
        self.assertEqual(parsed("9" * 40), int("9" * 40))

    def test_codes_and_what_floats_cannot_hold_are_texts(self):
        for text in (
            "007",
            "-07",
            "1e999",
            "0x10",
            "1_000",
            "1_0.5",
            "١٢",
            "1,5",
            "inf",
            "-inf",
            "+nan",
            "9" * 301,
            "²",
            "1-2",
        ):
            self.assertEqual(parsed(text), text)

    def test_what_is_missing_and_what_is_true(self):
        for text in ("", " ", "NA", "n/a", "NaN", "null", "None", "-"):
            self.assertIsNone(parsed(text))
        self.assertIs(parsed("TRUE"), True)
        self.assertIs(parsed("false"), False)


class Json(unittest.TestCase):
    def test_every_shape_is_a_table(self):
        same = [["x", 1], ["y", None]]
        for data in (
            '[{"a": "x", "b": 1}, {"a": "y"}]',
            '[["a", "b"], ["x", 1], ["y"]]',
            '{"a": ["x", "y"], "b": [1, null]}',
            '{"a": "x", "b": 1}\n{"a": "y"}\n',
        ):
            with self.subTest(data=data):
                table = read(data)
                self.assertEqual((table.columns, table.rows), (["a", "b"], same))
        self.assertEqual(read('{"a": 1}').rows, [[1]])

    def test_numbers_are_kept_as_they_are(self):
        self.assertEqual(
            read('[{"a": 123456789012345678901234567890, "b": NaN}]').rows[0], [int("1234567890" * 3), None]
        )

    def test_what_is_no_table_is_reported_with_its_place(self):
        self.assertIn("row 2, column `a`", error_text('[{"a": 1}, {"a": [1]}]'))
        self.assertIn("row 2 is no object", error_text('[{"a": 1}, 2]'))
        self.assertIn("row 1 has 2 values", error_text('[["a"], [1, 2]]'))
        self.assertIn("the column `b` has 1 values", error_text('{"a": [1, 2], "b": [1]}'))
        self.assertIn("line 2 is not JSON", error_text('{"a": 1}\n{"a": }\n'))
        self.assertIn("empty list", error_text("[]"))
        self.assertIn("no table", error_text("3", "json"))
        self.assertIn("cannot be read", error_text("[1,"))

    def test_deep_nesting_is_rejected_before_it_is_read(self):
        for data in (
            "[" * 2000,
            '{"a": [' * 30 + "]}" * 30,
            '[{"a": "' + r'\\", "b": ' + "[1, " * 60,
            '{"a": 1}\n{"a": ' + "[" * 60,
        ):
            self.assertIn("nested too deeply", error_text(data))

    def test_brackets_in_texts_and_beside_each_other_are_no_nesting(self):
        text = '\\"' + "[{" * 100 + "\\"
        rows = [[text]] * 100
        self.assertEqual(read(json.dumps([{text: text}] * 100)).rows, rows)
        self.assertEqual(read('{"a": 1}\n' * 100).rows, [[1]] * 100)


if __name__ == "__main__":
    unittest.main()
