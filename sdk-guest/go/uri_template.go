package plugport

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// expression is what stands between braces in a URI template.
type expression struct {
	names []string
	// optional says that the URI may leave the variables out, together with what stands before them.
	optional bool
}

// parseTemplate reads the expressions of an RFC 6570 template, with the operators that give each variable one value.
// The host compares URIs with templates and brings the values.
func parseTemplate(template string) ([]expression, error) {
	var expressions []expression
	for rest := template; rest != ""; {
		_, after, found := strings.Cut(rest, "{")
		if !found {
			break
		}
		text, next, closed := strings.Cut(after, "}")
		if !closed {
			return nil, fmt.Errorf("a `{` is not closed; write variables as {name}")
		}
		parsed, err := parseExpression(text)
		if err != nil {
			return nil, err
		}
		expressions, rest = append(expressions, parsed), next
	}
	return expressions, nil
}

func parseExpression(text string) (expression, error) {
	operator := ""
	if text != "" && strings.Contains("+#/?&", text[:1]) {
		operator, text = text[:1], text[1:]
	}
	parsed := expression{strings.Split(text, ","), operator != "" && operator != "+"}
	for _, name := range parsed.names {
		if name == "" || strings.ContainsAny(name, ".;|!@=*:+#/?& ") {
			return parsed, fmt.Errorf("`{%s%s}` is not supported; use {x}, {+x}, {/x}, {#x}, {?x,y} or {&x,y}", operator, text)
		}
	}
	if len(parsed.names) > 1 && operator != "?" && operator != "&" {
		return parsed, fmt.Errorf("`{%s%s}` holds several variables; give each its own braces", operator, text)
	}
	return parsed, nil
}

// checkTemplate compares the variables with the fields of the struct that gets them.
func checkTemplate(template string, t reflect.Type) error {
	expressions, err := parseTemplate(template)
	if err != nil {
		return err
	}
	fields, err := textFields(t)
	if err != nil {
		return err
	}
	var names []string
	for _, field := range fields {
		names = append(names, field.Name)
	}
	var variables []string
	for _, expression := range expressions {
		variables = append(variables, expression.names...)
		for _, name := range expression.names {
			at := slices.Index(names, name)
			if at < 0 {
				return fmt.Errorf("%s has no field for the variable %q; add one", t, name)
			}
			if expression.optional && !fields[at].Optional() {
				return fmt.Errorf("%q may be left out of the URI; add omitempty to its json tag", name)
			}
		}
	}
	for _, name := range names {
		if !slices.Contains(variables, name) {
			return fmt.Errorf("there is no variable for the field %q of %s; add {%s}", name, t, name)
		}
	}
	return nil
}
