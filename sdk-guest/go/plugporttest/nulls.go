package plugporttest

import (
	"slices"
	"strings"
)

// Explicit nulls that stand for optional arguments are removed, as the server does before it validates.

const (
	// hops are references followed one after the other, deepest levels of nested choices.
	hops    = 8
	deepest = 16
)

// removeNulls removes members that are null and that the schema neither requires nor allows to be null. It returns
// whether there were any.
func removeNulls(root, value any) bool { return removeFrom(root, root, value) }

func removeFrom(root, unresolved, value any) (removed bool) {
	schema, is := resolved(root, unresolved).(map[string]any)
	if !is {
		return false
	}
	switch value := value.(type) {
	case []any:
		for _, item := range value {
			removed = removeFrom(root, schema["items"], item) || removed
		}
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		_, patterns := schema["patternProperties"]
		for name, item := range value {
			property, known := properties[name]
			required := slices.Contains(list(schema["required"]), any(name))
			switch {
			case item == nil && known && !required && !mayBeNull(root, property, deepest):
				delete(value, name)
				removed = true
			case known:
				removed = removeFrom(root, property, item) || removed
			case !patterns: // Which names `patternProperties` has is not found out, as in the server.
				removed = removeFrom(root, schema["additionalProperties"], item) || removed
			}
		}
	}
	return removed
}

// mayBeNull tells whether null fits, or may fit in a way that is not understood here.
func mayBeNull(root, unresolved any, depth int) bool {
	schema, is := resolved(root, unresolved).(map[string]any)
	if !is || depth == 0 {
		return true
	}
	if kind, has := schema["type"]; has && kind != "null" && !slices.Contains(list(kind), any("null")) {
		return false
	}
	if choices, has := schema["enum"]; has && !slices.Contains(list(choices), nil) {
		return false
	}
	if wanted, has := schema["const"]; has && wanted != nil {
		return false
	}
	for _, word := range [...]string{"anyOf", "oneOf"} {
		choices := list(schema[word])
		some := func(choice any) bool { return mayBeNull(root, choice, depth-1) }
		if choices != nil && !slices.ContainsFunc(choices, some) {
			return false
		}
	}
	return true
}

// resolved follows references within the schema.
func resolved(root, schema any) any {
	for range hops {
		object, _ := schema.(map[string]any)
		reference, _ := object["$ref"].(string)
		if !strings.HasPrefix(reference, "#") {
			break
		}
		target := root
		for _, step := range strings.Split(reference, "/")[1:] {
			object, _ := target.(map[string]any)
			target = object[strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")]
		}
		if target == nil {
			break
		}
		schema = target
	}
	return schema
}
