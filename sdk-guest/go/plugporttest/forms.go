package plugporttest

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// What a person filled in is checked as the server does it before a plugin gets it, in its words. MCP has few keywords
// for the fields of a form, and the server checks those. Formats, and keywords that MCP does not have, are for the
// client.

// formFault is why the server does not pass on what a person filled in; empty if it does.
func formFault(form any, response string) string {
	schema, _ := form.(map[string]any)
	result, _ := parsed(response).(map[string]any)
	if schema == nil || result["action"] != "accept" {
		return ""
	}
	content, is := result["content"].(map[string]any)
	if !is {
		return "`content` is missing"
	}
	for _, required := range list(schema["required"]) {
		name, _ := required.(string)
		if _, has := content[name]; !has {
			return "the field `" + name + "` is missing"
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range namesAsSent(response, "content") {
		property, known := properties[name]
		field, _ := property.(map[string]any)
		if !known && !isPlain(content[name]) {
			return "the field `" + name + "` is not part of the form"
		}
		if known && !fits(field, content[name]) {
			return "the field `" + name + "` does not fit the form"
		}
	}
	return ""
}

// namesAsSent is the names in a member of an object in the order in which they stand there: a map does not keep it, and
// the first field that does not fit is the one that the server names.
func namesAsSent(object, member string) (names []string) {
	var members map[string]json.RawMessage
	_ = json.Unmarshal([]byte(object), &members)
	decoder := json.NewDecoder(strings.NewReader(string(members[member])))
	_, _ = decoder.Token()
	for decoder.More() {
		name, _ := decoder.Token()
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			break
		}
		names = append(names, name.(string))
	}
	return names
}

// isPlain tells whether a client may add a field with this value.
func isPlain(value any) bool {
	switch value := value.(type) {
	case []any:
		return !slices.ContainsFunc(value, func(item any) bool { return !isA(item, "string") })
	case string, json.Number, bool:
		return true
	}
	return false
}

func fits(field map[string]any, value any) bool {
	kind, _ := field["type"].(string)
	switch value := value.(type) {
	case string:
		size := float64(utf8.RuneCountInString(value))
		return kind == "string" && within(size, field, "minLength", "maxLength") && isChosen(field, value)
	case json.Number:
		size, err := value.Float64()
		isKind := kind == "number" || kind == "integer" && size == math.Trunc(size)
		return isKind && err == nil && within(size, field, "minimum", "maximum")
	case bool:
		return kind == "boolean"
	case []any:
		return kind == "array" && within(float64(len(value)), field, "minItems", "maxItems") && areChoices(field, value)
	}
	return false
}

func within(size float64, field map[string]any, least, most string) bool {
	from, isFrom := bound(field[least])
	to, isTo := bound(field[most])
	return (!isFrom || size >= from) && (!isTo || size <= to)
}

func bound(value any) (float64, bool) {
	text, is := value.(json.Number)
	if !is {
		return 0, false
	}
	size, err := text.Float64()
	return size, err == nil
}

func isChosen(field map[string]any, value string) bool {
	choices := choicesOf(field)
	return len(choices) == 0 || slices.Contains(choices, any(value))
}

func areChoices(field map[string]any, chosen []any) bool {
	items, _ := field["items"].(map[string]any)
	choices := choicesOf(items)
	return !slices.ContainsFunc(chosen, func(item any) bool {
		return !isA(item, "string") || !slices.Contains(choices, item)
	})
}

// choicesOf is the values that a field lets a person choose from; empty for any other field.
func choicesOf(field map[string]any) (choices []any) {
	if untitled, are := field["enum"].([]any); are {
		return untitled
	}
	titled, has := field["oneOf"]
	if !has {
		titled = field["anyOf"]
	}
	for _, choice := range list(titled) {
		one, _ := choice.(map[string]any)
		if value, has := one["const"]; has {
			choices = append(choices, value)
		}
	}
	return choices
}
