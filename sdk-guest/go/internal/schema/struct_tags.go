package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// limits are the keywords of `min` and `max`, by what they limit.
var limits = map[string][2]string{
	"string":  {"minLength", "maxLength"},
	"array":   {"minItems", "maxItems"},
	"integer": {"minimum", "maximum"},
	"number":  {"minimum", "maximum"},
}

// annotate adds the keywords in a field's tags.
func annotate(schema *object, tag reflect.StructTag) error {
	for _, key := range [...]string{"title", "desc", "format", "pattern"} {
		if text, has := tag.Lookup(key); has {
			schema.set(keyword(key), text)
		}
	}
	kind, _ := schema.get("type").(string)
	if listed, has := tag.Lookup("enum"); has && kind != "array" && kind != "object" {
		values, err := choices(listed, kind)
		if err != nil {
			return err
		}
		schema.set("enum", values)
	}
	for i, key := range [...]string{"min", "max"} {
		text, has := tag.Lookup(key)
		if !has {
			continue
		}
		keywords, fits := limits[kind]
		if !fits || !isNumber(text) {
			return fmt.Errorf("the tag `%s:%q` must be a number, on a text, a number or a list", key, text)
		}
		schema.set(keywords[i], json.RawMessage(text))
	}
	if text, has := tag.Lookup("default"); has {
		value, err := Literal(text, kind)
		if err != nil {
			return err
		}
		schema.set("default", value)
	}
	return nil
}

func keyword(tag string) string {
	if tag == "desc" {
		return "description"
	}
	return tag
}

// itemTag is what the tag of a list or a map says of what is in it: the choices.
func itemTag(tag reflect.StructTag) reflect.StructTag {
	if listed, has := tag.Lookup("enum"); has {
		return reflect.StructTag("enum:" + strconv.Quote(listed))
	}
	return ""
}

func choices(listed, kind string) ([]any, error) {
	var values []any
	for _, text := range strings.Split(listed, ",") {
		value, err := Literal(text, kind)
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return values, nil
}

// Literal is the JSON of a value that a tag spells: a text stands as it is, everything else is JSON.
func Literal(text, kind string) (any, error) {
	if kind == "string" {
		return text, nil
	}
	fits := json.Valid([]byte(text))
	switch kind {
	case "integer", "number":
		fits = isNumber(text)
	case "boolean":
		fits = text == "true" || text == "false"
	}
	switch {
	case !fits && kind == "":
		return nil, fmt.Errorf("the tag says %q, which is not JSON; write a text as %q", text, strconv.Quote(text))
	case !fits:
		return nil, fmt.Errorf("the tag says %q, which is not a value of the type %s", text, kind)
	}
	return json.RawMessage(text), nil
}

// Default is the JSON of what stands in for a missing value of a type, in the spelling of Literal. It is cheap enough
// for a call, as only the type itself is looked at.
func Default(t reflect.Type, text string) (json.RawMessage, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	kind := ""
	if own := (&maker{}).own(t); own != nil {
		kind, _ = own.get("type").(string)
	} else if t.Kind() == reflect.String || isBytes(t) {
		kind = "string"
	}
	value, err := Literal(text, kind)
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil && json.Valid([]byte(text))
}
