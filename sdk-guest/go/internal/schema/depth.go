package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// deepest is how deep the host takes JSON. Common parsers give up between this and twice as much.
const deepest = 64

// Marshal is json.Marshal with a bound.
func Marshal(value any) ([]byte, error) {
	if err := bounded(value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// bounded fails when a value is nested too deeply to be written. encoding/json has no such bound, and the stack that it
// exhausts ends the instance.
func bounded(value any) error {
	if deeper(reflect.ValueOf(value), deepest) {
		return fmt.Errorf("it is nested more than %d deep; make it flatter, or parts of it a text", deepest)
	}
	return nil
}

// deeper tells whether the JSON of a value has more levels. It trusts values with a MarshalJSON of their own.
func deeper(value reflect.Value, levels int) bool {
	value = behind(value)
	if !value.IsValid() || writesItself(value.Type()) {
		return false
	}
	switch value.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		inner := value.Type().Elem().Kind()
		if inner == reflect.Uint8 && value.Kind() == reflect.Slice {
			return false
		}
		return levels == 0 || !flat(inner) && anyDeeper(value, levels-1)
	case reflect.Struct:
		return levels == 0 || anyFieldDeeper(value, levels-1)
	}
	return false
}

// behind is what a pointer or an interface leads to. Those that lead nowhere else are for encoding/json to report.
func behind(value reflect.Value) reflect.Value {
	for hops := 0; hops < 1000 && (value.Kind() == reflect.Pointer || value.Kind() == reflect.Interface); hops++ {
		value = value.Elem()
	}
	return value
}

func anyDeeper(value reflect.Value, levels int) bool {
	if value.Kind() == reflect.Map {
		for entries := value.MapRange(); entries.Next(); {
			if deeper(entries.Value(), levels) {
				return true
			}
		}
		return false
	}
	for i := range value.Len() {
		if deeper(value.Index(i), levels) {
			return true
		}
	}
	return false
}

func anyFieldDeeper(value reflect.Value, levels int) bool {
	for i := range value.NumField() {
		field := value.Type().Field(i)
		inner := levels
		if joined(field) {
			inner++
		}
		if written(field) && deeper(value.Field(i), inner) {
			return true
		}
	}
	return false
}

// written tells whether JSON has a field, or the fields of what is embedded there.
func written(field reflect.StructField) bool {
	held := field.Type
	if held.Kind() == reflect.Pointer {
		held = held.Elem()
	}
	within := field.Anonymous && held.Kind() == reflect.Struct
	return (field.IsExported() || within) && field.Tag.Get("json") != "-"
}

// joined tells whether the fields of what is embedded stand among those around it. With pointers they do too, but these
// may lead back to where they are, so they count.
func joined(field reflect.StructField) bool {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct
}

func writesItself(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	return pointer.Implements(writesJSON) || pointer.Implements(writesText)
}

// flat kinds have nothing in them.
func flat(kind reflect.Kind) bool {
	return kind <= reflect.Complex128 || kind == reflect.String
}
