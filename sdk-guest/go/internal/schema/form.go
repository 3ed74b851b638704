package schema

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/plugport/plugport/sdk-guest/go/internal/structfields"
)

// formats are those of texts that MCP knows.
var formats = map[any]bool{"email": true, "uri": true, "date": true, "date-time": true}

// Form is the flat schema that MCP allows for a form: a client draws it, so its fields are of a few kinds, with a few
// keywords each. Keywords that only narrow a value further are omitted.
func Form(t reflect.Type) (json.RawMessage, error) {
	fields, err := structfields.Fields(t)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be shown as a form: %w", t, err)
	}
	properties, required := object{}, []string{}
	for _, field := range fields {
		schema, err := formField(field, t)
		if err != nil {
			return nil, err
		}
		properties = append(properties, member{field.Name, schema})
		if !field.Optional() {
			required = append(required, field.Name)
		}
	}
	form := object{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		form.set("required", required)
	}
	return json.Marshal(form)
}

func formField(field structfields.Field, t reflect.Type) (object, error) {
	schema, err := (&maker{}).of(field.Type, field.Tag, t.String()+"."+field.Name)
	if err != nil {
		return nil, err
	}
	whole, _ := schema.(object)
	kept := map[any][]string{
		"string":  {"minLength", "maxLength", "enum"},
		"integer": {"minimum", "maximum"},
		"number":  {"minimum", "maximum"},
		"boolean": {},
		"array":   {"minItems", "maxItems", "items"},
	}
	keys, fits := kept[whole.get("type")]
	if items, list := whole.get("items").(object); fits && list {
		fits = items.get("type") == "string" && items.get("enum") != nil
	}
	if !fits {
		return nil, fmt.Errorf("%s cannot be shown as a form: the field %q must be a text, a number, a bool, or a list of texts with an `enum` tag", t, field.Name)
	}
	form := object{{"type", whole.get("type")}}
	for _, key := range append([]string{"title", "description"}, append(keys, "default")...) {
		if value := whole.get(key); value != nil {
			form.set(key, value)
		}
	}
	if format := whole.get("format"); formats[format] {
		form.set("format", format)
	}
	return form, nil
}
