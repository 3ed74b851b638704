package plugport

import (
	"encoding"
	"encoding/json"
	"reflect"

	"github.com/plugport/plugport/sdk-guest/go/internal/schema"
	"github.com/plugport/plugport/sdk-guest/go/internal/structfields"
)

// Defaults of structs within an argument. They are written into the JSON before it is read: afterwards nobody can tell
// a member that was missing from one that is zero.

// withDefaults is a value with the defaults of the members that it lacks. What does not fit the type stays as it is,
// for the reader to report.
func withDefaults(t reflect.Type, value json.RawMessage) (json.RawMessage, error) {
	t = behindPointers(t)
	if !hasDefaults(t, nil) {
		return value, nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return structWithDefaults(t, value)
	case reflect.Map:
		var entries map[string]json.RawMessage
		if json.Unmarshal(value, &entries) != nil || entries == nil {
			return value, nil
		}
		for key, entry := range entries {
			filled, err := withDefaults(t.Elem(), entry)
			if err != nil {
				return nil, err
			}
			entries[key] = filled
		}
		return json.Marshal(entries)
	}
	var items []json.RawMessage
	if json.Unmarshal(value, &items) != nil || items == nil {
		return value, nil
	}
	for at, item := range items {
		filled, err := withDefaults(t.Elem(), item)
		if err != nil {
			return nil, err
		}
		items[at] = filled
	}
	return json.Marshal(items)
}

func structWithDefaults(t reflect.Type, value json.RawMessage) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) != nil || members == nil {
		return value, nil
	}
	fields, err := structfields.Fields(t)
	if err != nil {
		return nil, Errorf(Internal, "%s", err)
	}
	for _, field := range fields {
		member, given := members[field.Name]
		text, has := field.Default()
		if given && field.Optional() && isNull(field.Type, member) {
			delete(members, field.Name)
			given = false
		}
		switch {
		case !given && has:
			if member, err = schema.Default(field.Type, text); err != nil {
				return nil, wrongDefault(field, err)
			}
		case !given && field.Omitted && field.Type.Kind() == reflect.Struct:
			member = json.RawMessage("{}")
		case !given:
			continue
		}
		if members[field.Name], err = withDefaults(field.Type, member); err != nil {
			return nil, err
		}
	}
	return json.Marshal(members)
}

// hasDefaults tells whether a value of the type may lack a member with a default. The types that are being looked at
// are open: a type may contain itself.
func hasDefaults(t reflect.Type, open []reflect.Type) bool {
	t = behindPointers(t)
	switch kind := t.Kind(); {
	case readsItself(t):
		return false
	case kind == reflect.Slice || kind == reflect.Array || kind == reflect.Map && t.Key().Kind() == reflect.String:
		return hasDefaults(t.Elem(), open)
	case kind != reflect.Struct:
		return false
	}
	for _, other := range open {
		if other == t {
			return false
		}
	}
	fields, err := structfields.Fields(t)
	for _, field := range fields {
		if _, has := field.Default(); err == nil && (has || hasDefaults(field.Type, append(open, t))) {
			return true
		}
	}
	return false
}

// checkNestedDefaults reads each default within a type once.
func checkNestedDefaults(t reflect.Type, open []reflect.Type) error {
	t = behindPointers(t)
	if !hasDefaults(t, nil) {
		return nil
	}
	if t.Kind() != reflect.Struct {
		return checkNestedDefaults(t.Elem(), open)
	}
	for _, other := range open {
		if other == t {
			return nil
		}
	}
	return checkFields(t, append(open, t))
}

// isNull tells whether a value is a null which the type does not have. The host takes it for nothing where a member may
// be missing; encoding/json leaves zero there.
func isNull(t reflect.Type, value json.RawMessage) bool {
	t = behindPointers(t)
	return string(value) == "null" && t.Kind() != reflect.Interface && !readsItself(t)
}

func readsItself(t reflect.Type) bool {
	pointer := reflect.PointerTo(t)
	return pointer.Implements(reflect.TypeFor[json.Unmarshaler]()) ||
		pointer.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

func behindPointers(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}
