import json
import statistics
import unittest

from plugin import convert, group, summarize
from plugport_sdk import testing

PEOPLE = "name,age,city\nAda,36,London\nGrace,85,Arlington\nAlan,41,London\nKatherine,,Newport\n"


def column(data, name, **more):
    outcome = testing.invoke(summarize, data=data, columns=[name], **more)
    assert not outcome.is_error, outcome.text
    return outcome.structured["columns"][0]


class Summarize(unittest.TestCase):
    def test_numbers_agree_with_those_of_python(self):
        numbers = [3, 1.5, 4, 1, 5, 9.25, 2, 6]
        found = column("n\n" + "\n".join(map(str, numbers)), "n")
        self.assertEqual((found["type"], found["count"], found["missing"]), ("number", 8, 0))
        self.assertEqual((found["min"], found["max"], found["sum"]), (1, 9.25, 31.75))
        self.assertAlmostEqual(found["mean"], statistics.mean(numbers))
        self.assertAlmostEqual(found["median"], statistics.median(numbers))
        self.assertAlmostEqual(found["stdev"], statistics.stdev(numbers))
        quartiles = statistics.quantiles(numbers, method="inclusive")
        self.assertEqual([found["quantiles"][at] for at in ("p25", "p50", "p75")], quartiles)

    def test_texts_are_counted(self):
        found = column(PEOPLE, "city")
        self.assertEqual(
            (found["type"], found["unique"], found["top"]), ("text", 3, [{"value": "London", "count": 2}])
        )
        self.assertEqual((found["min"], found["max"], found["mean"]), ("Arlington", "Newport", None))

    def test_what_is_missing_is_counted_apart(self):
        found = column(PEOPLE, "AGE")
        self.assertEqual(
            (found["type"], found["count"], found["missing"], found["sum"]), ("integer", 3, 1, 162)
        )

    def test_whole_numbers_stay_whole_however_long(self):
        big = 10**60
        found = column(f"n\n{big}\n{big + 1}\n", "n")
        self.assertEqual((found["min"], found["max"], found["sum"]), (big, big + 1, 2 * big + 1))
        huge = column("n\n" + "9" * 300 + "\n" + "9" * 300 + "\n", "n")
        self.assertEqual(huge["count"], 2)

    def test_floats_at_their_end_break_nothing(self):
        found = column("n\n1e308\n1e308\n-1e308\n1.5e308\n", "n")
        self.assertEqual((found["max"], found["stdev"]), (1.5e308, None))

    def test_kinds_of_columns(self):
        data = '[{"b": true, "m": 1, "e": null}, {"b": false, "m": "x", "e": null}]'
        self.assertEqual([column(data, name)["type"] for name in "bme"], ["bool", "mixed", "empty"])
        self.assertEqual(column('[{"a": true}, {"a": 1}]', "a")["unique"], 2)

    def test_a_table_without_rows_is_one(self):
        found = testing.invoke(summarize, data="a,b\n").structured
        self.assertEqual((found["rows"], [one["type"] for one in found["columns"]]), (0, ["empty", "empty"]))

    def test_mistakes_are_tool_errors(self):
        for arguments, words in (
            ({"data": ""}, "the data is empty"),
            (
                {"data": PEOPLE, "columns": ["agee"]},
                "there is no column `agee`; the table has name, age, city",
            ),
            ({"data": "a\n1,2"}, "line 2 has 2 cells"),
        ):
            outcome = testing.invoke(summarize, arguments)
            self.assertTrue(outcome.is_error)
            self.assertIn(words, outcome.text)


class Group(unittest.TestCase):
    def test_rows_are_counted_by_default(self):
        outcome = testing.invoke(group, data=PEOPLE, by="city")
        expected = [
            {"city": "London", "count": 2},
            {"city": "Arlington", "count": 1},
            {"city": "Newport", "count": 1},
        ]
        self.assertEqual(outcome.structured, {"rows": 4, "groups": expected})

    def test_a_column_is_aggregated(self):
        functions = ["count", "sum", "mean", "median", "min", "max", "stdev", "unique"]
        found = testing.invoke(group, data=PEOPLE, by="city", column="age", functions=functions).structured[
            "groups"
        ]
        self.assertEqual(found[0]["sum_age"], 77)
        self.assertEqual(found[0]["mean_age"], 38.5)
        self.assertAlmostEqual(found[0]["stdev_age"], statistics.stdev([36, 41]))
        self.assertEqual((found[2]["count_age"], found[2]["sum_age"], found[2]["mean_age"]), (0, 0, None))

    def test_what_is_no_number_is_named_by_row_and_column(self):
        outcome = testing.invoke(group, data="k,v\na,1\na,x\n", by="k", column="v", functions=["sum"])
        self.assertTrue(outcome.is_error)
        self.assertEqual(outcome.text, "row 2, column `v`: 'x' is no number; `sum` needs one")

    def test_a_group_keeps_its_name_beside_an_aggregate_of_the_same_name(self):
        counted = testing.invoke(group, data="count,v\nx,1\n", by="count").structured
        self.assertEqual(counted["groups"], [{"count": "x", "count_2": 1}])
        found = testing.invoke(group, data="sum_v,v\nx,1\n", by="sum_v", column="v", functions=["sum"])
        self.assertEqual(found.structured["groups"], [{"sum_v": "x", "sum_v_2": 1}])

    def test_a_function_needs_a_column(self):
        outcome = testing.invoke(group, data=PEOPLE, by="city", functions=["sum"])
        self.assertIn("say which one with `column`", outcome.text)


class Convert(unittest.TestCase):
    def test_from_each_to_each(self):
        data = 'a,b\n1,"x, ""y"""\n,2.5\n'
        as_json = testing.invoke(convert, data=data, to="json").text
        self.assertEqual(json.loads(as_json), [{"a": 1, "b": 'x, "y"'}, {"a": None, "b": 2.5}])
        self.assertEqual(testing.invoke(convert, data=as_json, to="csv").text, data)

    def test_markdown_keeps_its_shape(self):
        data = json.dumps([{"a|b": "x|y\nz", "n": 1}, {"a|b": "ü \\", "n": None}])
        expected = "| a\\|b | n |\n| --- | ---: |\n| x\\|y<br>z | 1 |\n| ü \\\\ |  |\n"
        self.assertEqual(testing.invoke(convert, data=data, to="markdown").text, expected)

    def test_texts_of_a_csv_are_kept_to_the_letter(self):
        data = "price,code,there\n2.50,007,NA\n1e3,1,TRUE\n"
        self.assertEqual(testing.invoke(convert, data=data, to="csv").text, data)
        markdown = testing.invoke(convert, data=data, to="markdown").text
        self.assertEqual(markdown.splitlines()[1:3], ["| ---: | --- | --- |", "| 2.50 | 007 | NA |"])
        rows = json.loads(testing.invoke(convert, data=data, to="json").text)
        self.assertEqual(rows[0], {"price": 2.5, "code": "007", "there": None})

    def test_columns_are_chosen_and_ordered(self):
        outcome = testing.invoke(convert, data=PEOPLE, to="csv", columns=["age", "name"])
        self.assertTrue(outcome.text.startswith("age,name\n36,Ada\n"))


if __name__ == "__main__":
    unittest.main()
