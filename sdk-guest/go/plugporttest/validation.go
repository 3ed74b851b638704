package plugporttest

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/plugport/plugport/sdk-guest/go"
	"github.com/plugport/plugport/sdk-guest/go/internal/testhost"
)

// Arguments are validated as the server does it before it calls a tool, and results as it does afterwards, in its
// words. The keywords are those that schemas of types have and most people write; the server validates the others too.
// Only tests import this package, so no component has it.

const (
	// mostFaults is how many one message names, faultLength the longest description of one in bytes.
	mostFaults  = 5
	faultLength = 300
)

// validated is the arguments that the server gives to the tool, or the words in which it rejects them.
func validated(tool, args string) (text, rejected string, err error) {
	info := infoOf(tool)
	if info.InputSchema == "" {
		return args, "", nil
	}
	schema, _ := parsed(info.InputSchema).(map[string]any)
	if schema["type"] != "object" {
		const why = `the server would reject this tool: its input schema must have "type": "object"`
		return "", "", plugport.Errorf(plugport.Internal, why)
	}
	given := parsed(args)
	if removeNulls(schema, given) {
		args = said(given)
	}
	if faults := mismatch(schema, given); faults != "" {
		return "", "the arguments do not fit the tool's schema: " + faults, nil
	}
	return args, "", nil
}

// checkedResult is the result that the client gets: an error where the structured content is no JSON, or does not fit
// the tool's schema.
func checkedResult(tool string, result plugport.ToolResult) (plugport.ToolResult, error) {
	text, err := testhost.SDK.StructuredText(result.Structured)
	if err != nil {
		return plugport.ToolResult{}, err
	}
	if text != "" && !json.Valid([]byte(text)) {
		return invalidResult("its structured content is not JSON that every client can read"), nil
	}
	info := infoOf(tool)
	if info.OutputSchema == "" || result.IsError {
		return result, nil
	}
	if text == "" {
		return invalidResult("it promises structured content and gave none"), nil
	}
	if faults := mismatch(parsed(info.OutputSchema), parsed(text)); faults != "" {
		return invalidResult("its structured content does not fit its schema: " + faults), nil
	}
	return result, nil
}

func invalidResult(why string) plugport.ToolResult {
	return toolError("the tool returned an invalid result: " + why)
}

func toolError(text string) plugport.ToolResult {
	return plugport.ToolResult{Content: []plugport.Content{plugport.Text(text)}, IsError: true}
}

// infoOf is empty where there is no such tool, which the call reports.
func infoOf(tool string) plugport.ToolInfo {
	listed, _ := testhost.SDK.ListTools()
	for _, info := range listed.([]plugport.ToolInfo) {
		if info.Name == tool {
			return info
		}
	}
	return plugport.ToolInfo{}
}

// mismatch is what is wrong with a value; empty if nothing is.
func mismatch(schema, value any) string {
	faults := faultsOf(schema, schema, value, "")
	faults = faults[:min(len(faults), mostFaults)]
	for i, fault := range faults {
		faults[i] = truncated(fault)
	}
	return strings.Join(faults, "; ")
}

// faultsOf is what is wrong with a value at a place, which is a JSON pointer.
func faultsOf(root, unresolved, value any, at string) (faults []string) {
	place := at
	if at == "" {
		place = "/"
	}
	found := resolved(root, unresolved)
	if found == false {
		return []string{at + ": nothing is allowed here"}
	}
	schema, is := found.(map[string]any)
	if !is {
		return nil
	}
	for _, check := range checks {
		if operand, has := schema[check.keyword]; has {
			if why := check.fault(value, operand); why != "" {
				faults = append(faults, place+": "+why)
			}
		}
	}
	switch value := value.(type) {
	case map[string]any:
		faults = append(faults, faultsOfObject(root, schema, value, at)...)
	case []any:
		faults = append(faults, faultsOfItems(root, schema, value, at)...)
	}
	return append(faults, faultsOfChoices(root, schema, value, at, place)...)
}

func faultsOfObject(root any, schema, value map[string]any, at string) (faults []string) {
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range list(schema["required"]) {
		if _, has := value[name.(string)]; !has {
			faults = append(faults, at+"/"+escaped(name.(string))+": is required and missing")
		}
	}
	var unknown []string
	_, patterns := schema["patternProperties"]
	others, limited := schema["additionalProperties"]
	for _, name := range names(value) {
		place := at + "/" + escaped(name)
		property, known := properties[name]
		switch {
		case known:
			faults = append(faults, faultsOf(root, property, value[name], place)...)
		case patterns || !limited: // Which names `patternProperties` has is for the server to find out.
		case others == false:
			unknown = append(unknown, place)
		default:
			faults = append(faults, faultsOf(root, others, value[name], place)...)
		}
	}
	if len(unknown) > 0 {
		some := unknown[:min(len(unknown), mostFaults)]
		faults = append(faults, strings.Join(some, ", ")+": not a known property")
	}
	return faults
}

func faultsOfItems(root any, schema map[string]any, value []any, at string) (faults []string) {
	prefix, items := list(schema["prefixItems"]), schema["items"]
	for i, item := range value {
		inner := items
		if i < len(prefix) {
			inner = prefix[i]
		}
		faults = append(faults, faultsOf(root, inner, item, fmt.Sprintf("%s/%d", at, i))...)
	}
	return faults
}

func faultsOfChoices(root any, schema map[string]any, value any, at, place string) (faults []string) {
	for _, every := range list(schema["allOf"]) {
		faults = append(faults, faultsOf(root, every, value, at)...)
	}
	for _, word := range [...]string{"anyOf", "oneOf"} {
		choices, fitting := list(schema[word]), 0
		for _, choice := range choices {
			if len(faultsOf(root, choice, value, at)) == 0 {
				fitting++
			}
		}
		switch {
		case choices != nil && fitting == 0:
			const none = "%s: %s is not valid under any of the schemas listed in the '%s' keyword"
			faults = append(faults, fmt.Sprintf(none, place, said(value), word))
		case word == "oneOf" && fitting > 1:
			const several = "%s: %s is valid under more than one of the schemas listed in the 'oneOf' keyword"
			faults = append(faults, fmt.Sprintf(several, place, said(value)))
		}
	}
	return faults
}

// escaped is a name as a step of a JSON pointer (RFC 6901).
func escaped(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}

func truncated(text string) string {
	if len(text) <= faultLength {
		return text
	}
	end := faultLength
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}

// equal compares as JSON has it: 1 and 1.0 are equal, 1 and true are not.
func equal(left, right any) bool {
	if one, is := number(left); is {
		other, are := number(right)
		return are && one.Cmp(other) == 0
	}
	switch left := left.(type) {
	case []any:
		right, are := right.([]any)
		return are && slices.EqualFunc(left, right, equal)
	case map[string]any:
		right, are := right.(map[string]any)
		if !are || len(left) != len(right) {
			return false
		}
		for name, value := range left {
			if other, has := right[name]; !has || !equal(value, other) {
				return false
			}
		}
		return true
	}
	switch right.(type) {
	case []any, map[string]any:
		return false
	}
	return left == right
}

// number is the exact value of a number.
func number(value any) (*big.Rat, bool) {
	text, is := value.(fmt.Stringer)
	if !is {
		return nil, false
	}
	return new(big.Rat).SetString(text.String())
}
