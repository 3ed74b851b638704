package schema

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// JSON writes a value for a client: lists that were never made are empty, and no letter is written as a code that need
// not be, since models and people read it too.
func JSON(value any) ([]byte, error) {
	if err := bounded(value); err != nil {
		return nil, err
	}
	return plainly(Filled(value))
}

func plainly(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), err
}

// Filled puts empty lists and maps in the place of those that were never made. encoding/json writes these as null,
// which the schema of a list does not allow.
func Filled(value any) any {
	if value == nil {
		return nil
	}
	filled := reflect.New(reflect.TypeOf(value)).Elem()
	filled.Set(reflect.ValueOf(value))
	fill(filled)
	return filled.Interface()
}

// fill goes nowhere where bounded did not look: there may be rings.
func fill(value reflect.Value) {
	t := value.Type()
	if writesItself(t) {
		return
	}
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			fill(value.Elem())
		}
	case reflect.Slice:
		fillList(value)
	case reflect.Array:
		for i := range value.Len() {
			fill(value.Index(i))
		}
	case reflect.Map:
		fillMap(value)
	case reflect.Struct:
		for i := range value.NumField() {
			if written(t.Field(i)) {
				fill(value.Field(i))
			}
		}
	}
}

func fillList(value reflect.Value) {
	if value.IsNil() {
		value.Set(reflect.MakeSlice(value.Type(), 0, 0))
	}
	if plain(value.Type().Elem().Kind()) {
		return
	}
	for i := range value.Len() {
		fill(value.Index(i))
	}
}

func fillMap(value reflect.Value) {
	if value.IsNil() {
		value.Set(reflect.MakeMap(value.Type()))
	}
	if plain(value.Type().Elem().Kind()) {
		return
	}
	for entries := value.MapRange(); entries.Next(); {
		filled := reflect.New(value.Type().Elem()).Elem()
		filled.Set(entries.Value())
		fill(filled)
		value.SetMapIndex(entries.Key(), filled)
	}
}

// plain kinds have nothing in them that could be missing. What is in an interface has no schema.
func plain(kind reflect.Kind) bool {
	return flat(kind) || kind == reflect.Interface
}
