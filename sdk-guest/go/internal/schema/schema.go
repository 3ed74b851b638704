// Package schema writes JSON Schemas (2020-12) of Go types. All of it happens when tools are listed, never when one is
// called: reflection over every type would be paid by each fresh instance. What JSON cannot hold is an error that names
// the field, so that an author reads of it when the plugin is loaded.
package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/plugport/plugport/sdk-guest/go/internal/structfields"
)

// Described is a type with a JSON Schema of its own.
type Described interface {
	JSONSchema() string
}

var (
	described  = reflect.TypeFor[Described]()
	number     = reflect.TypeFor[json.Number]()
	raw        = reflect.TypeFor[json.RawMessage]()
	moment     = reflect.TypeFor[time.Time]()
	readsJSON  = reflect.TypeFor[json.Unmarshaler]()
	writesJSON = reflect.TypeFor[json.Marshaler]()
	readsText  = reflect.TypeFor[encoding.TextUnmarshaler]()
	writesText = reflect.TypeFor[encoding.TextMarshaler]()
)

// Input is the schema of a tool's arguments.
func Input(t reflect.Type) (string, error) {
	if t.Kind() != reflect.Struct {
		return "", fmt.Errorf("%s is not a struct; let the tool take a struct with one field for each argument", t)
	}
	return write(&maker{}, t)
}

// Output is the schema of a tool's result; empty when the type allows anything.
func Output(t reflect.Type) (string, error) {
	text, err := write(&maker{output: true}, t)
	if text == "{}" {
		text = ""
	}
	return text, err
}

func write(m *maker, t reflect.Type) (string, error) {
	schema, err := m.of(t, "", t.String())
	if err != nil {
		return "", err
	}
	text, err := plainly(schema)
	return string(text), err
}

type maker struct {
	output bool
	open   []reflect.Type
}

// of describes a type. The tag is that of the field that has it, the path says where that is.
func (m *maker) of(t reflect.Type, tag reflect.StructTag, path string) (any, error) {
	if t.Kind() == reflect.Pointer {
		return m.pointer(t, tag, path)
	}
	if t.Implements(described) || reflect.PointerTo(t).Implements(described) {
		return m.described(t, path)
	}
	schema := m.own(t)
	if schema == nil {
		var err error
		if schema, err = m.kind(t, tag, path); err != nil {
			return nil, err
		}
	}
	if err := annotate(&schema, tag); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return schema, nil
}

func (m *maker) pointer(t reflect.Type, tag reflect.StructTag, path string) (any, error) {
	schema, err := m.of(t.Elem(), tag, path)
	if err != nil || !m.output {
		return schema, err
	}
	return object{{"anyOf", []any{schema, object{{"type", "null"}}}}}, nil
}

func (m *maker) described(t reflect.Type, path string) (any, error) {
	text := reflect.New(t).Interface().(Described).JSONSchema()
	if !json.Valid([]byte(text)) {
		return nil, fmt.Errorf("%s: what JSONSchema of %s returns is not JSON", path, t)
	}
	return json.RawMessage(text), nil
}

// own describes types that do not look in JSON as they do in Go.
func (m *maker) own(t reflect.Type) object {
	has := func(wanted reflect.Type) bool { return t.Implements(wanted) || reflect.PointerTo(t).Implements(wanted) }
	jsons, texts := readsJSON, readsText
	if m.output {
		jsons, texts = writesJSON, writesText
	}
	switch {
	case t == moment:
		return object{{"type", "string"}, {"format", "date-time"}}
	case t == number:
		return object{{"type", "number"}}
	case t == raw, has(jsons):
		return object{}
	case has(texts):
		return object{{"type", "string"}}
	}
	return nil
}

func (m *maker) kind(t reflect.Type, tag reflect.StructTag, path string) (object, error) {
	switch t.Kind() {
	case reflect.String:
		return object{{"type", "string"}}, nil
	case reflect.Bool:
		return object{{"type", "boolean"}}, nil
	case reflect.Float32, reflect.Float64:
		return object{{"type", "number"}}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return integer(t.Kind()), nil
	case reflect.Slice, reflect.Array:
		return m.list(t, tag, path)
	case reflect.Map:
		return m.dictionary(t, tag, path)
	case reflect.Struct:
		return m.members(t, path)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return object{}, nil
		}
	}
	return nil, fmt.Errorf("%s is a %s, which JSON cannot hold; use another type, or leave it out with `json:\"-\"`", path, t)
}

// integer has a range where that is within the numbers which every JSON reader knows exactly.
func integer(kind reflect.Kind) object {
	schema := object{{"type", "integer"}}
	switch kind {
	case reflect.Int8, reflect.Int16, reflect.Int32:
		bits := map[reflect.Kind]uint{reflect.Int8: 7, reflect.Int16: 15, reflect.Int32: 31}[kind]
		schema.set("minimum", -(int64(1) << bits))
		schema.set("maximum", int64(1)<<bits-1)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		bits := map[reflect.Kind]uint{reflect.Uint8: 8, reflect.Uint16: 16, reflect.Uint32: 32}[kind]
		schema.set("minimum", 0)
		schema.set("maximum", int64(1)<<bits-1)
	case reflect.Uint, reflect.Uint64:
		schema.set("minimum", 0)
	}
	return schema
}

func (m *maker) list(t reflect.Type, tag reflect.StructTag, path string) (object, error) {
	if isBytes(t) {
		return object{{"type", "string"}, {"contentEncoding", "base64"}}, nil
	}
	items, err := m.of(t.Elem(), itemTag(tag), path+"[]")
	if err != nil {
		return nil, err
	}
	schema := object{{"type", "array"}, {"items", items}}
	if t.Kind() == reflect.Array {
		schema.set("minItems", t.Len())
		schema.set("maxItems", t.Len())
	}
	return schema, nil
}

func (m *maker) dictionary(t reflect.Type, tag reflect.StructTag, path string) (object, error) {
	if t.Key().Kind() != reflect.String {
		return nil, fmt.Errorf("%s is a %s; in JSON the keys of a map are texts, so use map[string]", path, t)
	}
	values, err := m.of(t.Elem(), itemTag(tag), path+"[]")
	if err != nil {
		return nil, err
	}
	return object{{"type", "object"}, {"additionalProperties", values}}, nil
}

func (m *maker) members(t reflect.Type, path string) (object, error) {
	for _, open := range m.open {
		if open == t {
			return nil, fmt.Errorf("%s: %s contains itself, which a schema made of it cannot; give it a JSONSchema method", path, t)
		}
	}
	m.open = append(m.open, t)
	defer func() { m.open = m.open[:len(m.open)-1] }()
	fields, err := structfields.Fields(t)
	if err != nil {
		return nil, err
	}
	properties, required := object{}, []string{}
	for _, field := range fields {
		schema, err := m.of(field.Type, field.Tag, path+"."+field.Name)
		if err != nil {
			return nil, err
		}
		properties = append(properties, member{field.Name, schema})
		if m.output && !field.Omitted || !m.output && !field.Optional() {
			required = append(required, field.Name)
		}
	}
	schema := object{{"type", "object"}, {"properties", properties}}
	if len(required) > 0 {
		schema.set("required", required)
	}
	if !m.output {
		schema.set("additionalProperties", false)
	}
	return schema, nil
}
