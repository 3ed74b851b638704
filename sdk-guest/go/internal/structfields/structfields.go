// Package structfields reads the fields of an author's struct, once and in one way for all that is made of them: the
// schema that a client sees, the arguments of a call, the variables of a URI. Names and what may be left out follow
// encoding/json, so that a struct means the same here as everywhere else in Go.
package structfields

import (
	"fmt"
	"reflect"
	"strings"
)

// Field is one member of the JSON object that a struct is.
type Field struct {
	// Name is the member's name in JSON.
	Name string
	// Index finds the field from the struct.
	Index []int
	Type  reflect.Type
	Tag   reflect.StructTag
	// Omitted says that the member is missing when it has no value.
	Omitted bool
}

// Optional says that a caller may leave the member out.
func (f *Field) Optional() bool {
	_, has := f.Default()
	return f.Omitted || has || f.Type.Kind() == reflect.Pointer
}

// Default is the default of a missing member, as text.
func (f *Field) Default() (string, bool) {
	return f.Tag.Lookup("default")
}

// Fields lists the members of a struct in their order.
func Fields(t reflect.Type) ([]Field, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is not a struct; declare a struct with one field for each value", t)
	}
	fields, err := walk(t, nil, nil)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(fields))
	for _, field := range fields {
		if seen[field.Name] {
			return nil, fmt.Errorf("two fields of %s are called %q; rename one by its json tag", t, field.Name)
		}
		seen[field.Name] = true
	}
	return fields, nil
}

func walk(t reflect.Type, index []int, fields []Field) ([]Field, error) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		at := append(append([]int(nil), index...), i)
		if field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct {
			var err error
			if fields, err = walk(field.Type, at, fields); err != nil {
				return nil, err
			}
			continue
		}
		if field.Anonymous && name == "" && field.Type.Kind() == reflect.Pointer {
			return nil, fmt.Errorf("%s embeds the pointer %s; embed the struct itself, or give the field a name", t, field.Type)
		}
		if !field.IsExported() || name == "-" && options == "" {
			continue
		}
		if name == "" {
			name = field.Name
		}
		omitted, err := omitted(t, field.Name, options)
		if err != nil {
			return nil, err
		}
		fields = append(fields, Field{Name: name, Index: at, Type: field.Type, Tag: field.Tag, Omitted: omitted})
	}
	return fields, nil
}

func omitted(t reflect.Type, name, options string) (bool, error) {
	omitted := false
	for _, option := range strings.Split(options, ",") {
		switch option {
		case "":
		case "omitempty", "omitzero":
			omitted = true
		default:
			return false, fmt.Errorf("the json tag of %s.%s says %q, which is not supported; take it away", t, name, option)
		}
	}
	return omitted, nil
}
