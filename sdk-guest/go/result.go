package plugport

import (
	"encoding/json"
	"errors"
	"reflect"

	"github.com/plugport/plugport/sdk-guest/go/internal/schema"
)

// ToolResult is the answer of a tool, made by hand.
type ToolResult struct {
	Content []Content
	// Structured is content for programs; it becomes JSON.
	Structured any
	// IsError says that the tool failed, and the content why.
	IsError bool
	// Extra holds further MCP fields, such as _meta.
	Extra map[string]any
}

// ToolError is the failure of a tool that has more to show than a text. Any other error is shown as its text.
type ToolError struct {
	Content []Content
}

func (e *ToolError) Error() string {
	if e == nil {
		return "a nil *plugport.ToolError was returned as an error; return nil itself"
	}
	for _, content := range e.Content {
		if text, is := content.AsText(); is {
			return text
		}
	}
	return "the tool failed"
}

// TextResult is a result that is structured and yet has a text of its own, for models and people.
type TextResult interface {
	ToolText() string
}

// toResult is what a tool returned, as a result: content as it is, everything else as JSON for programs and as the same
// JSON in a text, for clients that know no structured content.
func toResult(value any) (ToolResult, error) {
	switch value := value.(type) {
	case nil, struct{}:
		return ToolResult{}, nil
	case string:
		return ToolResult{Content: []Content{Text(value)}}, nil
	case Content:
		return ToolResult{Content: []Content{value}}, nil
	case []Content:
		return ToolResult{Content: value}, nil
	case ToolResult:
		return value, nil
	case *ToolResult:
		if value == nil {
			return ToolResult{}, nil
		}
		return *value, nil
	}
	text, err := schema.JSON(value)
	if err != nil {
		return ToolResult{}, unwritable(err)
	}
	shown := string(text)
	if own, is := value.(TextResult); is {
		shown = own.ToolText()
	}
	return ToolResult{Content: []Content{Text(shown)}, Structured: json.RawMessage(text)}, nil
}

// structuredText is structured content as JSON; empty if there is none. An author's MarshalJSON runs here.
func structuredText(value any) (text string, err error) {
	defer guard(nil, "writing the answer", &err)
	raw, is := value.(json.RawMessage)
	if is || value == nil {
		return string(raw), nil
	}
	made, err := schema.Marshal(value)
	if err != nil {
		return "", unwritable(err)
	}
	return string(made), nil
}

func unwritable(why error) *Error {
	return Errorf(Internal, "the tool's result cannot be written as JSON: %s", why)
}

// isContent tells whether toResult makes no structured content of the type.
func isContent(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[struct{}](), reflect.TypeFor[string](), reflect.TypeFor[Content](), reflect.TypeFor[[]Content](),
		reflect.TypeFor[ToolResult](), reflect.TypeFor[*ToolResult]():
		return true
	}
	return false
}

// failed is the answer of a tool that returned an error. The SDK's own error is handed on, since MCP has more to say of
// it than a text, and so is a missing capability however it is wrapped: the client can mend that by offering more.
func failed(err error) (ToolResult, error) {
	if own, is := err.(*Error); is {
		return ToolResult{}, toError(own)
	}
	var own *Error
	if errors.As(err, &own) && own != nil && own.Kind == MissingCapability {
		return ToolResult{}, own
	}
	var shown *ToolError
	if errors.As(err, &shown) && shown != nil {
		return ToolResult{Content: shown.Content, IsError: true}, nil
	}
	return ToolResult{Content: []Content{Text(err.Error())}, IsError: true}, nil
}
