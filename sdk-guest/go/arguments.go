package plugport

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/plugport/plugport/sdk-guest/go/internal/schema"
	"github.com/plugport/plugport/sdk-guest/go/internal/structfields"
)

// readArguments reads the JSON object of a call into an author's struct. Each member is read by itself, so that a
// message names the wrong argument, and a missing argument gets its default.
func readArguments(text string, into any) error {
	if own, is := into.(json.Unmarshaler); is {
		if err := own.UnmarshalJSON([]byte(text)); err != nil {
			return Errorf(InvalidParams, "the arguments cannot be used: %s", err)
		}
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		return Errorf(InvalidParams, "the arguments are not a JSON object: %s", err)
	}
	target := reflect.ValueOf(into).Elem()
	fields, err := structfields.Fields(target.Type())
	if err != nil {
		return Errorf(Internal, "%s", err)
	}
	for _, field := range fields {
		value, given := members[field.Name]
		delete(members, field.Name)
		if err := readMember(field, value, given, target.FieldByIndex(field.Index)); err != nil {
			return err
		}
	}
	return rejectOthers(members, fields)
}

func rejectOthers(members map[string]json.RawMessage, fields []structfields.Field) error {
	if len(members) == 0 {
		return nil
	}
	var unknown, known []string
	for name := range members {
		unknown = append(unknown, name)
	}
	for _, field := range fields {
		known = append(known, field.Name)
	}
	takes := "this tool takes " + strings.Join(known, ", ")
	if len(known) == 0 {
		takes = "this tool takes none"
	}
	return Errorf(InvalidParams, "there is no argument `%s`; %s", slices.Min(unknown), takes)
}

func readMember(field structfields.Field, value json.RawMessage, given bool, into reflect.Value) error {
	if given && isNull(field.Type, value) {
		if !field.Optional() {
			return Errorf(InvalidParams, "the argument `%s` cannot be used: null where %s is wanted", field.Name, wanted(behindPointers(field.Type)))
		}
		given = false
	}
	if !given {
		text, has := field.Default()
		switch {
		case has:
			return readDefault(field, text, into)
		case field.Omitted && field.Type.Kind() == reflect.Struct && hasDefaults(field.Type, nil):
			value = json.RawMessage("{}")
		case field.Optional():
			return nil
		default:
			return Errorf(InvalidParams, "the argument `%s` is missing", field.Name)
		}
	}
	value, err := withDefaults(field.Type, value)
	if err != nil {
		return err
	}
	if err := readJSON(value, into.Addr().Interface()); err != nil {
		return Errorf(InvalidParams, "the argument `%s` cannot be used: %s", field.Name, reason(err))
	}
	return nil
}

// readDefault fails only by the author's mistake, which is reported when the tools are listed.
func readDefault(field structfields.Field, text string, into reflect.Value) error {
	value, err := schema.Default(field.Type, text)
	if err == nil {
		value, err = withDefaults(field.Type, value)
	}
	if err == nil {
		err = readJSON(value, into.Addr().Interface())
	}
	if err != nil {
		return wrongDefault(field, err)
	}
	return nil
}

func wrongDefault(field structfields.Field, err error) *Error {
	return Errorf(Internal, "the default of `%s` cannot be used: %s", field.Name, reason(err))
}

// checkDefaults reads the defaults of a tool's arguments once.
func checkDefaults(t reflect.Type) error {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	return checkFields(t, nil)
}

func checkFields(t reflect.Type, open []reflect.Type) error {
	fields, err := structfields.Fields(t)
	for _, field := range fields {
		if text, has := field.Default(); has && err == nil {
			err = readDefault(field, text, reflect.New(field.Type).Elem())
		}
		if err == nil {
			err = checkNestedDefaults(field.Type, open)
		}
	}
	return err
}

// reason leaves out the words about Go's types: who reads this never saw the code.
func reason(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err.Error()
	}
	place := ""
	if wrong.Field != "" {
		place = " in " + wrong.Field
	}
	return fmt.Sprintf("%s%s where %s is wanted", wrong.Value, place, wanted(wrong.Type))
}

func kindBehind(t reflect.Type) reflect.Kind { return behindPointers(t).Kind() }

// readTexts reads the arguments of a prompt or the variables of a URI, which are texts, into an author's struct.
func readTexts(values map[string]string, into any) error {
	target := reflect.ValueOf(into).Elem()
	fields, err := structfields.Fields(target.Type())
	if err != nil {
		return Errorf(Internal, "%s", err)
	}
	for _, field := range fields {
		text, given := values[field.Name]
		if !given {
			if text, given = field.Default(); !given && field.Optional() {
				continue
			}
		}
		if !given {
			return Errorf(InvalidParams, "the argument `%s` is missing", field.Name)
		}
		if err := setText(target.FieldByIndex(field.Index), text); err != nil {
			return Errorf(InvalidParams, "the argument `%s` cannot be used: %q where %s is wanted", field.Name, text, err)
		}
	}
	return nil
}

// setText reads a text into a field. The error is only the name of the expected type.
func setText(into reflect.Value, text string) error {
	if into.Kind() == reflect.Pointer {
		into.Set(reflect.New(into.Type().Elem()))
		return setText(into.Elem(), text)
	}
	unfit := errors.New(wanted(into.Type()))
	if own, is := into.Addr().Interface().(encoding.TextUnmarshaler); is {
		if own.UnmarshalText([]byte(text)) != nil {
			return unfit
		}
		return nil
	}
	if setPlain(into, text) != nil {
		return unfit
	}
	return nil
}

func setPlain(into reflect.Value, text string) error {
	bits := 0
	if kind := into.Kind(); kind >= reflect.Int && kind <= reflect.Float64 {
		bits = into.Type().Bits()
	}
	switch {
	case into.Kind() == reflect.String:
		into.SetString(text)
		return nil
	case into.Kind() == reflect.Bool:
		value, err := strconv.ParseBool(text)
		into.SetBool(value)
		return err
	case into.CanInt():
		value, err := strconv.ParseInt(text, 10, bits)
		into.SetInt(value)
		return err
	case into.CanUint():
		value, err := strconv.ParseUint(text, 10, bits)
		into.SetUint(value)
		return err
	case into.CanFloat():
		value, err := strconv.ParseFloat(text, bits)
		into.SetFloat(value)
		return err
	}
	return errors.ErrUnsupported
}

// textFields are the fields of a struct that holds texts.
func textFields(t reflect.Type) ([]structfields.Field, error) {
	fields, err := structfields.Fields(t)
	for _, field := range fields {
		kind := kindBehind(field.Type)
		own := reflect.PointerTo(field.Type).Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
		if kind != reflect.String && (kind < reflect.Bool || kind > reflect.Float64 || kind == reflect.Uintptr) && !own {
			return nil, fmt.Errorf("the field %q of %s is a %s; use a string, a number, a bool or a type with UnmarshalText", field.Name, t, field.Type)
		}
		text, has := field.Default()
		if has && setText(reflect.New(field.Type).Elem(), text) != nil {
			return nil, fmt.Errorf("the default of `%s` cannot be used: %q is no %s", field.Name, text, field.Type)
		}
	}
	return fields, err
}
