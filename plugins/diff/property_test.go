package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

// text is random lines of few words, so that much is there several times.
func text(random *rand.Rand, ends string) string {
	var out strings.Builder
	for range random.Intn(30) {
		out.WriteByte("abcdefg"[random.Intn(1+random.Intn(7))])
		out.WriteByte(ends[random.Intn(len(ends))])
	}
	return out.String()
}

// applied reads a unified diff as patch does, and trusts nothing but the diff and the old text.
func applied(t *testing.T, before, diff string) string {
	t.Helper()
	old, at := lines(before), 0
	var out strings.Builder
	for _, line := range lines(strings.ReplaceAll(diff, "\n\\ No newline at end of file\n", "\x00")) {
		for _, line := range strings.SplitAfter(line, "\x00") {
			content := strings.TrimSuffix(strings.TrimPrefix(line, line[:min(1, len(line))]), "\x00")
			switch {
			case line == "" || strings.HasPrefix(line, "---") || strings.HasPrefix(line, "+++"):
			case strings.HasPrefix(line, "@@ -"):
				first, size, has := strings.Cut(strings.Fields(line)[1][1:], ",")
				from, _ := strconv.Atoi(first)
				if !has || size != "0" {
					from--
				}
				out.WriteString(strings.Join(old[at:from], ""))
				at = from
			case line[0] == '+':
				out.WriteString(content)
			default:
				if old[at] != content {
					t.Fatalf("line %d is %q and not %q", at, old[at], content)
				}
				if line[0] == ' ' {
					out.WriteString(content)
				}
				at++
			}
		}
	}
	out.WriteString(strings.Join(old[at:], ""))
	return out.String()
}

func TestADiffAppliedToBeforeGivesAfter(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for range 3000 {
		before, after := text(random, "\n\n x"), text(random, "\n\n x")
		result := unified(lines(before), lines(after), random.Intn(4), [2]string{"a", "b"})
		if got := applied(t, before, result.Diff); got != after || result.Same != (before == after) {
			t.Fatalf("before %q\nafter %q\ndiff\n%s\ngives %q", before, after, result.Diff, got)
		}
	}
}

func TestWordsMakeUpBothTexts(t *testing.T) {
	random := rand.New(rand.NewSource(2))
	for range 3000 {
		texts := map[string]string{"removed": text(random, " .é\xff"), "added": text(random, " .é\xff")}
		result := words(tokens(texts["removed"]), tokens(texts["added"]))
		for kind, want := range texts {
			var got strings.Builder
			for _, part := range result.Parts {
				if part.Kind == kind || part.Kind == "same" {
					got.WriteString(part.Text)
				}
			}
			same(t, got.String(), want)
		}
	}
}

// common is the length of the longest common subsequence, found the slow way.
func common(a, b []int) int {
	row := make([]int, len(b)+1)
	for _, x := range a {
		diagonal := 0
		for j, y := range b {
			above := row[j+1]
			if x == y {
				row[j+1] = diagonal + 1
			} else {
				row[j+1] = max(row[j+1], row[j])
			}
			diagonal = above
		}
	}
	return row[len(b)]
}

func TestTheSearchFindsTheShortestEdit(t *testing.T) {
	random := rand.New(rand.NewSource(3))
	for range 3000 {
		a, b := make([]int, random.Intn(20)), make([]int, random.Intn(20))
		for _, numbers := range [][]int{a, b} {
			for i := range numbers {
				numbers[i] = random.Intn(4)
			}
		}
		it := &aligner{a: a, b: b, left: budget}
		it.search(0, len(a), 0, len(b))
		equal := 0
		for _, run := range it.runs {
			if run.equal {
				equal += run.aEnd - run.a
			}
		}
		if equal != common(a, b) || it.coarse {
			t.Fatalf("%v %v: %v", a, b, it.runs)
		}
	}
}

func value(random *rand.Rand, depth int) any {
	switch kind := random.Intn(6); {
	case kind == 0 && depth > 0:
		object := map[string]any{}
		for range random.Intn(5) {
			object[[]string{"a", "b/", "~c", ""}[random.Intn(4)]] = value(random, depth-1)
		}
		return object
	case kind <= 3 && depth > 0:
		list := []any{}
		for range random.Intn(6) {
			list = append(list, value(random, depth-1))
		}
		return list
	case kind == 4:
		return nil
	}
	return float64(random.Intn(3))
}

// patched applies a JSON Patch step by step.
func patched(target any, path []string, change change) any {
	if len(path) == 0 {
		return *change.Value
	}
	key := strings.NewReplacer("~1", "/", "~0", "~").Replace(path[0])
	if object, is := target.(map[string]any); is {
		switch {
		case len(path) > 1 || change.Op == "replace":
			object[key] = patched(object[key], path[1:], change)
		case change.Op == "remove":
			delete(object, key)
		default:
			object[key] = *change.Value
		}
		return object
	}
	list, index := target.([]any), 0
	fmt.Sscan(key, &index)
	switch {
	case len(path) > 1 || change.Op == "replace":
		list[index] = patched(list[index], path[1:], change)
		return list
	case change.Op == "remove":
		return append(list[:index:index], list[index+1:]...)
	}
	return append(append(list[:index:index], *change.Value), list[index:]...)
}

func TestAPatchAppliedToBeforeGivesAfter(t *testing.T) {
	random := rand.New(rand.NewSource(4))
	for range 5000 {
		before, after := compact(value(random, 4)), compact(value(random, 4))
		result, err := compareJSON(before, after)
		if err != nil {
			t.Fatal(err)
		}
		target, want := plain(t, before), plain(t, after)
		for _, change := range result.Changes {
			if change.Value != nil {
				fresh := plain(t, compact(*change.Value))
				change.Value = &fresh
			}
			path := strings.Split(change.Path, "/")[1:]
			if change.Path == "" {
				path = nil
			}
			target = patched(target, path, change)
		}
		if !reflect.DeepEqual(target, want) || result.Same != (len(result.Changes) == 0) {
			t.Fatalf("%s to %s: %s", before, after, result.ToolText())
		}
	}
}

func plain(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestHostileTextsAreAnsweredSoon(t *testing.T) {
	random := rand.New(rand.NewSource(5))
	noise := func(letters int) []string {
		parts := make([]string, mostParts)
		for i := range parts {
			parts[i] = string(rune('a' + random.Intn(letters)))
		}
		return parts
	}
	begun := time.Now()
	for _, letters := range []int{1, 2, 26} {
		before, after := noise(letters), noise(letters)
		result := words(before, after)
		if joined := strings.Join(before, ""); letters > 1 && (!result.Coarse || joined == "") {
			t.Error("the budget was not spent")
		}
	}
	deep := strings.Repeat("[", deepestJSON) + "1" + strings.Repeat("]", deepestJSON)
	if _, err := compareJSON(deep, strings.Replace(deep, "1", "2", 1)); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}
