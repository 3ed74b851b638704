package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plugport/plugport/sdk-guest/go/plugporttest"
)

func call(t *testing.T, tool string, args any) *plugporttest.Outcome {
	t.Helper()
	return plugporttest.New().CallTool(tool, args)
}

func same(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNothingIsWrongWithTheTools(t *testing.T) {
	if _, err := plugporttest.Tools(); err != nil {
		t.Error(err)
	}
}

func TestLinesAreShownWithTheirContext(t *testing.T) {
	before := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"
	after := "1\n2\n3\n4\nfive\n6\n7\n8\n9\n10\n11\n12\n13"
	outcome := call(t, "unified", map[string]any{"before": before, "after": after, "context": 1, "names": []string{"a.txt", "b.txt"}})
	same(t, outcome.Text(), "--- a.txt\n+++ b.txt\n@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6\n@@ -12 +12,2 @@\n 12\n+13\n\\ No newline at end of file\n")
	var result unifiedResult
	if err := outcome.Structured(&result); err != nil {
		t.Fatal(err)
	}
	if result.Added != 2 || result.Removed != 1 || result.Hunks != 2 || result.Same || result.Coarse {
		t.Errorf("%+v", result)
	}
	joined := call(t, "unified", pairArgs{before, after}).Text()
	same(t, joined[:strings.Index(joined, "\n 2")], "--- before\n+++ after\n@@ -2,7 +2,7 @@")
	same(t, call(t, "unified", pairArgs{"", "a\n"}).Text(), "--- before\n+++ after\n@@ -0,0 +1 @@\n+a\n")
	same(t, call(t, "unified", pairArgs{"a\n", "a\n"}).Text(), "The texts are the same.")
	same(t, call(t, "unified", pairArgs{"a", "a\n"}).Text(), "--- before\n+++ after\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n")
}

func TestWordsAreMarked(t *testing.T) {
	outcome := call(t, "words", pairArgs{"The quick brown fox.", "The slow brown fox!"})
	same(t, outcome.Text(), "The [-quick-]{+slow+} brown fox[-.-]{+!+}")
	same(t, call(t, "words", pairArgs{"naïve_1  日本", "naïve_1 日本"}).Text(), "naïve_1[-  -]{+ +}日本")
}

func TestJSONIsComparedByMeaning(t *testing.T) {
	for _, it := range []struct{ before, after, text string }{
		{`{"a": 1, "b": [1.0, 2]}`, `{"b": [1e0, 20e-1], "a": 1}`, "The values are the same."},
		{`{"a": 1, "b/c": null}`, `{"a": "1", "d~": {"<": []}}`,
			"replace \"/a\", was 1, is \"1\"\nremove \"/b~1c\", was null\nadd \"/d~0\", is {\"<\":[]}\n"},
		{`[1, 2, 3, 4]`, `[1, 3, 5, 6]`, "remove \"/1\", was 2\nreplace \"/2\", was 4, is 5\nadd \"/3\", is 6\n"},
		{`[{"id": 1, "n": "a"}, {"id": 2}]`, `[{"id": 1, "n": "b"}, {"id": 2}]`, "replace \"/0/n\", was \"a\", is \"b\"\n"},
		{`9007199254740993`, `9007199254740992`, "replace \"\", was 9007199254740993, is 9007199254740992\n"},
		{`"[[\"[" `, `[]`, "replace \"\", was \"[[\\\"[\", is []\n"},
		{`1e999999999999`, `-0.0`, "replace \"\", was 1e999999999999, is -0.0\n"},
	} {
		same(t, call(t, "json", pairArgs{it.before, it.after}).Text(), it.text)
	}
}

func TestMistakesAreExplained(t *testing.T) {
	for _, it := range []struct {
		tool string
		args any
		text string
	}{
		{"json", pairArgs{"{", "1"}, "`before` is not JSON: unexpected EOF; give one JSON value as a text"},
		{"json", pairArgs{"1", "1 2"}, "`after` is not JSON: something follows the value; give one JSON value as a text"},
		{"json", pairArgs{"1", strings.Repeat(" ", mostBytes) + "1"}, errJSONLarge.Error()},
		{"json", pairArgs{"[" + strings.Repeat("0,", mostValues) + "0]", "0"}, errJSONLarge.Error()},
		{"json", pairArgs{"1", strings.Repeat("[", 501)}, errJSONDeep.Error()},
		{"unified", pairArgs{strings.Repeat("a", mostBytes+1), ""}, errTooLarge.Error()},
		{"unified", pairArgs{strings.Repeat("\x01", mostBytes/6+1), ""}, errTooLarge.Error()},
		{"words", pairArgs{"", strings.Repeat("\x1f", mostBytes/6+1)}, errTooLarge.Error()},
		{"words", pairArgs{strings.Repeat(".", mostParts+1), ""}, errTooLarge.Error()},
		{"unified", pairArgs{"", strings.Repeat("\n", mostParts) + "a"}, errTooLarge.Error()},
		{"unified", unifiedArgs{Names: []string{"a", "b\nc"}}, errNames.Error()},
	} {
		outcome := call(t, it.tool, it.args)
		if same(t, outcome.Text(), it.text); !outcome.IsError() {
			t.Error("no error")
		}
	}
}

func TestAsMuchAsIsAllowedIsTaken(t *testing.T) {
	full := strings.Repeat("\n", mostParts)
	same(t, call(t, "unified", pairArgs{full, full}).Text(), "The texts are the same.")
	line := strings.Repeat("\x01", 4) + "\t\n"
	control := strings.Repeat(line, mostParts)
	same(t, call(t, "unified", pairArgs{control, strings.Repeat("\n", mostParts-1) + "\r"}).Text()[:34], "--- before\n+++ after\n@@ -1,10000 +")
	if parts := tokens(strings.Repeat(".", mostBytes)); len(parts) != mostParts+1 {
		t.Errorf("%d parts", len(parts))
	}
}

func TestLongPathsAreBounded(t *testing.T) {
	nested := func(leaf string) string {
		key := strings.Repeat("k", 125)
		var members strings.Builder
		for i := range 900 {
			fmt.Fprintf(&members, ",\"%d\":%s", i, leaf)
		}
		return strings.Repeat(`{"`+key+`":`, 400) + "{" + members.String()[1:] + "}" + strings.Repeat("}", 400)
	}
	result, err := compareJSON(nested("1"), nested("2"))
	if err != nil || !result.More || len(result.Changes) != 5 {
		t.Error(len(result.Changes), result.More, err)
	}
	if text := result.ToolText(); !strings.HasSuffix(text, "and more; only the first 5 are listed\n") {
		t.Error(text[max(0, len(text)-100):])
	}
}
