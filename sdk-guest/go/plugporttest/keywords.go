package plugporttest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// check is a keyword: why a value does not fit, if it does not.
type check struct {
	keyword string
	fault   func(value, operand any) string
}

// checks are in the order in which the server names faults.
var checks = []check{
	{"type", typeFault},
	{"const", constFault},
	{"enum", enumFault},
	{"minimum", numberFault("is less than the minimum of", func(order int) bool { return order < 0 })},
	{"maximum", numberFault("is greater than the maximum of", func(order int) bool { return order > 0 })},
	{"exclusiveMinimum", numberFault("is less than or equal to the minimum of", func(order int) bool { return order <= 0 })},
	{"exclusiveMaximum", numberFault("is greater than or equal to the maximum of", func(order int) bool { return order >= 0 })},
	{"multipleOf", multipleFault},
	{"minLength", sizeFault(-1, letters, "is shorter than", "character", "characters")},
	{"maxLength", sizeFault(1, letters, "is longer than", "character", "characters")},
	{"minItems", sizeFault(-1, items, "has less than", "item", "items")},
	{"maxItems", sizeFault(1, items, "has more than", "item", "items")},
	{"minProperties", sizeFault(-1, members, "has less than", "property", "properties")},
	{"maxProperties", sizeFault(1, members, "has more than", "property", "properties")},
	{"pattern", patternFault},
	{"uniqueItems", uniqueFault},
}

func typeFault(value, operand any) string {
	var kinds []string
	for _, kind := range append(list(operand), operand) {
		if text, is := kind.(string); is {
			kinds = append(kinds, text)
		}
	}
	if slices.ContainsFunc(kinds, func(kind string) bool { return isA(value, kind) }) {
		return ""
	}
	slices.Sort(kinds)
	plural := "s"
	if len(kinds) == 1 {
		plural = ""
	}
	return fmt.Sprintf("%s is not of type%s %q", said(value), plural, kinds[0]) + rest(kinds[1:])
}

func rest(kinds []string) string {
	var text strings.Builder
	for _, kind := range kinds {
		fmt.Fprintf(&text, ", %q", kind)
	}
	return text.String()
}

func isA(value any, kind string) bool {
	switch value.(type) {
	case nil:
		return kind == "null"
	case bool:
		return kind == "boolean"
	case string:
		return kind == "string"
	case []any:
		return kind == "array"
	case map[string]any:
		return kind == "object"
	}
	exact, is := number(value)
	return is && (kind == "number" || kind == "integer" && exact.IsInt())
}

func constFault(value, operand any) string {
	if equal(value, operand) {
		return ""
	}
	return said(operand) + " was expected"
}

func enumFault(value, operand any) string {
	choices := list(operand)
	if slices.ContainsFunc(choices, func(choice any) bool { return equal(value, choice) }) {
		return ""
	}
	var shown []string
	for _, choice := range choices {
		shown = append(shown, said(choice))
	}
	if len(shown) > 3 {
		shown = append(shown[:2], fmt.Sprintf("%d other candidates", len(choices)-2))
	}
	last := len(shown) - 1
	if last < 1 {
		return said(value) + " is not one of " + strings.Join(shown, "")
	}
	return said(value) + " is not one of " + strings.Join(shown[:last], ", ") + " or " + shown[last]
}

func numberFault(words string, isOver func(order int) bool) func(value, operand any) string {
	return func(value, operand any) string {
		size, is := number(value)
		bound, limited := number(operand)
		if !is || !limited || !isOver(size.Cmp(bound)) {
			return ""
		}
		return said(value) + " " + words + " " + said(operand)
	}
}

func multipleFault(value, operand any) string {
	size, is := number(value)
	step, limited := number(operand)
	if !is || !limited || step.Sign() == 0 || new(big.Rat).Quo(size, step).IsInt() {
		return ""
	}
	return said(value) + " is not a multiple of " + said(operand)
}

// sizeFault is for values of one kind; `size` is -1 for others. A `side` of 1 is an upper bound, of -1 a lower one.
func sizeFault(side int, size func(any) int, words, one, many string) func(value, operand any) string {
	return func(value, operand any) string {
		bound, limited := number(operand)
		has := size(value)
		if !limited || has < 0 || big.NewRat(int64(has), 1).Cmp(bound) != side {
			return ""
		}
		noun := many
		if said(operand) == "1" {
			noun = one
		}
		return said(value) + " " + words + " " + said(operand) + " " + noun
	}
}

func letters(value any) int {
	if text, is := value.(string); is {
		return utf8.RuneCountInString(text)
	}
	return -1
}

func items(value any) int {
	if items, is := value.([]any); is {
		return len(items)
	}
	return -1
}

func members(value any) int {
	if members, is := value.(map[string]any); is {
		return len(members)
	}
	return -1
}

// patternFault leaves patterns that Go does not know to the server.
func patternFault(value, operand any) string {
	text, is := value.(string)
	pattern, known := operand.(string)
	if !is || !known {
		return ""
	}
	compiled, err := regexp.Compile(pattern)
	if err != nil || compiled.MatchString(text) {
		return ""
	}
	return said(value) + ` does not match "` + pattern + `"`
}

func uniqueFault(value, operand any) string {
	items, is := value.([]any)
	if !is || operand != true {
		return ""
	}
	for i, item := range items {
		if slices.ContainsFunc(items[:i], func(other any) bool { return equal(item, other) }) {
			return said(value) + " has non-unique elements"
		}
	}
	return ""
}

// said is the JSON of a value.
func said(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic("the arguments of a test must be JSON: " + err.Error())
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// parsed keeps numbers as they were written.
func parsed(text string) (value any) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	_ = decoder.Decode(&value)
	return value
}

func list(value any) []any {
	items, _ := value.([]any)
	return items
}

func names(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }
